package onnx

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protowire"
)

// Type is the type of a tensor's elements.
type Type int64

const (
	Float    Type = 1
	Uint8    Type = 2
	Int8     Type = 3
	Uint16   Type = 4
	Int16    Type = 5
	Int32    Type = 6
	Int64    Type = 7
	String   Type = 8
	Bool     Type = 9
	Float16  Type = 10
	Double   Type = 11
	Uint32   Type = 12
	Uint64   Type = 13
	BFloat16 Type = 16
)

var typeNames = map[Type]string{Float: "float32", Uint8: "uint8", Int8: "int8", Uint16: "uint16", Int16: "int16", Int32: "int32",
	Int64: "int64", String: "string", Bool: "bool", Float16: "float16", Double: "float64", Uint32: "uint32", Uint64: "uint64", BFloat16: "bfloat16"}

var typeBytes = map[Type]int64{Float: 4, Uint8: 1, Int8: 1, Uint16: 2, Int16: 2, Int32: 4, Int64: 8, Bool: 1, Float16: 2, Double: 8, Uint32: 4, Uint64: 8, BFloat16: 2}

func (t Type) String() string {
	if name := typeNames[t]; name != "" {
		return name
	}
	return fmt.Sprintf("element type %d", int64(t))
}

// Real reports whether elements are fractions.
func (t Type) Real() bool { return t == Float || t == Float16 || t == Double || t == BFloat16 }

// Tensor is a constant. Its elements stay in the file's bytes, or in a file beside it, until
// Floats or Ints reads them.
type Tensor struct {
	Name string
	Type Type
	Dims []int64

	raw      []byte
	hasRaw   bool
	typed    [][]byte // contents of the field for the type, packed, in order
	external map[string]string
	counted  bool // its external data are in file.external
	file     *File

	floats atomic.Pointer[[]float32] // what Floats gave
}

// typedField is the field that holds the elements of a type if raw_data does not.
var typedField = map[Type]protowire.Number{Float: 4, Int32: 5, Int16: 5, Int8: 5, Uint16: 5, Uint8: 5, Bool: 5, Float16: 5, BFloat16: 5,
	Int64: 7, Double: 10, Uint32: 11, Uint64: 11}

