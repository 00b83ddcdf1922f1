package pickle

import (
	"encoding/binary"
	"io"

	"enhance/model/safetensors"
)

// legacyMagic is the first pickle of the old format, as the bytes of an integer.
const legacyMagic = bigValue("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19")

// readLegacy reads the format before PyTorch 1.6: pickles of a magic number, a
// version, facts about the writer, the value and the keys of its storages, and
// after them, for each key, the number of elements as int64 and the elements.
func readLegacy(r io.ReaderAt, size int64) (map[string]*Tensor, error) {
	in := newInput(io.NewSectionReader(r, 0, size), size)
	magic, err := run(in, nil)
	if err != nil {
		return nil, err
	}
	if magic != value(legacyMagic) {
		return nil, formatError("is a pickle, but not one made by torch.save")
	}
	version, err := run(in, nil)
	if err != nil {
		return nil, err
	}
	if version != value(int64(1001)) {
		return nil, formatError("has a version other than 1001")
	}
	if err := checkSystem(in); err != nil {
		return nil, err
	}
	stores := &storages{byKey: make(map[string]*storage), legacy: true}
	v, err := run(in, stores)
	if err != nil {
		return nil, err
	}
	places, err := storagePlaces(in, r, stores)
	if err != nil {
		return nil, err
	}
	return collect(v, size, func(s *storage) ([]byte, error) {
		at, ok := places[s.key]
		if !ok {
			return nil, formatError("storage %q has no values in the file", s.key)
		}
		b := make([]byte, s.numel*s.dtype.size) // storagePlaces saw that it fits the file
		return b, safetensors.ReadAt(r, b, at, formatError)
	})
}

func checkSystem(in *input) error {
	v, err := run(in, nil)
	if err != nil {
		return err
	}
	d, ok := v.(*dict)
	if !ok {
		return formatError("facts about its writer are %s: want a dictionary", kind(v))
	}
	if little, _ := d.find("little_endian"); little != value(true) {
		return formatError("was not written as little-endian")
	}
	return nil
}

// storagePlaces reads the list of keys and finds where the elements of each
// storage begin; they must fill the rest of the file exactly.
func storagePlaces(in *input, r io.ReaderAt, stores *storages) (map[string]int64, error) {
	v, err := run(in, nil)
	if err != nil {
		return nil, err
	}
	keys, ok := v.(*list)
	if !ok {
		return nil, formatError("keys of storages are %s: want a list", kind(v))
	}
	places := make(map[string]int64, len(keys.items))
	at := in.pos
	for _, item := range keys.items {
		key, ok := item.(string)
		s := stores.byKey[key]
		if !ok || s == nil {
			return nil, formatError("values are there for a storage %v that nothing uses", item)
		}
		if _, dup := places[key]; dup {
			return nil, formatError("values of storage %q are there twice", key)
		}
		var count [8]byte
		if in.size-at < 8 {
			return nil, formatError("cut short before storage %q", key)
		}
		if err := safetensors.ReadAt(r, count[:], at, formatError); err != nil {
			return nil, err
		}
		at += 8
		if n := binary.LittleEndian.Uint64(count[:]); n != uint64(s.numel) {
			return nil, formatError("storage %q has %d elements, its tensors expect %d", key, n, s.numel)
		}
		if s.numel > (in.size-at)/s.dtype.size {
			return nil, formatError("storage %q of %d %s reaches beyond the file", key, s.numel, s.dtype.name)
		}
		places[key] = at
		at += s.numel * s.dtype.size
	}
	if at != in.size {
		return nil, formatError("%d bytes after the last storage", in.size-at)
	}
	return places, nil
}
