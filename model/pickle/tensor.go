package pickle

import (
	"maps"
	"slices"

	"enhance/model/safetensors"
)

// maxDims bounds the rank of a tensor.
const maxDims = 16

// newTensor makes a view of a storage from (storage, offset, size, stride, ...).
func newTensor(args tuple) (value, error) {
	s, ok := args[0].(*storage)
	offset, ok2 := args[1].(int64)
	size, ok3 := args[2].(tuple)
	stride, ok4 := args[3].(tuple)
	if !ok || !ok2 || !ok3 || !ok4 || len(size) != len(stride) || len(size) > maxDims {
		return nil, formatError("a tensor is made of %s, %s, %s and %s", kind(args[0]), kind(args[1]), kind(args[2]), kind(args[3]))
	}
	t := &tensor{storage: s, offset: offset}
	for i := range size {
		d, ok := size[i].(int64)
		step, ok2 := stride[i].(int64)
		if !ok || !ok2 || d < 0 || step < 0 || int64(int(d)) != d {
			return nil, formatError("a tensor of %s has a size or stride that is not a number of 0 or more", s.dtype.name)
		}
		t.shape, t.strides = append(t.shape, d), append(t.strides, step)
	}
	return t, nil
}

// elems is the number of elements, or -1 if that is above limit.
func (t *tensor) elems(limit int64) int64 {
	if slices.Contains(t.shape, 0) {
		return 0
	}
	n := int64(1)
	for _, d := range t.shape {
		if n > limit/d {
			return -1
		}
		n *= d
	}
	return n
}

// inRange says whether every element lies in the storage.
func (t *tensor) inRange() bool {
	if t.offset < 0 || t.offset > t.storage.numel {
		return false
	}
	if slices.Contains(t.shape, 0) {
		return true
	}
	left := t.storage.numel - 1 - t.offset // how far the last element may be
	for i, d := range t.shape {
		if d > 1 && t.strides[i] > 0 {
			if (d - 1) > left/t.strides[i] {
				return false
			}
			left -= (d - 1) * t.strides[i]
		}
	}
	return left >= 0
}

// source gives the bytes of a storage.
type source func(s *storage) ([]byte, error)

// collect gives the tensors of the value of a whole file of the given size.
func collect(v value, size int64, bytes source) (map[string]*Tensor, error) {
	d, err := stateDict(v)
	if err != nil {
		return nil, err
	}
	named := make(map[string]*tensor, len(d.keys))
	total := int64(0)
	for i, k := range d.keys {
		name, ok := k.(string)
		if !ok {
			return nil, formatError("%s is a key of the dictionary: want names of tensors", kind(k))
		}
		t, ok := d.values[i].(*tensor)
		if !ok {
			return nil, formatError("%q is %s: want a tensor", name, kind(d.values[i]))
		}
		if named[name] != nil {
			return nil, formatError("tensor %q is there twice", name)
		}
		if t.storage.dtype.code == "" {
			return nil, formatError("tensor %q is of %s: want float32, float16, bfloat16 or float64", name, t.storage.dtype.name)
		}
		if !t.inRange() {
			return nil, formatError("tensor %q of shape %v from element %d on reaches beyond the %d elements of its storage", name, t.shape, t.offset, t.storage.numel)
		}
		n := t.elems(size / t.storage.dtype.size)
		if n < 0 || total+n*t.storage.dtype.size > size {
			return nil, formatError("tensor %q: the tensors together are larger than the file of %d bytes", name, size)
		}
		total += n * t.storage.dtype.size
		named[name] = t
	}
	return load(named, bytes)
}

// stateDict finds the dictionary of tensors.
func stateDict(v value) (*dict, error) {
	d, ok := v.(*dict)
	if !ok {
		return nil, formatError("holds %s: want a dictionary of tensors", kind(v))
	}
	for _, key := range []string{"state_dict", "model_state_dict"} {
		inner, times := d.find(key)
		if times > 1 {
			return nil, formatError("%q is there twice", key)
		}
		if nested, ok := inner.(*dict); ok {
			return nested, nil
		}
	}
	return d, nil
}

// load reads the values, one storage after the other so that only one is in
// memory beside the results.
func load(named map[string]*tensor, bytes source) (map[string]*Tensor, error) {
	byStorage := make(map[string][]string)
	for _, name := range slices.Sorted(maps.Keys(named)) {
		key := named[name].storage.key
		byStorage[key] = append(byStorage[key], name)
	}
	out := make(map[string]*Tensor, len(named))
	for _, key := range slices.Sorted(maps.Keys(byStorage)) {
		s := named[byStorage[key][0]].storage
		raw, err := bytes(s)
		if err != nil {
			return nil, err
		}
		data := make([]float32, s.numel)
		safetensors.Convert(data, raw, s.dtype.code)
		for _, name := range byStorage[key] {
			out[name] = named[name].gather(data)
		}
	}
	return out, nil
}

// gather takes a tensor's elements, which are known to be in range, out of its storage.
func (t *tensor) gather(data []float32) *Tensor {
	out := &Tensor{}
	n := int64(1)
	for _, d := range t.shape {
		out.Shape = append(out.Shape, int(d))
		n *= d
	}
	out.Data = make([]float32, 0, n)
	if n > 0 {
		out.Data = t.appendFrom(out.Data, data, t.offset, 0)
	}
	return out
}

// appendFrom appends the elements of dimensions dim and up that begin at offset at.
func (t *tensor) appendFrom(out, data []float32, at int64, dim int) []float32 {
	if dim == len(t.shape) {
		return append(out, data[at])
	}
	if dim == len(t.shape)-1 && t.strides[dim] == 1 {
		return append(out, data[at:at+t.shape[dim]]...)
	}
	for i := range t.shape[dim] {
		out = t.appendFrom(out, data, at+i*t.strides[dim], dim+1)
	}
	return out
}
