package onnximport

import (
	"math"
	"slices"
)

// This file folds operations that choose and order the elements of constants.

func (c *call) foldGather() error {
	k, err := c.need(0)
	if err != nil {
		return err
	}
	index, err := c.need(1)
	if err != nil || index.Real || len(k.Dims) == 0 {
		return refuse("its indices are not integers, or there is nothing to choose from")
	}
	a, err := axis(c.int("axis", 0), len(k.Dims))
	if err != nil {
		return err
	}
	dims := slices.Concat(k.Dims[:a], index.Dims, k.Dims[a+1:])
	n, err := c.elements(dims)
	if err != nil {
		return err
	}
	inner := product(k.Dims[a+1:])
	out := k.like(dims, n)
	for i := range n {
		block, rest := i/inner/max(1, len(index.Ints)), i%inner
		j := index.Ints[i/inner%max(1, len(index.Ints))]
		if j < 0 {
			j += k.Dims[a]
		}
		if j < 0 || j >= k.Dims[a] {
			return refuse("index %d of %d", j, k.Dims[a])
		}
		out.copy(i, k, (block*int(k.Dims[a])+int(j))*inner+rest)
	}
	return c.con(out)
}

func product(dims []int64) int {
	n := 1
	for _, d := range dims {
		n *= int(d)
	}
	return n
}

func (c *call) foldConcat() error {
	first, err := c.need(0)
	if err != nil {
		return err
	}
	a, err := axis(c.int("axis", 1), len(first.Dims))
	if err != nil {
		return err
	}
	dims := slices.Clone(first.Dims)
	dims[a] = 0
	for i := range c.in {
		k, err := c.need(i)
		if err != nil {
			return err
		}
		if len(k.Dims) != len(dims) || k.Real != first.Real {
			return refuse("it joins constants of shapes %v and %v", first.Dims, k.Dims)
		}
		for j, d := range k.Dims {
			if j != a && d != dims[j] {
				return refuse("it joins constants of shapes %v and %v", first.Dims, k.Dims)
			}
		}
		dims[a] += k.Dims[a]
	}
	n, err := c.elements(dims)
	if err != nil {
		return err
	}
	out, inner, at := first.like(dims, n), product(dims[a+1:]), 0
	if n == 0 {
		return c.con(out)
	}
	for outer := range product(dims[:a]) {
		for i := range c.in {
			k := c.in[i].con
			part := int(k.Dims[a]) * inner
			for j := range part {
				out.copy(at, k, outer*part+j)
				at++
			}
		}
	}
	return c.con(out)
}

// ranges are what Slice takes of each dimension.
func (c *call) ranges(dims []int64) (start, step, count []int64, err error) {
	var lists [4][]int64
	for i, attribute := range []string{"starts", "ends", "axes", ""} {
		if lists[i], err = c.list(attribute, i+1); err != nil {
			return nil, nil, nil, err
		}
	}
	starts, ends, axes, steps := lists[0], lists[1], lists[2], lists[3]
	if axes == nil {
		for i := range starts {
			axes = append(axes, int64(i))
		}
	}
	if steps == nil {
		steps = repeatInt(1, len(starts))
	}
	if len(ends) != len(starts) || len(axes) != len(starts) || len(steps) != len(starts) {
		return nil, nil, nil, refuse("%d starts, %d ends, %d axes and %d steps", len(starts), len(ends), len(axes), len(steps))
	}
	start, step, count = make([]int64, len(dims)), repeatInt(1, len(dims)), slices.Clone(dims)
	for i, by := range steps {
		a, err := axis(axes[i], len(dims))
		if err != nil {
			return nil, nil, nil, err
		}
		if by == 0 || by == math.MinInt64 {
			return nil, nil, nil, refuse("a step of %d", by)
		}
		step[a] = by
		start[a], count[a] = within(starts[i], ends[i], by, dims[a])
	}
	return start, step, count, nil
}

// within is the first index, and how many there are, from one index to another of n by a step
// that is not 0. Negative indices count from the end, and those outside stand for the nearest.
func within(from, to, by, n int64) (start, count int64) {
	if from < 0 {
		from += n
	}
	if to < 0 && to >= -n {
		to += n
	} else if to < 0 {
		to = -1
	}
	if by > 0 {
		from, to = min(max(from, 0), n), min(max(to, 0), n)
		if by > n {
			return from, min(1, max(0, to-from))
		}
		return from, max(0, (to-from+by-1)/by)
	}
	from, to = min(max(from, 0), n-1), min(max(to, -1), n-1)
	if -by > n {
		return from, min(1, max(0, from-to))
	}
	return from, max(0, (from-to-by-1)/-by)
}

