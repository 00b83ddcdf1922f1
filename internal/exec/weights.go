package exec

import (
	"encoding/binary"
	"math"
	"runtime/debug"
	"slices"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/ops"
	"enhance/memplan"
	"enhance/model"
)

// weightBytes is the size of step i's parameters on the device: what its
// convolution packs, or the parameters of its norms.
func (j *Job) weightBytes(i int) int64 {
	n := int64(0)
	for _, part := range j.parts(i) {
		n = j.alignUp(n) + part
	}
	return n
}

func (j *Job) alignUp(n int64) int64 {
	align := int64(max(j.Info.BaseAlign, 64))
	return (n + align - 1) / align * align
}

// parts lists the sizes of step i's parameter arrays in bytes.
func (j *Job) parts(i int) []int64 {
	var ns []int64
	if c := j.steps[i].conv; c != nil {
		groups := max(j.steps[i].groups, 1)
		ns = append(ns, convBytes(c, &j.Program.Steps[i], j.Program.Steps[i].Dst.C/groups)*int64(groups))
	}
	if s := &j.Program.Steps[i]; s.Kind == fuse.Affine {
		ns = append(ns, int64(s.Dst.C)*12)
	} else if n := ops.ApplyParamLen(s); n > 0 {
		ns = append(ns, 4*int64(n))
	}
	return ns
}

// convBytes is the size of the parameters of step s for outs outputs, whose convolution is c:
// those that it packs, then the outputs' slopes.
func convBytes(c conv.Impl, s *fuse.Step, outs int) int64 {
	n := int64(c.PackedLen())
	if s.Slopes != "" {
		n += int64(outs)
	}
	return 4 * n
}

// packParts returns step i's parameter arrays as the device reads them.
func (j *Job) packParts(i int) [][]byte {
	s := &j.Program.Steps[i]
	var ps [][]byte
	if c := j.steps[i].conv; c != nil {
		weight, bias := j.Model.Params[s.Weight], j.Model.Params[s.Bias]
		var slopes []float32
		if s.Slopes != "" {
			slopes = j.Model.Params[s.Slopes].Data
		}
		if s.Integer() {
			w := j.integerWeights(s.Weight, s.Factors, s.Bias, s.From)
			if in := s.Inner; in != nil {
				w.Inner = j.integerWeights(in.Weight, in.Factors, in.Bias, in.From)
			}
			ps = append(ps, floatBytes(c.(conv.Integer).PackCodes(w), slopes))
		} else {
			ps = append(ps, floatBytes(j.steps[i].packConv(weight.Data, bias.Data, slopes)...))
		}
	}
	if s.Kind == fuse.Affine {
		ps = append(ps, floatBytes(j.normParams(s)))
	} else if ops.ApplyParamLen(s) > 0 {
		ps = append(ps, floatBytes(ops.ApplyParams(s, func(name string) []float32 { return j.Model.Params[name].Data })))
	}
	return ps
}

// integerWeights are the parameters of a convolution of the codes that q makes.
func (j *Job) integerWeights(weight, factors, bias string, q *model.Node) *conv.IntegerWeights {
	codes, _ := ops.CodesOf(q)
	params := j.Model.Params
	return &conv.IntegerWeights{Weights: params[weight].Data, Factors: params[factors].Data, Bias: params[bias].Data, Zero: codes.Zero}
}

// packer packs the steps' parameters on all cores, a little ahead of their being
// taken.
type packer struct {
	*Job
	made  []chan [][]byte // by step
	begun int             // steps before it are being packed, or were
	held  int64           // bytes of those that were not taken yet
	ahead int64           // how many those may be
}

func newPacker(j *Job, ahead int64) *packer {
	return &packer{Job: j, made: make([]chan [][]byte, len(j.Program.Steps)), ahead: ahead}
}

// take returns step i's parameter arrays; steps are taken in order, and from the
// model, if that may lose them (Options.TakeWeights).
func (p *packer) take(i int) [][]byte {
	for p.begun < len(p.made) && (p.begun <= i || p.held+p.weightBytes(p.begun) <= p.ahead) {
		k, made := p.begun, make(chan [][]byte, 1) // nobody has to take what is made
		p.made[k] = made
		p.held += p.weightBytes(k)
		p.begun++
		go func() { made <- p.packParts(k) }()
	}
	parts := <-p.made[i]
	p.held -= p.weightBytes(i)
	if s := &p.Program.Steps[i]; p.steps[i].conv != nil && p.opt.TakeWeights && p.lastReader(s.Weight) == i {
		p.Model.Params[s.Weight].Data, p.Model.Params[s.Bias].Data = nil, nil
		if in := s.Inner; in != nil {
			p.Model.Params[in.Weight].Data, p.Model.Params[in.Bias].Data = nil, nil
		}
	}
	return parts
}

