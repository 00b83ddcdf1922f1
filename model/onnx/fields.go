package onnx

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// field is one field of a message: a number, or bytes that lie in the file's.
type field struct {
	num   protowire.Number
	wire  protowire.Type
	value uint64
	bytes []byte
}

// fields calls do for every field of message b, which what names in errors.
func fields(what string, b []byte, do func(field) error) error {
	for len(b) > 0 {
		num, wire, n := protowire.ConsumeTag(b)
		if n < 0 {
			return formatError("%s: a field begins with bytes that are no tag", what)
		}
		b = b[n:]
		f := field{num: num, wire: wire}
		switch wire {
		case protowire.VarintType:
			f.value, n = protowire.ConsumeVarint(b)
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(b)
			f.value = uint64(v)
		case protowire.Fixed64Type:
			f.value, n = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(b)
		default: // groups, which ONNX never had
			return formatError("%s: field %d has the wire type %d", what, num, wire)
		}
		if n < 0 {
			return formatError("%s: field %d reaches beyond its end, %d bytes later", what, num, len(b))
		}
		b = b[n:]
		if err := do(f); err != nil {
			return err
		}
	}
	return nil
}

// message gives the bytes of a field that holds a message or a string.
func (f field) message(what string) ([]byte, error) {
	if f.wire != protowire.BytesType {
		return nil, formatError("%s: field %d is a number, not bytes", what, f.num)
	}
	return f.bytes, nil
}

func (f field) text(what string, to *string) error {
	b, err := f.message(what)
	*to = string(b)
	return err
}

// integer gives the number of a field that holds one.
func (f field) integer(what string, to *int64) error {
	if f.wire != protowire.VarintType {
		return formatError("%s: field %d is not an integer", what, f.num)
	}
	*to = int64(f.value)
	return nil
}

// maxList bounds the elements of all lists that are not weights.
const maxList = 1 << 22

// integers appends the numbers of a repeated field, packed or not.
func (f field) integers(what string, to *[]int64) error {
	if f.wire == protowire.VarintType {
		*to = append(*to, int64(f.value))
		return tooLong(what, len(*to))
	}
	b, err := f.message(what)
	if err != nil {
		return err
	}
	for len(b) > 0 {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return formatError("%s: field %d ends within a number", what, f.num)
		}
		*to, b = append(*to, int64(v)), b[n:]
		if err := tooLong(what, len(*to)); err != nil {
			return err
		}
	}
	return nil
}

// floats appends the numbers of a repeated field of float32.
func (f field) floats(what string, to *[]float32) error {
	if f.wire == protowire.Fixed32Type {
		*to = append(*to, math.Float32frombits(uint32(f.value)))
		return tooLong(what, len(*to))
	}
	b, err := f.message(what)
	if err != nil {
		return err
	}
	for len(b) > 0 {
		v, n := protowire.ConsumeFixed32(b)
		if n < 0 {
			return formatError("%s: field %d ends within a number", what, f.num)
		}
		*to, b = append(*to, math.Float32frombits(v)), b[n:]
		if err := tooLong(what, len(*to)); err != nil {
			return err
		}
	}
	return nil
}

func tooLong(what string, n int) error {
	if n > maxList {
		return formatError("%s: a list of more than %d elements that is no tensor", what, maxList)
	}
	return nil
}