func repeatInt(v int64, n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = v
	}
	return out
}

func (c *call) foldSlice() error {
	k, err := c.need(0)
	if err != nil {
		return err
	}
	start, step, count, err := c.ranges(k.Dims)
	if err != nil {
		return err
	}
	n, err := c.elements(count)
	if err != nil {
		return err
	}
	out := k.like(count, n)
	for i := range n {
		at, rest, stride := 0, i, 1
		for d := len(count) - 1; d >= 0; d-- {
			x := int64(rest % int(count[d]))
			rest /= int(count[d])
			at += int(start[d]+x*step[d]) * stride
			stride *= int(k.Dims[d])
		}
		out.copy(i, k, at)
	}
	return c.con(out)
}

func (c *call) foldReshape() error {
	k, err := c.need(0)
	if err != nil {
		return err
	}
	dims, err := c.reshaped(k.Dims)
	if err != nil {
		return err
	}
	out := *k
	out.Dims = dims
	return c.con(&out)
}

func (c *call) foldTranspose() error {
	k, err := c.need(0)
	if err != nil {
		return err
	}
	perm, err := c.permutation(len(k.Dims))
	if err != nil {
		return err
	}
	dims := make([]int64, len(perm))
	for i, p := range perm {
		dims[i] = k.Dims[p]
	}
	n, err := c.elements(dims)
	if err != nil {
		return err
	}
	strides := make([]int, len(dims))
	for i, s := len(dims)-1, 1; i >= 0; i-- {
		strides[i] = s
		s *= int(k.Dims[i])
	}
	out := k.like(dims, n)
	for i := range n {
		at, rest := 0, i
		for d := len(dims) - 1; d >= 0; d-- {
			at += rest % int(dims[d]) * strides[perm[d]]
			rest /= int(dims[d])
		}
		out.copy(i, k, at)
	}
	return c.con(out)
}

// broadcast is the shape that shapes have together.
func broadcast(a, b []int64) ([]int64, error) {
	out := make([]int64, max(len(a), len(b)))
	for i := range out {
		x, y := dimFromEnd(a, len(out)-1-i), dimFromEnd(b, len(out)-1-i)
		if x != y && x != 1 && y != 1 {
			return nil, refuse("shapes %v and %v do not fit together", a, b)
		}
		if out[i] = x; x == 1 {
			out[i] = y
		}
	}
	return out, nil
}

func dimFromEnd(dims []int64, i int) int64 {
	if i < len(dims) {
		return dims[len(dims)-1-i]
	}
	return 1
}

// index finds the element of a constant of shape dims that stands for element i of shape out.
func index(i int, out, dims []int64) int {
	at, stride := 0, 1
	for d := range out {
		n := int(out[len(out)-1-d])
		x := i % n
		i /= n
		if own := int(dimFromEnd(dims, d)); own > 1 {
			at += x * stride
			stride *= own
		}
	}
	return at
}

func (c *call) foldExpand() error {
	k, err := c.need(0)
	if err != nil {
		return err
	}
	shape, err := c.need(1)
	if err != nil {
		return err
	}
	dims, err := broadcast(k.Dims, shape.Ints)
	if err != nil {
		return err
	}
	n, err := c.elements(dims)
	if err != nil {
		return err
	}
	out := k.like(dims, n)
	for i := range n {
		out.copy(i, k, index(i, dims, k.Dims))
	}
	return c.con(out)
}

func (c *call) foldSplit() error {
	k, err := c.need(0)
	if err != nil {
		return err
	}
	a, err := axis(c.int("axis", 0), len(k.Dims))
	if err != nil {
		return err
	}
	sizes, err := c.splits(k.Dims[a])
	if err != nil {
		return err
	}
	inner, first := product(k.Dims[a+1:]), 0
	for o, size := range sizes {
		dims := slices.Clone(k.Dims)
		dims[a] = size
		n, err := c.elements(dims)
		if err != nil {
			return err
		}
		out, part := k.like(dims, n), int(size)*inner
		for i := range n {
			out.copy(i, k, (i/part*int(k.Dims[a])+first)*inner+i%part)
		}
		first += int(size)
		if err := c.set(o, &value{con: out, dims: dims}); err != nil {
			return err
		}
	}
	return nil
}
