package fuse

import (
	"slices"
)

// The most channels that a tensor of planes may have to be stored as octets too, for convolutions that read
// them: more cost as much time to store again as the convolutions gain. That of the input lets all that follows be octets.
const (
	twinChannels  = ChannelsInOctet
	inputChannels = 4 * ChannelsInOctet
)

// StoreOctets stores activations as octets (see package planar) where all steps that write and read them can do
// that. It must not have been planned. Can reports whether there is a convolution of octets for a step, to
// octets or to planes. Convolutions that read a tensor of few planes, as networks' inputs are, get it
// converted. Where convolutions of octets would do less than half of the work, everything stays planes.
func (p *Program) StoreOctets(can func(step int, out bool) bool) {
	p.storeTogether(Octets, can)
}

// StorePairs stores activations as pairs of bfloat16 (see package planar), by the same rules. Here what
// convolutions read of planes is that of the network's input alone, split, and pixel shuffles make planes of
// planes, so that the last sums are of float32.
func (p *Program) StorePairs(can func(step int, out bool) bool) { p.storeTogether(Pairs, can) }

// ChannelsTogether is how many channels a unit of a storage holds.
func (s Storage) ChannelsTogether() int {
	switch s {
	case Octets:
		return ChannelsInOctet
	case Codes:
		return CodesInWord
	case Pairs:
		return ChannelsInPair
	}
	return 1
}

// storeTogether is StoreOctets or StorePairs.
func (p *Program) storeTogether(storage Storage, can func(step int, out bool) bool) {
	o := &octets{p: p, storage: storage, together: storage.ChannelsTogether(), can: can, is: make([]bool, len(p.Tensors)),
		conv: make([]bool, len(p.Steps)), twin: make([]bool, len(p.Tensors))}
	o.begin()
	for o.changed = true; o.changed; {
		o.changed = false
		for i := range p.Steps {
			o.settle(i)
		}
	}
	all, octets := int64(0), int64(0)
	for i := range p.Steps {
		n := p.FLOPs(&p.Steps[i], p.Tensors[p.Steps[i].Dst.Tensor].H)
		if all += n; o.conv[i] || o.integer(i) && o.is[p.Steps[i].Dst.Tensor] {
			octets += n
		}
	}
	if octets == 0 || octets < all/2 {
		return
	}
	for t, is := range o.is {
		if is {
			p.Tensors[t].Storage = storage
		}
	}
	o.convert()
}

// octets is the state of a choice: what may still be octets becomes less until all steps agree.
type octets struct {
	p       *Program
	storage Storage // Octets or Pairs
	// together is how many channels that holds in a unit.
	together int
	can      func(step int, out bool) bool
	is       []bool // tensors
	conv     []bool // steps: convolutions that read octets
	twin     []bool // tensors that are stored as planes, and as octets where a convolution wants that
	changed  bool
}

// begin takes every tensor and convolution for one of octets whose channels allow it.
func (o *octets) begin() {
	p := o.p
	waits := p.waits() // planes might be needed again in another section, and kept for that
	for t := range o.is {
		o.is[t] = p.Tensors[t].Storage == Activation && t != p.Input && t != p.Output
		most := twinChannels
		switch {
		case t == p.Input || o.storage == Pairs && p.isInput(t):
			most = inputChannels
		case o.storage == Pairs:
			most = 0
		}
		o.twin[t] = (!waits || t == p.Input) && p.Tensors[t].Storage == Activation && p.Tensors[t].C <= most
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		o.conv[i] = s.Selectable() && s.Affine == None
		for k, v := range s.Src {
			if !o.aligned(v) {
				o.twin[v.Tensor] = false
			}
			if k < len(s.Src)-1 && v.C%o.together != 0 {
				o.conv[i] = false
			}
		}
		o.aligned(s.Dst)
		o.aligned(s.Res)
	}
}

// isInput reports whether a tensor is the network's input, or its planes made of stored samples.
func (p *Program) isInput(t int) bool {
	return t == p.Input || slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Kind == Unpack && s.Dst.Tensor == t })
}

// aligned reports whether a view begins and ends between octets; the tensors of others are of planes.
func (o *octets) aligned(v View) bool {
	if v.Tensor == None || v.C0%o.together == 0 && (v.C%o.together == 0 || v.C0+v.C == o.p.Tensors[v.Tensor].C) {
		return true
	}
	o.is[v.Tensor] = false
	return false
}

