package pickle

import "strings"

const (
	globalOrderedDict      = "collections.OrderedDict"
	globalRebuildTensor    = "torch._utils._rebuild_tensor"
	globalRebuildTensorV2  = "torch._utils._rebuild_tensor_v2"
	globalRebuildParameter = "torch._utils._rebuild_parameter"
)

// dtypes are the storages of PyTorch by the name of their class. Those that are
// not floats are known so that a checkpoint may hold them beside its state dict.
var dtypes = map[string]*dtype{
	"torch.FloatStorage":         {"float32", 4, "F32"},
	"torch.HalfStorage":          {"float16", 2, "F16"},
	"torch.BFloat16Storage":      {"bfloat16", 2, "BF16"},
	"torch.DoubleStorage":        {"float64", 8, "F64"},
	"torch.LongStorage":          {"int64", 8, ""},
	"torch.IntStorage":           {"int32", 4, ""},
	"torch.ShortStorage":         {"int16", 2, ""},
	"torch.CharStorage":          {"int8", 1, ""},
	"torch.ByteStorage":          {"uint8", 1, ""},
	"torch.BoolStorage":          {"bool", 1, ""},
	"torch.ComplexFloatStorage":  {"complex64", 8, ""},
	"torch.ComplexDoubleStorage": {"complex128", 16, ""},
}

// known says whether a name is one that a state dict is made of.
func known(name string) bool {
	switch name {
	case globalOrderedDict, globalRebuildTensor, globalRebuildTensorV2, globalRebuildParameter:
		return true
	}
	return dtypes[name] != nil
}

// storages are those that a pickle names, by key.
type storages struct {
	byKey  map[string]*storage
	legacy bool // persistent ids have a sixth item
}

// stepName runs the opcodes by which a pickle would reach into Python. Each of
// them makes a value here or is refused.
func (m *machine) stepName(op byte) (handled bool, err error) {
	switch op {
	case opGlobal:
		module, e := m.in.line()
		if e != nil {
			return true, e
		}
		name, e := m.in.line()
		if e != nil {
			return true, e
		}
		return true, m.pushGlobal(module, name)
	case opStackGlobal:
		items, e := m.popN(2)
		if e != nil {
			return true, e
		}
		module, ok1 := items[0].(string)
		name, ok2 := items[1].(string)
		if !ok1 || !ok2 {
			return true, formatError("a name is made of %s and %s", kind(items[0]), kind(items[1]))
		}
		return true, m.pushGlobal(module, name)
	case opReduce:
		items, e := m.popN(2)
		if e != nil {
			return true, e
		}
		v, e := m.reduce(items[0], items[1])
		m.push(v)
		return true, e
	case opBuild:
		// state_dict() hangs version numbers onto its OrderedDict; they are dropped.
		items, e := m.popN(2)
		if e != nil {
			return true, e
		}
		if d, ok := items[0].(*dict); !ok || !d.ordered {
			return true, formatError("the state of %s is set: only an OrderedDict may have one", kind(items[0]))
		}
		m.push(items[0])
		return true, nil
	case opBinPersID:
		id, e := m.pop()
		if e != nil {
			return true, e
		}
		s, e := m.storage(id)
		m.push(s)
		return true, e
	}
	return false, nil
}

func (m *machine) pushGlobal(module, name string) error {
	full := module + "." + name
	if !known(full) {
		return formatError("names %q, which a state dict does not need: refused (save model.state_dict() alone)", full)
	}
	m.push(global(full))
	return nil
}

// reduce is what a pickle means as calling f with arguments.
func (m *machine) reduce(f, arguments value) (value, error) {
	name, ok := f.(global)
	args, ok2 := arguments.(tuple)
	if !ok || !ok2 {
		return nil, formatError("calls %s with %s: refused", kind(f), kind(arguments))
	}
	switch name {
	case globalOrderedDict:
		return m.orderedDict(args)
	case globalRebuildTensor:
		if len(args) == 4 {
			return newTensor(args)
		}
	case globalRebuildTensorV2: // storage, offset, size, stride, requires_grad, hooks[, metadata]
		if len(args) == 6 || len(args) == 7 {
			return newTensor(args)
		}
	case globalRebuildParameter: // data, requires_grad, hooks
		if len(args) == 3 {
			if t, ok := args[0].(*tensor); ok {
				return t, nil
			}
			return nil, formatError("a parameter is made of %s", kind(args[0]))
		}
	default:
		return nil, formatError("calls %s: refused", name)
	}
	return nil, formatError("calls %s with %d arguments: refused", name, len(args))
}

// orderedDict makes one from nothing or, as Python 2 does, from a list of pairs. A list
// that was stored once may be named again and again, each time by a few bytes, and is
// copied each time: so all copies together may have no more pairs than the pickle has
// bytes.
func (m *machine) orderedDict(args tuple) (value, error) {
	d := &dict{ordered: true}
	if len(args) == 0 {
		return d, nil
	}
	pairs, ok := args[0].(*list)
	if !ok || len(args) != 1 {
		return nil, formatError("an OrderedDict is made of %s", kind(args[0]))
	}
	if m.copied += int64(len(pairs.items)); m.copied > m.in.pos {
		return nil, formatError("OrderedDicts are made of %d pairs, more than the pickle has bytes: refused", m.copied)
	}
	for _, item := range pairs.items {
		var pair []value
		switch p := item.(type) {
		case *list:
			pair = p.items
		case tuple:
			pair = p
		}
		if len(pair) != 2 {
			return nil, formatError("an OrderedDict is made of %s that is not a pair", kind(item))
		}
		key, ok := pair[0].(string)
		if !ok {
			return nil, formatError("an OrderedDict has %s as a key", kind(pair[0]))
		}
		d.keys = append(d.keys, key)
		d.values = append(d.values, pair[1])
	}
	return d, nil
}

// storage is the storage that a persistent id stands for:
// ("storage", class, key, location, elements) and in old files a view.
func (m *machine) storage(id value) (*storage, error) {
	if m.stores == nil {
		return nil, formatError("a storage is named where none is expected")
	}
	t, ok := id.(tuple)
	want := 5
	if m.stores.legacy {
		want = 6
	}
	if !ok || len(t) != want || t[0] != value("storage") {
		return nil, formatError("a persistent id is not that of a storage")
	}
	class, ok1 := t[1].(global)
	key, ok2 := t[2].(string)
	numel, ok3 := t[4].(int64)
	if !ok1 || !ok2 || !ok3 || dtypes[string(class)] == nil || numel < 0 {
		return nil, formatError("a storage is described by %s, %s and %s", kind(t[1]), kind(t[2]), kind(t[4]))
	}
	if m.stores.legacy && t[5] != nil {
		return nil, formatError("storage %q is a view of another: save it again with a newer PyTorch", key)
	}
	if strings.ContainsAny(key, "/\\") {
		return nil, formatError("storage key %q is not a plain name", key)
	}
	s := &storage{dtype: dtypes[string(class)], key: key, numel: numel}
	if old := m.stores.byKey[key]; old != nil {
		if *old != *s {
			return nil, formatError("storage %q is described as %d of %s and as %d of %s", key, old.numel, old.dtype.name, numel, s.dtype.name)
		}
		return old, nil
	}
	m.stores.byKey[key] = s
	return s, nil
}
