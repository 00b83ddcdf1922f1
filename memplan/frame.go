package memplan

// frame is what a section is made of, however fast it advances and whatever of
// its tensors stay on the device: a ring for every tensor it makes, and one for
// every tensor of other sections that it reads.
type frame struct {
	req         *Request
	first, last int // steps
	rings       []frameRing
	inputs      [][]input // by step, from the first
	dst         []int32   // by step, from the first: the ring it writes
	sinks       []int32   // rings of what the section must deliver in full
	highest     int       // rows of the highest of them
}

// frameRing is a ring of a section.
type frameRing struct {
	tensor  int
	h       int   // rows of the tensor
	made    bool  // by the section
	reload  bool  // its rows are the section's own, sent back by the host
	leaves  bool  // its tensor may have to go to the host
	readers []int // steps
}

// input is what a step reads.
type input struct {
	tensor int
	ring   int32
	made   int32 // the ring of the tensor if the section makes it, -1 if not
	upload bool  // its rows come from the host, unless the tensor is kept on the device
}

// use is one step's reading of one tensor.
type use struct{ step, tensor int }

// frame describes steps first to last as section s. lastRead is, by tensor, the
// last section that reads it; the uses in spilled go through the host.
func (r *Request) frame(s, first, last int, lastRead []int, spilled map[use]bool) *frame {
	p := r.Program
	fr := &frame{req: r, first: first, last: last, inputs: make([][]input, last-first+1), dst: make([]int32, last-first+1), highest: 1}
	made, fed := map[int]int32{}, map[int]int32{}
	add := func(t int, isMade, reload bool) int32 {
		fr.rings = append(fr.rings, frameRing{tensor: t, h: p.Tensors[t].H, made: isMade, reload: reload,
			leaves: isMade && (lastRead[t] > s || t == p.Output)})
		return int32(len(fr.rings) - 1)
	}
	for i := first; i <= last; i++ {
		t := p.Steps[i].Dst.Tensor
		ring, ok := made[t]
		if !ok {
			ring = add(t, true, false)
			made[t] = ring
		}
		fr.dst[i-first] = ring
	}
	for i := first; i <= last; i++ {
		for _, t := range r.facts.reads[i] {
			in := input{tensor: t, made: -1}
			own, local := made[t]
			switch {
			case local && spilled[use{i, t}]:
				in.ring, in.made, in.upload = add(t, false, true), own, true
				fr.rings[own].leaves = true
			case local:
				in.ring, in.made = own, own
			default:
				ring, ok := fed[t]
				if !ok {
					ring = add(t, false, false)
					fed[t] = ring
				}
				in.ring, in.upload = ring, true
			}
			fr.inputs[i-first] = append(fr.inputs[i-first], in)
			fr.rings[in.ring].readers = append(fr.rings[in.ring].readers, i)
		}
	}
	for k := range fr.rings {
		ring := &fr.rings[k]
		unread := len(ring.readers) == 0 && !fr.reloads(ring.tensor)
		if ring.made && (unread || lastRead[ring.tensor] > s || ring.tensor == p.Output) {
			fr.sinks = append(fr.sinks, int32(k))
			fr.highest = max(fr.highest, ring.h)
		}
	}
	return fr
}

// reloads reports whether some step reads tensor t back from the host.
func (fr *frame) reloads(t int) bool {
	for k := range fr.rings {
		if fr.rings[k].tensor == t && fr.rings[k].reload {
			return true
		}
	}
	return false
}
