package fuse_test

import (
	"testing"

	"enhance/internal/fuse"
	"enhance/internal/fusetest"
	"enhance/model"
)

// withPicture is a small network from stored samples to a picture's codes.
func withPicture(t *testing.T, h, w int, sharpen bool) *fuse.Program {
	t.Helper()
	p, err := fuse.Fuse(model.PyNETS([4]int{4, 4, 4, 4}), h, w)
	if err != nil {
		t.Fatal(err)
	}
	c := model.Convention{Output: model.OutputCameraGamma}
	if !p.TakeSamples(&c) || !p.MakePicture(&c, fuse.Picture{X0: 3, Y0: 5, X1: 2*w - 4, Y1: 2*h - 7, Sharpen: sharpen}) {
		t.Fatal("the program takes no samples or makes no picture")
	}
	if !p.TakesSamples() || !p.MakesPixels() {
		t.Fatalf("input %+v, output %+v", p.Tensors[p.Input], p.Tensors[p.Output])
	}
	return p
}

// TestPictureRows: what the steps of a picture need, and what they no longer need, covers
// all rows that they read.
func TestPictureRows(t *testing.T) {
	for _, sharpen := range []bool{false, true} {
		p := withPicture(t, 64, 16, sharpen)
		for i := range p.Steps {
			s := &p.Steps[i]
			if s.Picture == nil {
				continue
			}
			h := p.Tensors[s.Dst.Tensor].H
			for _, r := range s.Reads() {
				for y := range h {
					rows := fusetest.Touched(p, s, r, y)
					if len(rows) == 0 {
						t.Fatalf("%s: row %d reads nothing of %s", s.Name, y, p.Tensors[r].Name)
					}
					for _, row := range rows {
						if need := p.Need(s, r, y+1); row >= need {
							t.Errorf("%s: row %d reads row %d of %s, of which %d are needed", s.Name, y, row, p.Tensors[r].Name, need)
						}
						if oldest := p.Oldest(s, r, y); row < oldest {
							t.Errorf("%s: row %d reads row %d of %s, of which the oldest is %d", s.Name, y, row, p.Tensors[r].Name, oldest)
						}
					}
					if p.Need(s, r, y) > p.Need(s, r, y+1) || p.Oldest(s, r, y) > p.Oldest(s, r, y+1) {
						t.Errorf("%s: row %d of %s needs less than the row before", s.Name, y, p.Tensors[r].Name)
					}
				}
			}
		}
	}
}

// TestNoPicture: what a device cannot make a picture of is left as it is.
func TestNoPicture(t *testing.T) {
	norms, err := fuse.Fuse(model.PyNET(model.PyNETOptions{Width: 2, InstanceNorm: true}), 32, 32)
	if err != nil {
		t.Fatal(err)
	}
	steps := len(norms.Steps)
	c := model.Convention{Output: model.OutputCameraGamma}
	if norms.MakePicture(&c, fuse.Picture{X1: 9, Y1: 9}) || len(norms.Steps) != steps {
		t.Error("a network with norms makes a picture")
	}
	p := withPicture(t, 32, 16, true)
	if p.MakePicture(&c, fuse.Picture{X1: 9, Y1: 9}) {
		t.Error("a picture's codes are taken for light")
	}
}
