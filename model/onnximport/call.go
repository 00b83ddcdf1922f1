package onnximport

import (
	"maps"
	"slices"

	"enhance/model"
	"enhance/model/onnx"
)

// call is the import of one node: its inputs, and its attributes as they are asked for.
type call struct {
	*importer
	n    *onnx.Node
	in   []*value // nil: left out
	read map[string]bool
	err  error // of attributes
}

type handler func(*call) error

// finish checks that the node has no attribute that was not asked for, and is what is read of it.
func (c *call) finish() error {
	if c.err != nil {
		return c.err
	}
	for _, name := range slices.Sorted(maps.Keys(c.n.Attrs)) {
		if !c.read[name] {
			return refuse("its attribute %q is not known", name)
		}
	}
	for _, name := range c.n.Out {
		if name != "" && c.uses[name] > 0 && c.values[name] == nil {
			return refuse("its output %q is not computed", name)
		}
	}
	return nil
}

// attr finds an attribute of one of the kinds, nil if there is none.
func (c *call) attr(name string, kind onnx.AttrKind) *onnx.Attr {
	c.read[name] = true
	a := c.n.Attrs[name]
	if a != nil && a.Kind != kind && a.Kind != 0 && c.err == nil {
		c.err = refuse("its attribute %q has another type than ONNX says", name)
		return nil
	}
	return a
}

func (c *call) int(name string, absent int64) int64 {
	if a := c.attr(name, onnx.AttrInt); a != nil {
		return a.I
	}
	return absent
}

func (c *call) float(name string, absent float32) float32 {
	if a := c.attr(name, onnx.AttrFloat); a != nil {
		return a.F
	}
	return absent
}

func (c *call) string(name, absent string) string {
	if a := c.attr(name, onnx.AttrString); a != nil {
		return a.S
	}
	return absent
}

func (c *call) ints(name string) []int64 {
	if a := c.attr(name, onnx.AttrInts); a != nil {
		return a.Ints
	}
	return nil
}

// arg is input i, nil if it is left out.
func (c *call) arg(i int) *value {
	if i < len(c.in) {
		return c.in[i]
	}
	return nil
}

// plane is input i, which must be no constant.
func (c *call) plane(i int) (*value, error) {
	v := c.arg(i)
	if v == nil {
		return nil, refuse("its input %d is missing", i)
	}
	if v.con != nil {
		return nil, refuse("its input %q is a constant; only the others may be", c.n.In[i])
	}
	return v, nil
}

// picture is input i, which must be a batch of one, channels and, if it has more dimensions, rows and columns.
func (c *call) picture(i int) (*value, error) {
	v, err := c.plane(i)
	if err != nil {
		return nil, err
	}
	if len(v.dims) >= 2 && len(v.dims) <= 4 && !c.strict {
		if v, err = c.settle(v); err != nil {
			return nil, err
		}
		var to [3][]int
		for k, d := range standard(len(v.dims)) {
			if d >= 0 {
				to[k] = []int{d}
			}
		}
		if v.dims[0] == 1 {
			if v, err = c.place(v, to); err != nil {
				return nil, err
			}
		}
		c.in[i] = v
	}
	if len(v.dims) < 2 || len(v.dims) > 4 || v.mixed != nil || v.axes != standard(len(v.dims)) {
		return nil, refuse("its input of shape %v is not a batch of channels, rows and columns", v.dims)
	}
	return v, nil
}

// constants gives input i as a constant, nil if it is left out.
func (c *call) constant(i int) (*constant, error) {
	v := c.arg(i)
	if v == nil {
		return nil, nil
	}
	if v.con == nil {
		return nil, refuse("its input %q must be a constant; it depends on the picture", c.n.In[i])
	}
	return v.con, nil
}

// list gives a list of integers that was an attribute in older opsets and is input i in newer ones; nil if
// it is left out.
func (c *call) list(name string, i int) ([]int64, error) {
	if a := c.attr(name, onnx.AttrInts); a != nil {
		return a.Ints, nil
	}
	con, err := c.constant(i)
	if con == nil || err != nil {
		return nil, err
	}
	if con.Real || len(con.Dims) > 1 {
		return nil, refuse("its input %q must be a list of integers", c.n.In[i])
	}
	if con.Ints == nil {
		return []int64{}, nil
	}
	return con.Ints, nil
}

// shapeOf is the shape of a plane.
func (c *call) shapeOf(v *value) model.Shape { return c.grow.Shape(v.node) }

// emit adds a node to the graph, whose value is laid out as like.
func (c *call) emit(n model.Node, suffix string, like *value) (*value, error) {
	if n.Name == "" {
		n.Name = c.name(suffix)
	}
	i, err := c.grow.Add(n)
	if err != nil {
		return nil, refuse("%v", err)
	}
	c.from[n.Name] = c.n.String()
	v := &value{node: i, axes: like.axes, dims: like.dims, mixed: like.mixed, sole: true}
	v.dims, err = v.dimsOf(c.grow.Shape(i))
	return v, err
}

// set makes v the node's output i.
func (c *call) set(i int, v *value) error {
	if i >= len(c.n.Out) || c.n.Out[i] == "" {
		return nil
	}
	name := c.n.Out[i]
	w := *v
	w.sole = v.sole && c.uses[name] == 1
	c.values[name] = &w
	return nil
}

// result sets output 0 to what emit gave.
func (c *call) result(v *value, err error) error {
	if err != nil {
		return err
	}
	return c.set(0, v)
}

// unary emits an operation on input 0 that keeps its shape.
func (c *call) unary(n model.Node) error {
	v, err := c.plane(0)
	if err != nil {
		return err
	}
	return c.result(c.emitOn(n, v))
}

// emitOn emits n with the input v.
func (c *call) emitOn(n model.Node, v *value) (*value, error) {
	n.In = []int{v.node}
	return c.emit(n, "", v)
}
