package pipeline

import (
	"fmt"

	"enhance/model"
	"enhance/model/onnximport"
)

// pictureFit is a network for a picture of some size: the sides that it is given, and those of its result.
type pictureFit struct {
	Net      *onnximport.Network
	H, W     int // padded
	Multiple int // that they are of
	out      model.Shape
}

// rows and columns are what the result has for those of the picture.
func (f *pictureFit) rows(n int) int    { return n * f.out.H / f.H }
func (f *pictureFit) columns(n int) int { return n * f.out.W / f.W }

// multiples are the ones of which padded sides are tried: what poolings and strides halve.
var multiples = [...]int{1, 2, 4, 8, 16, 32, 64, 128}

// fit finds the smallest multiple to which the sides of a picture must be padded so that the network can run
// and its result is the picture's size times a fixed factor.
func (n *Imported) fit(h, w int) (*pictureFit, error) {
	largest, err := n.fitted(h, w, multiples[len(multiples)-1])
	if err != nil {
		if exact, own := n.fitted(h, w, 1); own == nil { // a network that was exported for this size alone
			largest, err = exact, nil
		}
	}
	if err != nil {
		return nil, err
	}
	for _, m := range multiples {
		if m > largest.Multiple {
			break
		}
		f, err := n.fitted(h, w, m)
		if err == nil && int64(f.out.H)*int64(largest.H) == int64(largest.out.H)*int64(f.H) && int64(f.out.W)*int64(largest.W) == int64(largest.out.W)*int64(f.W) {
			if f.rows(h) < 1 || f.columns(w) < 1 {
				break
			}
			return f, nil
		}
	}
	return nil, n.explain(fmt.Errorf("its result for an input of %dx%d has %dx%d samples, which is no factor that all sizes share: model run gives it as it is",
		largest.W, largest.H, largest.out.W, largest.out.H))
}

func (n *Imported) fitted(h, w, multiple int) (*pictureFit, error) {
	f := &pictureFit{H: (h + multiple - 1) / multiple * multiple, W: (w + multiple - 1) / multiple * multiple, Multiple: multiple}
	var err error
	if f.Net, err = n.At(f.H, f.W); err != nil {
		return nil, err
	}
	g := f.Net.Model.Graph
	shapes, err := g.Shapes(f.H, f.W)
	if err != nil {
		return nil, n.explain(err)
	}
	f.out = shapes[g.Out]
	return f, nil
}
