package plantest

import (
	"fmt"
	"slices"

	"enhance/internal/fuse"
)

// layout checks the reservations: inside their arenas, aligned, and no two that
// live in a common section in the same bytes, but for a pointwise step's
// destination that takes over its source.
func (r *replay) layout() error {
	pl := r.plan
	r.slots, r.overlap = make([][]line, len(pl.Rings)), make([][]int, len(pl.Rings))
	r.ready, r.busy, r.used = make([][]int, len(pl.Rings)), make([][]int, len(pl.Rings)), make([][]int, len(pl.Rings))
	align := max(r.req.Align, 64)
	sum := int64(0)
	for i, n := range pl.Arenas {
		if r.req.MaxAlloc > 0 && n > r.req.MaxAlloc {
			return fmt.Errorf("arena %d has %d bytes, more than %d", i, n, r.req.MaxAlloc)
		}
		sum += n
	}
	for _, f := range pl.Fixed {
		sum += f.Bytes
	}
	for _, n := range slices.Concat(pl.ResidentParts, pl.LoadedParts, []int64{pl.Scratch}) {
		if r.req.MaxAlloc > 0 && n > r.req.MaxAlloc {
			return fmt.Errorf("a buffer of %d bytes is larger than %d", n, r.req.MaxAlloc)
		}
	}
	sum += pl.Scratch + pl.Resident + pl.Loaded
	if pl.Peak != sum {
		return fmt.Errorf("peak %d, but arenas and fixed buffers add up to %d", pl.Peak, sum)
	}
	if held, most := pl.Held(), r.req.Budget.Bytes(); held > most {
		return fmt.Errorf("%d bytes are held, over the budget of %d", held, most)
	}
	for i := range pl.Rings {
		ring := &pl.Rings[i]
		if want := int64(ring.Rows)*r.req.RowBytes(ring.Tensor) + r.req.RimBytes(ring.Tensor); ring.Bytes != want {
			return fmt.Errorf("ring %d has %d bytes, %d rows want %d", i, ring.Bytes, ring.Rows, want)
		}
		if ring.Rows < 1 || ring.Offset < 0 || ring.Offset%align != 0 || ring.Offset+ring.Bytes > pl.Arenas[ring.Arena] {
			return fmt.Errorf("ring %d (%+v) is not inside its arena of %d bytes", i, *ring, pl.Arenas[ring.Arena])
		}
		n := ring.Rows * r.lines(ring.Tensor)
		r.slots[i], r.ready[i], r.busy[i], r.used[i] = make([]line, n), make([]int, n), make([]int, n), make([]int, n)
		for o := range i {
			if err := r.pair(o, i); err != nil {
				return err
			}
		}
	}
	return r.weights()
}

// pair notes that rings a and b share bytes and checks that they may.
func (r *replay) pair(a, b int) error {
	x, y := &r.plan.Rings[a], &r.plan.Rings[b]
	if x.Arena != y.Arena || x.Offset+x.Bytes <= y.Offset || y.Offset+y.Bytes <= x.Offset {
		return nil
	}
	r.overlap[a], r.overlap[b] = append(r.overlap[a], b), append(r.overlap[b], a)
	if x.Last < y.First || y.Last < x.First {
		return nil
	}
	if x.Offset == y.Offset && x.Bytes == y.Bytes && (r.takesOver(a, b) || r.takesOver(b, a)) {
		return nil
	}
	return fmt.Errorf("rings %d %+v and %d %+v live at the same time in the same bytes", a, *x, b, *y)
}

// takesOver reports whether a pointwise step reads ring a and writes ring b.
func (r *replay) takesOver(a, b int) bool {
	for i := range r.p.Steps {
		s := &r.p.Steps[i]
		if s.Kind == fuse.Pointwise && r.plan.WriteRing(i) == b && r.plan.ReadRing(i, s.Src[0].Tensor) == a {
			return true
		}
	}
	return false
}

