package fuse

import "enhance/model"

// QuadPlaces is how many samples of a mosaic a packed sample stands for.
const QuadPlaces = 4

// TakeSamples has the program begin with a step that makes its input's planes of stored samples:
// the new input has a row for every row of the old one, of the two rows of the mosaic that it
// packs, twice as wide. It must not have been planned. It reports whether the program can: the
// planes must be those of a mosaic's quads, with or without as many of noise, and no norm may
// need them again later, when the host would read the photo a second time rather than keep
// them.
func (p *Program) TakeSamples(c *model.Convention) bool {
	in := p.Tensors[p.Input]
	if c.Samples != model.SamplesQuad || in.C != QuadPlaces+c.NoisePlanes || p.waits() {
		return false
	}
	mosaic := Tensor{Name: "mosaic", Storage: Samples, Shape: model.Shape{C: 2, H: in.H, W: 2 * in.W}}
	p.Tensors = append(p.Tensors, mosaic)
	planes := p.whole(p.Input)
	p.Input = len(p.Tensors) - 1
	unpack := Step{Name: "unpack", Kind: Unpack, Src: []View{p.whole(p.Input)}, Dst: planes, Res: View{Tensor: None}, Affine: None}
	p.Steps = append([]Step{unpack}, p.Steps...)
	return true
}

// TakesSamples reports whether the host gives the program stored samples.
func (p *Program) TakesSamples() bool { return p.Tensors[p.Input].Storage == Samples }
