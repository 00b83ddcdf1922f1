package onnximport

import (
	"slices"

	"enhance/model"
)

// layout says where a tensor of any dimensions lies in a plane. Both are taken apart into the same factors, the
// outermost first: Reshape groups these anew, Transpose reorders the dimensions, and neither moves a sample.
type layout struct {
	sizes []int64  // of the factors; none is 1
	dims  [][]int  // the factors of each dimension
	axes  [3][]int // the factors of channels, rows and columns
}

// layoutOf is the layout of v.
func layoutOf(v *value) *layout {
	if v.mixed != nil {
		return v.mixed
	}
	l := &layout{dims: make([][]int, len(v.dims))}
	for k, a := range v.axes {
		if a >= 0 && v.dims[a] != 1 {
			l.dims[a], l.axes[k] = []int{len(l.sizes)}, []int{len(l.sizes)}
			l.sizes = append(l.sizes, v.dims[a])
		}
	}
	return l
}

func (l *layout) clone() *layout {
	out := &layout{sizes: slices.Clone(l.sizes)}
	for _, d := range l.dims {
		out.dims = append(out.dims, slices.Clone(d))
	}
	for k := range l.axes {
		out.axes[k] = slices.Clone(l.axes[k])
	}
	return out
}

// size is the product of factors.
func (l *layout) size(list []int) int64 {
	n := int64(1)
	for _, f := range list {
		n *= l.sizes[f]
	}
	return n
}

// apply lets v have the layout l, in the simple form if that can express it.
func (l *layout) apply(v *value) *value {
	out := *v
	out.dims, out.mixed, out.axes = make([]int64, len(l.dims)), nil, [3]int{-1, -1, -1}
	for i, d := range l.dims {
		out.dims[i] = l.size(d)
	}
	for k, list := range l.axes {
		if len(list) == 0 {
			continue
		}
		out.axes[k] = slices.IndexFunc(l.dims, func(d []int) bool { return slices.Equal(d, list) })
		if out.axes[k] < 0 {
			out.mixed, out.axes = l, [3]int{-1, -1, -1}
			return &out
		}
	}
	for k, a := range standard(len(l.dims)) { // sides of 1 go to where ONNX has them, if that is free
		if out.axes[k] < 0 && a >= 0 && a < len(l.dims) && len(l.dims[a]) == 0 {
			out.axes[k] = a
		}
	}
	return &out
}

// ordered reports whether the samples of the tensor have the order of the plane's.
func (l *layout) ordered() bool {
	return slices.Equal(slices.Concat(l.dims...), slices.Concat(l.axes[:]...))
}

// regroup gives the tensor other dimensions, or false if its factors do not fit them.
func (l *layout) regroup(dims []int64) (*layout, bool) {
	out := l.clone()
	rest := slices.Concat(out.dims...)
	out.dims = make([][]int, len(dims))
	for i, n := range dims {
		for n > 1 {
			f := rest[0]
			switch s := out.sizes[f]; {
			case n%s == 0:
				out.dims[i] = append(out.dims[i], f)
				rest, n = rest[1:], n/s
			case s%n == 0:
				inner := out.split(f, n)
				out.dims[i] = append(out.dims[i], f)
				rest[0], n = inner, 1
			default:
				return nil, false
			}
		}
	}
	return out, true
}

// split makes two factors of f, the outer one of size n, and returns the inner one.
func (l *layout) split(f int, n int64) int {
	inner := len(l.sizes)
	l.sizes = append(l.sizes, l.sizes[f]/n)
	l.sizes[f] = n
	for k, list := range l.axes {
		if i := slices.Index(list, f); i >= 0 {
			l.axes[k] = slices.Insert(slices.Clone(list), i+1, inner)
		}
	}
	return inner
}

// relabel gives v other dimensions with as many samples.
func (c *call) relabel(v *value, dims []int64) (*value, error) {
	if l, ok := layoutOf(v).regroup(dims); ok {
		return l.apply(v), nil
	}
	// Its factors and the new dimensions do not divide each other: the samples are put in a line first.
	line, err := c.place(v, [3][]int{nil, nil, upTo(len(v.dims))})
	if err != nil {
		return nil, err
	}
	l := layoutOf(line).clone()
	if all := l.axes[axisW]; len(all) > 1 {
		l = &layout{sizes: []int64{l.size(all)}, dims: [][]int{{0}}, axes: [3][]int{nil, nil, {0}}}
	}
	l, ok := l.regroup(dims)
	if !ok {
		return nil, refuse("shape %v becomes %v", v.dims, dims)
	}
	return l.apply(line), nil
}

func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// place puts dimensions of v, all of which are named once or have a size of 1, to channels, rows and columns, where
// several follow each other as one.
func (c *call) place(v *value, dims [3][]int) (*value, error) {
	l := layoutOf(v)
	to := l.clone()
	for k, list := range dims {
		to.axes[k] = nil
		for _, d := range list {
			to.axes[k] = append(to.axes[k], l.dims[d]...)
		}
	}
	same := true
	for k := range to.axes {
		same = same && slices.Equal(to.axes[k], l.axes[k])
	}
	if same {
		return to.apply(v), nil
	}
	if c.strict {
		return nil, refuse("shape %v would have to be rearranged: its dimensions %v belong to channels, rows and columns", v.dims, dims)
	}
	return c.moved(v, l, to)
}

