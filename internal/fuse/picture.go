package fuse

import "enhance/model"

// Picture says which part of a network's result a program makes a picture of, and how.
type Picture struct {
	X0, Y0, X1, Y1 int  // of the result
	Sharpen        bool // light is sharpened before it becomes codes
	Bytes          bool // codes are of 8 bits, else of 16
}

// CellSide is the side of the cells in whose light highlights look for colours, in pixels.
const CellSide = 16

// MakePicture has the program end with steps that make codes of its result, the
// camera's light in three planes, as package pipeline's rendering does by default: highlights
// rebuilt from the light of cells of CellSide pixels around them, tone, sharpening, codes. It
// must not have been planned. It reports whether the program can: no norm may divide it into
// sections, which would keep the result as a whole.
func (p *Program) MakePicture(c *model.Convention, pic Picture) bool {
	result := p.Tensors[p.Output]
	if c.Output != model.OutputCameraGamma || result.C != 3 || result.Storage != Activation || p.waits() {
		return false
	}
	w, h := pic.X1-pic.X0, pic.Y1-pic.Y0
	across, down := (w+CellSide-1)/CellSide, (h+CellSide-1)/CellSide
	light := p.whole(p.Output)
	add := func(name string, s Storage, c, h, w int) View {
		p.Tensors = append(p.Tensors, Tensor{Name: name, Storage: s, Shape: model.Shape{C: c, H: h, W: w}})
		return p.whole(len(p.Tensors) - 1)
	}
	step := func(name string, kind Kind, dst View, src ...View) {
		p.Steps = append(p.Steps, Step{Name: name, Kind: kind, Src: src, Dst: dst, Res: View{Tensor: None}, Affine: None, Picture: &pic})
	}
	cells := add("highlights.cells", Floats, 4, down, across)
	step("highlights.cells", Cells, cells, light)
	colours := add("highlights.colours", Floats, 3, down, across)
	step("highlights.colours", Colours, colours, cells)
	stored := Pixels
	if pic.Bytes {
		stored = PixelBytes
	}
	codes := add("picture", stored, 3, h, w)
	if p.Output = codes.Tensor; !pic.Sharpen {
		step("picture", Render, codes, light, colours)
		return true
	}
	rendered := add("picture.light", Floats, 4, h, w)
	step("picture.light", Render, rendered, light, colours)
	step("picture", Sharpen, codes, rendered)
	return true
}

// MakesPixels reports whether the program gives the host codes of a picture.
func (p *Program) MakesPixels() bool {
	s := p.Tensors[p.Output].Storage
	return s == Pixels || s == PixelBytes
}

// waits reports whether any step needs a whole plane.
func (p *Program) waits() bool {
	for i := range p.Steps {
		if p.Steps[i].Kind.Waits() {
			return true
		}
	}
	return false
}

// SharpenReach is how many rows and columns around a pixel sharpening reads.
const SharpenReach = 2

// CellAbove is the row or column of cells whose centre is at or before that of a pixel's, -1
// before the first's.
func CellAbove(at int) int { return floorDiv(at-CellSide/2, CellSide) }

// lead is by how many rows the light that the colours around a pixel rest on may go beyond it.
const lead = 3*CellSide - CellSide/2 - 1

// pictureNeed is srcNeed of the steps of a picture for their source k.
func (s *Step) pictureNeed(k, end int) int {
	pic := s.Picture
	switch {
	case s.Kind == Cells:
		return pic.Y0 + min(CellSide*end, pic.Y1-pic.Y0)
	case s.Kind == Colours:
		return end + 1
	case s.Kind == Sharpen:
		return end + SharpenReach
	case k == 0: // as far as the colours of the cells reach, so that the network goes ahead evenly
		return pic.Y0 + min(end+lead, pic.Y1-pic.Y0)
	}
	return CellAbove(end-1) + 2
}

// pictureOldest is srcOldest of these.
func (s *Step) pictureOldest(k, begin int) int {
	switch {
	case s.Kind == Cells:
		return s.Picture.Y0 + CellSide*begin
	case s.Kind == Colours:
		return begin - 1
	case s.Kind == Sharpen:
		return begin - SharpenReach
	case k == 0:
		return s.Picture.Y0 + begin
	}
	return CellAbove(begin)
}