func (o *octets) planes(tensors ...int) {
	for _, t := range tensors {
		if t != None && o.is[t] {
			o.is[t], o.changed = false, true
		}
	}
}

// settle makes of step i's tensors what it can do.
func (o *octets) settle(i int) {
	s := &o.p.Steps[i]
	all := append(s.Reads(), s.Dst.Tensor)
	switch {
	case s.Selectable():
		o.settleConv(i)
	case (s.Kind == Unpack || s.Kind == RowStats) && o.storage == Octets:
	case s.Kind == Shuffle && o.storage == Octets:
		o.planes(s.Dst.Tensor)
	case s.Kind == MaxPool, s.Kind == Upsample, s.Kind == Pointwise && (s.Affine == None || o.storage == Octets), o.storage == Octets && o.integer(i):
		for _, t := range all {
			if !o.is[t] && t != s.Affine {
				o.planes(all...)
			}
		}
	default:
		o.planes(all...)
	}
}

// integer reports whether step i is a convolution of codes that it makes itself.
func (o *octets) integer(i int) bool {
	s := &o.p.Steps[i]
	return s.Kind == Conv && s.Integer() && o.p.Tensors[s.Src[0].Tensor].Storage == Activation
}

func (o *octets) settleConv(i int) {
	s := &o.p.Steps[i]
	dst, res := s.Dst.Tensor, s.Res.Tensor
	if res != None && o.is[dst] != o.is[res] {
		o.planes(dst, res)
	}
	reads := o.conv[i]
	for _, v := range s.Src {
		reads = reads && (o.is[v.Tensor] || o.twin[v.Tensor])
	}
	if reads && o.is[dst] && !o.can(i, true) {
		o.planes(dst, res)
	}
	reads = reads && (o.is[dst] || o.can(i, false))
	if reads {
		return
	}
	if o.conv[i] {
		o.conv[i], o.changed = false, true
	}
	for _, v := range s.Src {
		o.planes(v.Tensor)
	}
	o.planes(dst, res)
}

// convert has convolutions of octets read octets of what is stored as planes, which a step behind its
// writers makes.
func (o *octets) convert() {
	p := o.p
	type maker struct{ after, from, to int } // a step, or -1
	var makers []maker
	to := make([]int, len(p.Tensors))
	for t := range o.is {
		if to[t] = None; o.is[t] || !o.wanted(t) {
			continue
		}
		m := maker{-1, t, len(p.Tensors)}
		for i := range p.Steps {
			if p.Steps[i].Dst.Tensor == t {
				m.after = i
			}
		}
		twin := p.Tensors[t]
		twin.Name, twin.Storage = twin.Name+".octets", Octets
		if o.storage == Pairs {
			twin.Name, twin.Storage = p.Tensors[t].Name+".split", Split
		}
		p.Tensors = append(p.Tensors, twin)
		to[t], makers = m.to, append(makers, m)
	}
	var steps []Step
	for i := -1; i < len(p.Steps); i++ {
		if i >= 0 {
			s := p.Steps[i]
			if o.conv[i] {
				s.Src = slices.Clone(s.Src)
				for k, v := range s.Src {
					if to[v.Tensor] != None {
						s.Src[k].Tensor = to[v.Tensor]
					}
				}
			}
			steps = append(steps, s)
		}
		for _, m := range makers {
			if m.after == i {
				steps = append(steps, Step{Name: p.Tensors[m.to].Name, Kind: Convert, Src: []View{p.whole(m.from)}, Dst: p.whole(m.to),
					Res: View{Tensor: None}, Affine: None})
			}
		}
	}
	p.Steps = steps
	p.dropUnused()
}

// wanted reports whether a convolution of octets reads tensor t.
func (o *octets) wanted(t int) bool {
	for i := range o.p.Steps {
		if o.conv[i] && slices.ContainsFunc(o.p.Steps[i].Src, func(v View) bool { return v.Tensor == t }) {
			return true
		}
	}
	return false
}

// HasPairs reports whether any tensor is stored as pairs.
func (p *Program) HasPairs() bool {
	return slices.ContainsFunc(p.Tensors, func(t Tensor) bool { return t.Storage == Pairs })
}

// HasOctets reports whether any tensor is stored as octets.
func (p *Program) HasOctets() bool {
	return slices.ContainsFunc(p.Tensors, func(t Tensor) bool { return t.Storage == Octets })
}