// weights checks where parameters live: one place for each step that has any.
func (r *replay) weights() error {
	align, resident := max(r.req.Align, 64), int64(0)
	if r.req.Unified && !r.req.HostRest && r.plan.Loaded > 0 {
		return fmt.Errorf("loads parameters on a device that shares the host's memory, where they are already")
	}
	for i := range r.p.Steps {
		n := r.loads(i)
		switch at := r.plan.LoadAt[i]; {
		case at < 0:
			resident += (n + align - 1) / align * align
		case at%align != 0 || at+n > r.plan.Loaded:
			return fmt.Errorf("step %d: %d bytes of parameters at %d of %d", i, n, at, r.plan.Loaded)
		default:
			for _, o := range r.plan.LoadAt {
				if o > at && o < at+n {
					return fmt.Errorf("step %d: %d bytes of parameters at %d reach over a slot at %d", i, n, at, o)
				}
			}
		}
	}
	if err := r.parts(); err != nil {
		return err
	}
	if resident != r.plan.Resident {
		return fmt.Errorf("%d bytes of parameters stay on the device, the plan says %d", resident, r.plan.Resident)
	}
	return nil
}

// parts checks that the buffers that hold parameters add up and that each step's are in one.
func (r *replay) parts() error {
	sum := func(parts []int64) (n int64) {
		for _, p := range parts {
			n += p
		}
		return n
	}
	pl, align := r.plan, max(r.req.Align, 64)
	if sum(pl.ResidentParts) != pl.Resident || sum(pl.LoadedParts) != pl.Loaded {
		return fmt.Errorf("buffers of parameters of %v and %v bytes, not %d and %d", pl.ResidentParts, pl.LoadedParts, pl.Resident, pl.Loaded)
	}
	// straddles reports whether an end of a part lies inside of n bytes from at on.
	straddles := func(parts []int64, at, n int64) bool {
		end := int64(0)
		for _, p := range parts {
			if end += p; end > at && end < at+n {
				return true
			}
		}
		return false
	}
	next := int64(0)
	for i := range r.p.Steps {
		n, at, parts := r.loads(i), pl.LoadAt[i], pl.LoadedParts
		if at < 0 {
			at, parts = next, pl.ResidentParts
			next += (n + align - 1) / align * align
		}
		if straddles(parts, at, n) {
			return fmt.Errorf("step %d: %d bytes of parameters at %d are in two of the buffers %v", i, n, at, parts)
		}
	}
	return nil
}

// figures compares the plan's cost with what the moves were.
func (r *replay) figures() error {
	c, hostBytes, flops := r.plan.Cost, int64(0), int64(0)
	for t, rows := range r.host {
		if t == r.p.Input || t == r.p.Output || rows == nil {
			continue
		}
		if r.plan.HostOffset[t] < 0 {
			return fmt.Errorf("%s is spilled but has no place on the host", r.p.Tensors[t].Name)
		}
		hostBytes = max(hostBytes, r.plan.HostOffset[t]+int64(len(rows))*r.req.RowBytes(t))
	}
	for i := range r.p.Steps {
		flops += r.p.FLOPs(&r.p.Steps[i], r.p.Tensors[r.p.Steps[i].Dst.Tensor].H)
	}
	switch {
	case c.Launches != r.launches:
		return fmt.Errorf("cost says %d launches, there are %d", c.Launches, r.launches)
	case c.FLOPs != r.flops || r.flops > flops: // rows that nothing reads are not made
		return fmt.Errorf("cost says %d operations, launches do %d, the network has %d", c.FLOPs, r.flops, flops)
	case c.UploadBytes != r.up || c.DownloadBytes != r.down:
		return fmt.Errorf("cost says %d bytes up and %d down, moves are %d and %d", c.UploadBytes, c.DownloadBytes, r.up, r.down)
	case r.plan.HostBytes != hostBytes:
		return fmt.Errorf("plan says %d spilled bytes, moves spill %d", r.plan.HostBytes, hostBytes)
	case r.req.Unified && !r.req.HostRest && r.req.MaxAlloc == 0 && hostBytes > 0:
		return fmt.Errorf("spills %d bytes on a device that shares the host's memory", hostBytes)
	}
	return nil
}
