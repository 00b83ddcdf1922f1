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

// header is the JSON object at the start of a file, as it is put together.
type header struct{ bytes.Buffer }

func (h *header) field(name string, value any) error {
	if !utf8.ValidString(name) {
		return fmt.Errorf("safetensors: name %q is not valid UTF-8", name)
	}
	key, err := json.Marshal(name)
	if err != nil {
		return err
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if h.Len() > 1 {
		h.WriteByte(',')
	}
	h.Write(key)
	h.WriteByte(':')
	h.Write(text)
	return nil
}

// end closes the object and pads it with spaces.
func (h *header) end() ([]byte, error) {
	h.WriteByte('}')
	for h.Len()%8 != 0 {
		h.WriteByte(' ')
	}
	if h.Len() > maxHeader {
		return nil, fmt.Errorf("safetensors: a header of %d bytes is more than the format's %d", h.Len(), maxHeader)
	}
	return h.Bytes(), nil
}

// makeHeader gives the header with its padding, and the tensors' names in the order of their values.
func makeHeader(f *File) (text []byte, names []string, err error) {
	var h header
	h.WriteByte('{')
	if len(f.Meta) > 0 {
		for key, value := range f.Meta {
			if !utf8.ValidString(key) || !utf8.ValidString(value) {
				return nil, nil, fmt.Errorf("safetensors: metadata %q is not valid UTF-8", key)
			}
		}
		if err := h.field("__metadata__", f.Meta); err != nil {
			return nil, nil, err
		}
	}
	names = slices.Sorted(maps.Keys(f.Tensors))
	at := int64(0)
	for _, name := range names {
		t := f.Tensors[name]
		dtype, err := checkTensor(name, t, f.Integers[name])
		if err != nil {
			return nil, nil, err
		}
		end := at + dtypeSize[dtype]*int64(len(t.Data))
		err = h.field(name, struct {
			DType   string   `json:"dtype"`
			Shape   []int    `json:"shape"`
			Offsets [2]int64 `json:"data_offsets"`
		}{dtype, append([]int{}, t.Shape...), [2]int64{at, end}})
		if err != nil {
			return nil, nil, err
		}
		at = end
	}
	text, err = h.end()
	return text, names, err
}

// checkTensor gives the type that a tensor is written as.
func checkTensor(name string, t *Tensor, integers bool) (dtype string, err error) {
	if name == "__metadata__" {
		return "", fmt.Errorf("safetensors: a tensor cannot be named %q", name)
	}
	if len(t.Shape) > maxDims {
		return "", fmt.Errorf("safetensors: tensor %q has %d dimensions, more than %d", name, len(t.Shape), maxDims)
	}
	for _, d := range t.Shape {
		if d < 0 {
			return "", fmt.Errorf("safetensors: tensor %q has the negative dimension %d", name, d)
		}
	}
	if elements(t.Shape, int64(len(t.Data))) != int64(len(t.Data)) {
		return "", fmt.Errorf("safetensors: tensor %q of shape %v has %d values", name, t.Shape, len(t.Data))
	}
	if !integers {
		return "F32", nil
	}
	if slices.ContainsFunc(t.Data, func(v float32) bool { return !(v >= -128 && v <= 127) || v != float32(int8(v)) }) {
		return "", fmt.Errorf("safetensors: tensor %q to be written as I8 holds more than integers of -128..127", name)
	}
	return "I8", nil
}
