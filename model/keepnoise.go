package model

import "fmt"

// KeepNoise is the network that puts a share of what it took from the samples back into its answer, from 0 for none to
// 1 for all of it. What it takes from a sample is the difference from its answer's colour behind the same filter. The
// difference comes back in all three colours of the pixel, as brightness: of the noise of the others
// nobody knows anything, and noise of brightness is what people call grain. So the answer's noise is 1 − share times less
// than the samples', whatever the network leaves, and with a share of 1 each sample is as it was recorded.
// Where a place has samples of all colours, it is their mean.
//
// It takes networks that take the noise level: others have nothing to compare with that is noise.
func (m *Model) KeepNoise(share float64) (*Model, error) {
	c := &m.Convention
	if !(share >= 0 && share <= 1) {
		return nil, fmt.Errorf("a share of %g of the noise: want 0 to 1", share)
	}
	if !m.CanKeepNoise() {
		return nil, fmt.Errorf("the network does not take the noise level")
	}
	g := m.Graph
	b := &Builder{nodes: append([]Node(nil), g.Nodes...)}
	made := *m
	made.Params = make(map[string]*Tensor, len(m.Params)+4)
	for name, p := range m.Params {
		made.Params[name] = p
	}
	k := &keeping{b: b, params: made.Params, convention: c}
	difference := k.differences(g.Out, share)
	b.add(Node{Name: "keep", Op: OpBinary, Binary: BinaryAdd, In: []int{g.Out, b.PixelShuffle("keep.places", difference)}})
	var err error
	if made.Graph, err = b.Graph(len(b.nodes) - 1); err != nil {
		return nil, err
	}
	return &made, made.Validate()
}

// CanKeepNoise reports whether KeepNoise takes the network.
func (m *Model) CanKeepNoise() bool {
	c := &m.Convention
	return c.NoisePlanes > 0 && c.Output == OutputCameraGamma && c.ScaleNum == 2 && c.ScaleDen == 1
}

// keeping is a network to which nodes are added.
type keeping struct {
	b          *Builder
	params     map[string]*Tensor
	convention *Convention
}

// places are the planes of a quad's four places for each of three colours: plane 4c + 2i + j.
const places = 12

// differences adds a share of the differences of samples from the answer: four planes, those of a quad's places.
func (k *keeping) differences(answer int, share float64) int {
	b := k.b
	own := b.add(Node{Name: "keep.quads", Op: OpSpaceToDepth, In: []int{answer}, Factor: 2, CRD: true})
	if k.convention.Samples == SamplesQuad {
		return k.mix("keep.difference", b.Concat("keep.both", 0, own), pynetmPlanes+places, func(to, from int) float64 {
			switch {
			case from < 4:
				return is(k.convention.Pack[from] == [2]int{to / 2, to % 2}, share)
			case from >= pynetmPlanes:
				colour := to/2 + to%2 // red at (0,0), blue at (1,1)
				return is(from-pynetmPlanes == 4*colour+to, -share)
			}
			return 0
		})
	}
	// A place that has a sample has its noise, which is at least 0, in the plane where others have NoNoise.
	noise := b.add(Node{Name: "keep.noise", Op: OpSlice, In: []int{0}, First: places, C: places})
	mask := b.add(Node{Name: "keep.mask", Op: OpMap, In: []int{noise}, Func: FuncHardSigmoid, Alpha: 1, Beta: 1})
	own = b.add(Node{Name: "keep.own", Op: OpBinary, In: []int{own, mask}, Binary: BinaryMul})
	sum := k.mix("keep.difference", b.Concat("keep.both", 0, own), maskedPlanes+places, func(to, from int) float64 {
		switch {
		case from < places:
			return is(from%4 == to, share)
		case from >= maskedPlanes:
			return is(from%4 == to, -share)
		}
		return 0
	})
	count := k.mix("keep.count", mask, places, func(to, from int) float64 { return is(from%4 == to, 1) })
	return b.add(Node{Name: "keep.mean", Op: OpBinary, In: []int{sum, count}, Binary: BinaryDiv})
}

// is is v if it holds, else 0.
func is(holds bool, v float64) float64 {
	if holds {
		return v
	}
	return 0
}

// mix adds four sums of planes by weights.
func (k *keeping) mix(name string, in, planes int, weight func(to, from int) float64) int {
	w := &Tensor{Shape: []int{4, planes, 1, 1}, Data: make([]float32, 4*planes)}
	for i := range w.Data {
		w.Data[i] = float32(weight(i/planes, i%planes))
	}
	k.params[name+".weight"], k.params[name+".bias"] = w, &Tensor{Shape: []int{4}, Data: make([]float32, 4)}
	return k.b.Conv(name, name, in, 4, 1)
}