// lastReader is the last step with that weight.
func (j *Job) lastReader(weight string) int {
	last := -1
	for i := range j.Program.Steps {
		s := &j.Program.Steps[i]
		if j.steps[i].conv != nil && (s.Weight == weight || s.Inner != nil && s.Inner.Weight == weight) || s.Node != nil && s.Node.Weight == weight {
			last = i
		}
	}
	return last
}

// normParams lists weights, biases and eps of the channels of an Affine step.
func (j *Job) normParams(s *fuse.Step) []float32 {
	c := s.Dst.C
	v := make([]float32, 3*c)
	for _, n := range s.Norm {
		copy(v[n.C0:], j.Model.Params[n.Weight].Data)
		copy(v[c+n.C0:], j.Model.Params[n.Bias].Data)
		for i := range n.C {
			v[2*c+n.C0+i] = n.Eps
		}
	}
	return v
}

func floatBytes(vs ...[]float32) []byte {
	n := 0
	for _, v := range vs {
		n += 4 * len(v)
	}
	b := make([]byte, 0, n)
	for _, v := range vs {
		for _, x := range v {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
	}
	return b
}

// packingRoom is how many bytes of parameters may be packed ahead, and how many packing may
// leave behind before they are collected and given back: left to itself, the collector would wait for
// as much as the network's parameters, which are most of what the host holds. Beside a
// device with memory of its own the host has more to spare than the 20 ms that
// collecting takes, and than cores without work: PyNET's largest layers pack to 19 MB.
// Host memory that is bounded or scarce is not for that: nobody counts these bytes.
func (j *Job) packingRoom() (ahead, garbage int64) {
	if j.Shared() || j.opt.SaveHostMemory {
		return 32 << 20, 32 << 20
	}
	return 256 << 20, 256 << 20
}

// loadWeights creates the buffers for parameters, copies to the device what
// stays there and keeps on the host what is loaded section by section.
func (e *Engine) loadWeights() error {
	var err error
	if e.device.weights, err = e.newSegments(e.Plan.ResidentParts, "weights"); err != nil {
		return err
	}
	if e.device.loaded, err = e.newSegments(e.Plan.LoadedParts, "weights of a section"); err != nil {
		return err
	}
	slots, host, err := e.slots()
	if err != nil {
		return err
	}
	ahead, most := e.packingRoom()
	packer, next, garbage := newPacker(e.Job, ahead), int64(0), int64(0)
	for i := range e.Program.Steps {
		of, parts := &e.resources[i], packer.take(i)
		if garbage += 3 * e.weightBytes(i); garbage > most {
			debug.FreeOSMemory()
			garbage = 0
		}
		if at := e.Plan.LoadAt[i]; at >= 0 {
			of.params, of.streamed = []*clrt.Buffer{slots[at]}, host[:copy(host, parts[0])]
			host = host[len(parts[0]):]
			continue
		}
		for _, p := range parts {
			off := e.alignUp(next)
			whole, at, err := e.device.weights.at(off, int64(len(p)))
			if err != nil {
				return err
			}
			b, err := whole.Sub(at, int64(len(p)))
			if err != nil {
				return err
			}
			of.params = append(of.params, b)
			if err := e.queues.compute.Write(whole, at, p); err != nil {
				return err
			}
			next = off + int64(len(p))
		}
	}
	if next > most {
		debug.FreeOSMemory()
	}
	return nil
}

// slots makes the parts of the buffer for parameters that sections load, by place, and
// the host's memory that they come from, which is locked: the device fetches them
// beside what the host does.
func (e *Engine) slots() (at map[int64]*clrt.Buffer, host []byte, err error) {
	if e.Plan.Loaded == 0 {
		return nil, nil, nil
	}
	ends := append(slices.Clone(e.Plan.LoadAt), e.Plan.Loaded)
	slices.Sort(ends)
	at = map[int64]*clrt.Buffer{}
	for k, from := range ends[:len(ends)-1] {
		if from < 0 || from == ends[k+1] {
			continue
		}
		whole, off, err := e.device.loaded.at(from, ends[k+1]-from)
		if err != nil {
			return nil, nil, err
		}
		if at[from], err = whole.Sub(off, ends[k+1]-from); err != nil {
			return nil, nil, err
		}
	}
	total := e.HostUse().Weights
	if total > e.hostUnit(total) { // the driver does not lock so much in one piece
		return at, make([]byte, total), nil
	}
	if e.host.weights, err = e.hostMemory(total, "weights for sections"); err != nil {
		return nil, nil, err
	}
	return at, e.host.weights.Bytes(), nil
}

// sendWeights loads the parameters of a step to their place.
func (r *run) sendWeights(m memplan.Move) error {
	r.engine.opt.Profiler.tag(computeQueue, weightsTag)
	of := &r.engine.resources[m.Index]
	ev, err := r.queues.compute.WriteAsync(of.params[0], 0, of.streamed)
	if err != nil {
		return err
	}
	return ev.Close()
}
