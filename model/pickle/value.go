package pickle

// value is what the machine builds: nil, bool, int64, float64, string, or one
// of the types below.
type value any

type (
	// bytesValue is a byte string.
	bytesValue string
	// bigValue is an integer of more than 64 bits, its little-endian bytes.
	bigValue string
	// tuple is an immutable sequence.
	tuple []value
	// list is a sequence that can grow.
	list struct{ items []value }
	// dict is a dictionary in the order of insertion; an OrderedDict is one too.
	dict struct {
		keys, values []value
		ordered      bool
	}
	// global is a name that is known to this package.
	global string
)

// dtype is an element type.
type dtype struct {
	name string // as PyTorch calls it
	size int64  // bytes of an element
	code string // of safetensors.Convert; empty if it cannot be read as floats
}

// storage is a run of elements that tensors are views of.
type storage struct {
	dtype *dtype
	key   string
	numel int64
}

// tensor is a view of a storage: element i, j, ... is at offset + i·strides[0] + j·strides[1] + ...
type tensor struct {
	storage        *storage
	offset         int64
	shape, strides []int64
}

// find gives the value of a string key, and how many times the key is there.
func (d *dict) find(key string) (v value, times int) {
	for i, k := range d.keys {
		if k == key {
			v = d.values[i]
			times++
		}
	}
	return v, times
}

// kind names a value's type in errors.
func kind(v value) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return "a bool"
	case int64, bigValue:
		return "an int"
	case float64:
		return "a float"
	case string:
		return "a string"
	case bytesValue:
		return "bytes"
	case tuple:
		return "a tuple"
	case *list:
		return "a list"
	case *dict:
		return "a dict"
	case global:
		return "the name " + string(v)
	case *storage:
		return "a storage"
	case *tensor:
		return "a tensor"
	}
	return "a mark"
}
