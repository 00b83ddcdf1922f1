package pipeline

import (
	"errors"
	"fmt"
	"io/fs"

	"enhance/internal/regularfile"
	"enhance/model"
	"enhance/model/onnximport"
)

// maxSidecar is far above what a description can need.
const maxSidecar = 1 << 16

// describe reads the file beside a network, NET.onnx.json, that says how a photo becomes the input of a RAW
// network, or a picture that of a classifier. Without one the network is for pictures.
func (n *Imported) describe() error {
	path := n.path + ".json"
	text, err := regularfile.Read(path, maxSidecar)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &FileError{Path: path, Err: err}
	}
	if isClassifier(text) {
		if n.classifier, err = parseClassifier(text); err != nil {
			return &model.WeightsError{Source: path, Err: err}
		}
		return nil
	}
	c, err := model.ParseConvention(text)
	if err == nil {
		err = n.fits(c)
	}
	if err != nil {
		return &model.WeightsError{Source: path, Err: err}
	}
	n.any.Model.Convention = *c
	n.any.Model.Meta[onnximport.MetaRAW] = path
	return nil
}

// fits checks that the network's planes, result and sides are those of the convention, and that it is the same
// network at all sizes, for photos have many.
func (n *Imported) fits(c *model.Convention) error {
	g := n.any.Model.Graph
	if have, want := g.Nodes[0].C, c.Planes(); have != want {
		return fmt.Errorf("the network takes %d planes, the description makes it %d", have, want)
	}
	for _, k := range [...]int{5, 8} {
		h, w := c.PaddedSides(16*k, 16*k+37)
		net, err := n.At(h, w)
		if err != nil {
			return fmt.Errorf("sides of %d and %d, which the description allows: %w", h, w, err)
		}
		if node := onnximport.Differ(n.any, net); node != "" {
			return fmt.Errorf("%s depends on the size, and photos have many", node)
		}
		shapes, err := net.Model.Graph.Shapes(h, w)
		if err != nil {
			return err
		}
		if out := shapes[net.Model.Graph.Out]; out.C != 3 || out.H*c.ScaleDen != h*c.ScaleNum || out.W*c.ScaleDen != w*c.ScaleNum {
			return fmt.Errorf("the network makes %v of planes of %dx%d, the description 3 channels of %d/%d of the sides", out, h, w, c.ScaleNum, c.ScaleDen)
		}
	}
	return nil
}