func (p *parser) tensor(b []byte) (*Tensor, error) {
	t := &Tensor{file: p.file}
	data, location := map[protowire.Number][][]byte{}, int64(0)
	err := fields("tensor", b, func(d field) error {
		switch d.num {
		case 1:
			if err := d.integers("tensor", &t.Dims); err != nil {
				return err
			}
			if len(t.Dims) > maxRank {
				return formatError("a tensor of more than %d dimensions", maxRank)
			}
		case 2:
			return d.integer("tensor", (*int64)(&t.Type))
		case 4, 5, 7, 10, 11:
			if d.wire != protowire.BytesType { // an element that is not packed
				d.bytes = unpacked(d)
			}
			data[d.num] = append(data[d.num], d.bytes)
			return p.count("tensor")
		case 8:
			return d.text("tensor", &t.Name)
		case 9:
			t.hasRaw, t.raw = true, d.bytes
			_, err := d.message("tensor")
			return err
		case 13:
			key, value, err := pair(d, "external data")
			if err != nil {
				return err
			}
			if t.external == nil {
				t.external = map[string]string{}
			}
			t.external[key] = value
			return p.count("external data")
		case 14:
			return d.integer("tensor", &location)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if location != 1 {
		t.external = nil
	} else if t.external == nil {
		return nil, formatError("tensor %q lies in another file that is not named", t.Name)
	} else {
		t.file.beside = true
	}
	t.typed = data[typedField[t.Type]]
	if _, err := t.Len(); err != nil {
		return nil, err
	}
	return t, p.count("tensor")
}

// unpacked is a single element as it would be packed.
func unpacked(d field) []byte {
	switch d.wire {
	case protowire.Fixed32Type:
		return protowire.AppendFixed32(nil, uint32(d.value))
	case protowire.Fixed64Type:
		return protowire.AppendFixed64(nil, d.value)
	}
	return protowire.AppendVarint(nil, d.value)
}

// Len is the number of elements.
func (t *Tensor) Len() (int64, error) {
	n := int64(1)
	for _, d := range t.Dims {
		if d < 0 || d > 0 && n > math.MaxInt64/8/d {
			return 0, formatError("tensor %q has the shape %v", t.Name, t.Dims)
		}
		n *= d
	}
	return n, nil
}

// bytes gives the elements in little-endian order.
func (t *Tensor) bytes() ([]byte, error) {
	n, err := t.Len()
	if err != nil {
		return nil, err
	}
	size, known := typeBytes[t.Type]
	if !known {
		return nil, formatError("tensor %q holds %v, which is not read", t.Name, t.Type)
	}
	want := n * size
	switch {
	case t.external != nil:
		return t.readExternal(want)
	case t.hasRaw:
		if int64(len(t.raw)) != want {
			return nil, formatError("tensor %q of shape %v and %v has %d bytes, not %d", t.Name, t.Dims, t.Type, len(t.raw), want)
		}
		return t.raw, nil
	}
	return t.pack(n, size)
}

// pack turns typed data into bytes.
func (t *Tensor) pack(n, size int64) ([]byte, error) {
	total := int64(0)
	for _, b := range t.typed {
		total += int64(len(b))
	}
	if n > total { // an element has at least one byte
		return nil, formatError("tensor %q of shape %v has data for %d elements at most", t.Name, t.Dims, total)
	}
	out := make([]byte, 0, n*size)
	for _, b := range t.typed {
		for len(b) > 0 {
			v, k := uint64(0), 0
			switch t.Type {
			case Float:
				var u uint32
				u, k = protowire.ConsumeFixed32(b)
				v = uint64(u)
			case Double:
				v, k = protowire.ConsumeFixed64(b)
			default:
				v, k = protowire.ConsumeVarint(b)
			}
			if k < 0 {
				return nil, formatError("tensor %q: its data ends within an element", t.Name)
			}
			if b = b[k:]; int64(len(out)) == n*size {
				return nil, formatError("tensor %q of shape %v has data for more than %d elements", t.Name, t.Dims, n)
			}
			out = append(out, binary.LittleEndian.AppendUint64(nil, v)[:size]...)
		}
	}
	if int64(len(out)) != n*size {
		return nil, formatError("tensor %q of shape %v has %d elements", t.Name, t.Dims, int64(len(out))/size)
	}
	return out, nil
}

// Floats reads the elements as float32; 64-bit ones are rounded. It reads once: a network that is imported at
// several sizes has its weights in memory once, and nobody may change them.
func (t *Tensor) Floats() ([]float32, error) {
	if made := t.floats.Load(); made != nil {
		return *made, nil
	}
	made, err := t.readFloats()
	if err != nil {
		return nil, err
	}
	t.floats.Store(&made)
	return made, nil
}

func (t *Tensor) readFloats() ([]float32, error) {
	b, err := t.bytes()
	if err != nil {
		return nil, err
	}
	if !t.Type.Real() {
		v, err := t.Ints()
		out := make([]float32, len(v))
		for i, x := range v {
			out[i] = float32(x)
		}
		return out, err
	}
	size := int(typeBytes[t.Type])
	out := make([]float32, len(b)/size)
	for i := range out {
		switch e := b[i*size:]; t.Type {
		case Float:
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(e))
		case Double:
			out[i] = float32(math.Float64frombits(binary.LittleEndian.Uint64(e)))
		case Float16:
			out[i] = half(binary.LittleEndian.Uint16(e))
		case BFloat16:
			out[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(e)) << 16)
		}
	}
	return out, nil
}

// Ints reads the elements of a type of integers, or bool.
func (t *Tensor) Ints() ([]int64, error) {
	b, err := t.bytes()
	if err != nil {
		return nil, err
	}
	if t.Type.Real() {
		return nil, formatError("tensor %q holds %v where integers belong", t.Name, t.Type)
	}
	size := int(typeBytes[t.Type])
	out := make([]int64, len(b)/size)
	for i := range out {
		switch e := b[i*size:]; t.Type {
		case Uint8, Bool:
			out[i] = int64(e[0])
		case Int8:
			out[i] = int64(int8(e[0]))
		case Uint16:
			out[i] = int64(binary.LittleEndian.Uint16(e))
		case Int16:
			out[i] = int64(int16(binary.LittleEndian.Uint16(e)))
		case Uint32:
			out[i] = int64(binary.LittleEndian.Uint32(e))
		case Int32:
			out[i] = int64(int32(binary.LittleEndian.Uint32(e)))
		case Int64, Uint64: // numbers above 2⁶³ are nowhere of use
			out[i] = int64(binary.LittleEndian.Uint64(e))
		}
	}
	return out, nil
}

// half converts a binary16.
func half(h uint16) float32 {
	sign, exp, frac := uint32(h>>15)<<31, uint32(h>>10&31), uint32(h&1023)
	switch {
	case exp == 31:
		return math.Float32frombits(sign | 0xff<<23 | frac<<13)
	case exp == 0:
		v := float32(frac) / (1 << 24)
		return math.Float32frombits(sign | math.Float32bits(v))
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}

// ParseTensor reads a file that is a tensor alone, as the ONNX project's tests have. Its bytes are kept.
func ParseTensor(b []byte) (*Tensor, error) {
	return (&parser{file: &File{size: int64(len(b))}}).tensor(b)
}
