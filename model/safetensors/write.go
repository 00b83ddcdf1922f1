package safetensors

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"unicode/utf8"
)

// Write writes f with its tensors as F32, or I8, in the order of their names, so that
// equal files are equal bytes. The values start at a multiple of 8 bytes.
func Write(w io.Writer, f *File) error {
	header, names, err := makeHeader(f)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 1<<16)
	var prefix [8]byte
	binary.LittleEndian.PutUint64(prefix[:], uint64(len(header)))
	out.Write(prefix[:]) // bufio keeps the first error for Flush
	out.Write(header)
	for _, name := range names {
		for _, v := range f.Tensors[name].Data {
			if f.Integers[name] {
				out.WriteByte(byte(int8(v)))
				continue
			}
			var b [4]byte
			binary.LittleEndian.PutUint32(b[:], math.Float32bits(v))
			out.Write(b[:])
		}
	}
	return out.Flush()
}

func makeHeader(f *File) (header []byte, names []string, err error) {
	type place struct {
		DType   string   `json:"dtype"`
		Shape   []int    `json:"shape"`
		Offsets [2]int64 `json:"data_offsets"`
	}
	var b bytes.Buffer
	field := func(name string, value any) error {
		if !utf8.ValidString(name) {
			return fmt.Errorf("safetensors: name %q is not valid UTF-8", name)
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(name)
		if err != nil {
			return err
		}
		text, err := json.Marshal(value)
		if err != nil {
			return err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(text)
		return nil
	}
	b.WriteByte('{')
	if len(f.Meta) > 0 {
		for key, value := range f.Meta {
			if !utf8.ValidString(key) || !utf8.ValidString(value) {
				return nil, nil, fmt.Errorf("safetensors: metadata %q is not valid UTF-8", key)
			}
		}
		if err := field("__metadata__", f.Meta); err != nil {
			return nil, nil, err
		}
	}
	names = slices.Sorted(maps.Keys(f.Tensors))
	at := int64(0)
	for _, name := range names {
		t := f.Tensors[name]
		if err := checkTensor(name, t); err != nil {
			return nil, nil, err
		}
		dtype := "F32"
		if f.Integers[name] {
			dtype = "I8"
			if slices.ContainsFunc(t.Data, func(v float32) bool { return !(v >= -128 && v <= 127) || v != float32(int8(v)) }) {
				return nil, nil, fmt.Errorf("safetensors: tensor %q to be written as I8 holds more than integers of -128..127", name)
			}
		}
		end := at + dtypeSize[dtype]*int64(len(t.Data))
		if err := field(name, place{dtype, append([]int{}, t.Shape...), [2]int64{at, end}}); err != nil {
			return nil, nil, err
		}
		at = end
	}
	b.WriteByte('}')
	for b.Len()%8 != 0 {
		b.WriteByte(' ')
	}
	if b.Len() > maxHeader {
		return nil, nil, fmt.Errorf("safetensors: a header of %d bytes is more than the format's %d", b.Len(), maxHeader)
	}
	return b.Bytes(), names, nil
}

func checkTensor(name string, t *Tensor) error {
	if name == "__metadata__" {
		return fmt.Errorf("safetensors: a tensor cannot be named %q", name)
	}
	if len(t.Shape) > maxDims {
		return fmt.Errorf("safetensors: tensor %q has %d dimensions, more than %d", name, len(t.Shape), maxDims)
	}
	for _, d := range t.Shape {
		if d < 0 {
			return fmt.Errorf("safetensors: tensor %q has the negative dimension %d", name, d)
		}
	}
	if elements(t.Shape, int64(len(t.Data))) != int64(len(t.Data)) {
		return fmt.Errorf("safetensors: tensor %q of shape %v has %d values", name, t.Shape, len(t.Data))
	}
	return nil
}
