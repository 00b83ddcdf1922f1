package onnximport

import (
	"slices"

	"enhance/model"
)

func (c *call) depthToSpace() error {
	v, err := c.picture(0)
	if err != nil {
		return err
	}
	mode, f := c.string("mode", "DCR"), c.int("blocksize", 0)
	if mode != "DCR" && mode != "CRD" || f < 1 || f > 1<<10 {
		return refuse("mode %q and blocks of %d", mode, f)
	}
	return c.result(c.shuffle(v, int(f), mode == "CRD"))
}

// shuffle is depth to space.
func (c *call) shuffle(v *value, factor int, crd bool) (*value, error) {
	n := model.Node{Op: model.OpDepthToSpace, Factor: factor, CRD: crd, In: []int{v.node}}
	if factor == 2 && (crd || c.shapeOf(v).C == 4) {
		n = model.Node{Op: model.OpPixelShuffle, In: n.In}
	}
	return c.emit(n, "", v)
}

func (c *call) spaceToDepth() error {
	v, err := c.picture(0)
	if err != nil {
		return err
	}
	f := c.int("blocksize", 0)
	if f < 1 || f > 1<<10 {
		return refuse("blocks of %d", f)
	}
	return c.unary(model.Node{Op: model.OpSpaceToDepth, Factor: int(f), In: []int{v.node}})
}

// pad imports Pad along rows and columns; negative pads crop.
func (c *call) pad() error {
	v, err := c.plane(0)
	if err != nil {
		return err
	}
	list, err := c.list("pads", 1)
	if err != nil {
		return err
	}
	fill := c.float("value", 0)
	if k, err := c.constant(2); err != nil {
		return err
	} else if k != nil {
		var ok bool
		if fill, ok = k.scalar(); !ok {
			return refuse("its value is no number")
		}
	}
	v, sides, err := c.padded(v, list)
	if err != nil {
		return err
	}
	n := model.Node{Op: model.OpPad, In: []int{v.node}}
	switch mode := c.string("mode", "constant"); mode {
	case "constant":
		n.Pad, n.Alpha = model.PadConstant, fill
	case "reflect":
		n.Pad = model.PadReflect
	case "edge":
		n.Pad = model.PadEdge
	default:
		return refuse("its mode is %q", mode)
	}
	var add, cut [4]int
	for i, s := range sides {
		add[i], cut[i] = max(s, 0), max(-s, 0)
	}
	out := v
	if add != [4]int{} {
		n.Window = model.Window{Top: add[0], Left: add[1], Bottom: add[2], Right: add[3]}
		if out, err = c.emit(n, "", v); err != nil {
			return err
		}
	}
	return c.result(c.crop(out, cut, 1, 1))
}

// padded are the pads at the top, left, bottom and right of v, rearranged if other dimensions are padded.
func (c *call) padded(v *value, list []int64) (at *value, sides [4]int, err error) {
	axes, err := c.list("", 3)
	if err != nil {
		return nil, sides, err
	}
	if axes == nil {
		for i := range v.dims {
			axes = append(axes, int64(i))
		}
	}
	if len(list) != 2*len(axes) {
		return nil, sides, refuse("%d pads for %d of the dimensions of %v", len(list), len(axes), v.dims)
	}
	var changed []int
	for i := range axes {
		a, err := axis(axes[i], len(v.dims))
		if err != nil {
			return nil, sides, err
		}
		if list[i] != 0 || list[len(axes)+i] != 0 {
			changed = append(changed, a)
		}
	}
	slices.Sort(changed)
	if v, err = c.spatial(v, changed); err != nil {
		return nil, sides, err
	}
	for i := range axes {
		a, _ := axis(axes[i], len(v.dims))
		before, after := list[i], list[len(axes)+i]
		if before == 0 && after == 0 {
			continue
		}
		if max(before, after, -before, -after) > 1<<16 {
			return nil, sides, refuse("its pads are %v", list)
		}
		switch a {
		case v.axes[axisH]:
			sides[0], sides[2] = int(before), int(after)
		case v.axes[axisW]:
			sides[1], sides[3] = int(before), int(after)
		default:
			return nil, sides, refuse("it pads dimension %d of %v, which is neither rows nor columns", a, v.dims)
		}
	}
	return v, sides, nil
}