// moved emits the step from layout l to layout to, which has the same factors.
func (c *call) moved(v *value, l, to *layout) (*value, error) {
	r := model.Rearrange{}
	number := make([]int, len(l.sizes))
	n := 0
	for k, list := range l.axes {
		for i, f := range list {
			size := int(l.sizes[f])
			switch {
			case k > 0 && i == 0 && !slices.Contains(to.axes[axisC], f):
				size = 0 // whatever the side is
			case k > 0:
				c.readsSize()
			}
			r.Factors[k] = append(r.Factors[k], size)
			number[f] = n
			n++
		}
	}
	for k, list := range to.axes {
		for _, f := range list {
			r.To[k] = append(r.To[k], number[f])
		}
	}
	name := c.name(".rearranged")
	i, err := c.grow.Add(model.Node{Name: name, Op: model.OpRearrange, Rearrange: r, In: []int{v.node}})
	if err != nil {
		return nil, refuse("%v", err)
	}
	c.from[name] = c.n.String()
	return to.apply(&value{node: i, sole: true}), nil
}

// channelsFrom puts dimensions to the channels. The rows stay what they are if they can, so that they stream.
func (c *call) channelsFrom(v *value, dims []int) (*value, error) {
	return c.place(v, channelPlaces(v, dims))
}

// channelPlaces is where channelsFrom puts dimensions.
func channelPlaces(v *value, dims []int) [3][]int {
	var rest []int
	for d, n := range v.dims {
		if n != 1 && !slices.Contains(dims, d) {
			rest = append(rest, d)
		}
	}
	to := [3][]int{dims, nil, nil}
	l := layoutOf(v)
	rows := slices.IndexFunc(rest, func(d int) bool { return len(l.axes[axisH]) > 0 && slices.Equal(l.dims[d], l.axes[axisH]) })
	switch n := len(rest); {
	case n == 0:
	case n == 1 && rows < 0:
		to[axisW] = rest
	case rows >= 0:
		to[axisH] = []int{rest[rows]}
		to[axisW] = slices.Delete(rest, rows, rows+1)
	default:
		to[axisH], to[axisW] = rest[:n-1], rest[n-1:]
	}
	return to
}

// settle gives v the layout that most operations work on: batch, channels, rows, columns.
func (c *call) settle(v *value) (*value, error) {
	if v.mixed == nil {
		return v, nil
	}
	var to [3][]int
	at, large := standard(len(v.dims)), []int{}
	fits := len(v.dims) <= 4
	for d, n := range v.dims {
		k := slices.Index(at[:], d)
		if k >= 0 {
			to[k] = []int{d}
		}
		fits = fits && (k >= 0 || n == 1)
		if n != 1 {
			large = append(large, d)
		}
	}
	if !fits {
		switch to = [3][]int{}; len(large) {
		case 3:
			to = [3][]int{large[:1], large[1:2], large[2:]}
		case 2:
			to = [3][]int{large[:1], nil, large[1:]}
		default:
			return nil, refuse("its input of shape %v is not one picture of channels, rows and columns", v.dims)
		}
	}
	return c.place(v, to)
}

// spatial lets rows and columns be the dimensions of v that an operation along them changes.
func (c *call) spatial(v *value, changed []int) (*value, error) {
	v, err := c.settle(v)
	if err != nil {
		return nil, err
	}
	other := 0
	for _, d := range changed {
		if d != v.axes[axisH] && d != v.axes[axisW] {
			other++
		}
	}
	if other == 0 || len(changed) > 2 {
		return v, nil
	}
	var to [3][]int
	to[axisW] = changed[len(changed)-1:]
	if len(changed) == 2 {
		to[axisH] = changed[:1]
	}
	for d, n := range v.dims {
		if n == 1 || slices.Contains(changed, d) {
			continue
		}
		if len(to[axisC]) > 0 && len(to[axisH]) == 0 {
			to[axisH] = []int{d}
		} else {
			to[axisC] = append(to[axisC], d)
		}
	}
	if v, err = c.place(v, to); err != nil || v.mixed != nil {
		return v, err
	}
	for i, d := range changed { // one of size 1 stands anywhere
		v.axes[axisW-len(changed)+1+i] = d
		for k := range v.axes {
			if k != axisW-len(changed)+1+i && v.axes[k] == d {
				v.axes[k] = -1
			}
		}
	}
	return v, nil
}

// withChannels is the layout of v with other sizes of dimensions, which are then its channels.
func (v *value) withChannels(dims []int, sizes []int64) *value {
	l := layoutOf(v).clone()
	for _, d := range dims {
		for k := range l.axes {
			l.axes[k] = slices.DeleteFunc(l.axes[k], func(f int) bool { return slices.Contains(l.dims[d], f) })
		}
	}
	for i, d := range dims {
		l.dims[d] = nil
		if sizes[i] != 1 {
			l.dims[d] = []int{len(l.sizes)}
			l.axes[axisC] = append(l.axes[axisC], len(l.sizes))
			l.sizes = append(l.sizes, sizes[i])
		}
	}
	return l.apply(v)
}
