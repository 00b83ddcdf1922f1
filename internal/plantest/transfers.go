package plantest

import (
	"fmt"

	"enhance/memplan"
)

// transfer checks the rows that one move uploads or downloads.
func (r *replay) transfer(m memplan.Move) error {
	t := r.plan.Rings[m.Index].Tensor
	if int(m.Y1) > r.p.Tensors[t].H {
		return fmt.Errorf("%s has %d rows", r.p.Tensors[t].Name, r.p.Tensors[t].H)
	}
	if r.host[t] == nil {
		r.host[t] = make([]bool, r.p.Tensors[t].H)
	}
	if int(m.Y1-m.Y0) > r.plan.Rings[m.Index].Rows {
		return fmt.Errorf("more rows than the ring's %d", r.plan.Rings[m.Index].Rows)
	}
	n := int64(m.Y1-m.Y0) * r.req.RowBytes(t)
	for y := int(m.Y0); y < int(m.Y1); y++ {
		check := r.download
		if m.Kind == memplan.Upload {
			check = r.upload
		}
		if err := check(m, t, y); err != nil {
			return err
		}
	}
	if m.Kind == memplan.Upload {
		r.up += n
	} else {
		r.down += n
	}
	return nil
}

// upload checks that row y of tensor t is on the host and its slot free, and puts it there.
func (r *replay) upload(m memplan.Move, t, y int) error {
	if t != r.p.Input && !r.host[t][y] {
		return fmt.Errorf("row %d of %s was never downloaded", y, r.p.Tensors[t].Name)
	}
	if at := r.hostAt(t, y); t != r.p.Input && r.hostRows[at] != (line{t + 1, y, 0}) {
		return fmt.Errorf("row %d of %s is no longer on the host", y, r.p.Tensors[t].Name)
	}
	if !r.req.Unified && !r.local(m) && r.there[t][y] > r.strip {
		return fmt.Errorf("row %d of %s is sent back while it is on its way to the host", y, r.p.Tensors[t].Name)
	}
	if err := r.idle(m, t, y); err != nil {
		return err
	}
	if err := r.write(int(m.Index), y, 0, r.lines(t), !r.local(m)); err != nil {
		return err
	}
	r.mark(r.ready, m, y, 1, !r.local(m))
	return nil
}

// download checks that row y of tensor t is in its ring, and puts it on the host.
func (r *replay) download(m memplan.Move, t, y int) error {
	if err := r.read(int(m.Index), y, 0, r.lines(t)); err != nil {
		return err
	}
	r.mark(r.busy, m, y, 2, true)
	if t == r.p.Output && y != r.output {
		return fmt.Errorf("row %d of the output is delivered where %d is due", y, r.output)
	} else if t == r.p.Output {
		r.output++
	}
	if r.host[t][y] {
		return fmt.Errorf("row %d of %s is downloaded again", y, r.p.Tensors[t].Name)
	}
	r.host[t][y] = true
	if r.there[t] == nil {
		r.there[t] = map[int]int{}
	}
	r.there[t][y] = r.strip + 2
	if t != r.p.Output {
		r.keepHostRow(t, y)
	}
	return nil
}

// hostAt is the place of a spilled row on the host.
func (r *replay) hostAt(t, y int) int64 {
	return r.plan.HostOffset[t] + int64(y)*r.req.RowBytes(t)
}

// keepHostRow puts a row on the host over whatever was in those bytes.
func (r *replay) keepHostRow(t, y int) {
	from := r.hostAt(t, y)
	to := from + r.req.RowBytes(t)
	for at, l := range r.hostRows {
		if at < to && from < at+r.req.RowBytes(l.tensor-1) {
			delete(r.hostRows, at)
		}
	}
	r.hostRows[from] = line{t + 1, y, 0}
}

// local reports whether an upload brings rows back that its own section made, which is
// waited for.
func (r *replay) local(m memplan.Move) bool {
	t := r.plan.Rings[m.Index].Tensor
	sec := &r.plan.Sections[r.plan.Rings[m.Index].Last]
	for i := sec.First; i <= sec.Last; i++ {
		if r.p.Steps[i].Dst.Tensor == t {
			return true
		}
	}
	return false
}

// idle checks that no launch of this strip, beside which the upload of row y of
// tensor t runs, reads the slot that it goes to.
func (r *replay) idle(m memplan.Move, t, y int) error {
	if r.req.Unified || r.local(m) {
		return nil
	}
	n := r.lines(t)
	for _, strip := range r.used[m.Index][y%r.plan.Rings[m.Index].Rows*n:][:n] {
		if strip == r.strip+1 {
			return fmt.Errorf("row %d of %s comes from the host over a row that a launch of the same strip reads", y, r.p.Tensors[t].Name)
		}
	}
	return nil
}

// mark notes when a transferred row is free for the next use, where transfers
// run beside the work. The first strip's uploads precede it.
func (r *replay) mark(when [][]int, m memplan.Move, y, strips int, do bool) {
	if r.req.Unified || !do {
		return
	}
	ring := &r.plan.Rings[m.Index]
	n := r.lines(ring.Tensor)
	for c := range n {
		when[m.Index][y%ring.Rows*n+c] = r.strip + strips
	}
}
