package onnx

import (
	"encoding/binary"
	"math"
)

// NewFile is a network that was read from another format, whose files have size bytes together, in ONNX's
// operations of an opset.
func NewFile(g *Graph, format string, opset, size int64) *File {
	return &File{IR: 8, Opsets: map[string]int64{"": opset}, Producer: format, Meta: map[string]string{}, Graph: g, Format: format, size: size}
}

// NewTensor is a constant whose elements are b, little-endian.
func NewTensor(name string, t Type, dims []int64, b []byte) *Tensor {
	return &Tensor{Name: name, Type: t, Dims: dims, raw: b, hasRaw: true, file: &File{}}
}

// FloatBytes are the bytes of float32 elements.
func FloatBytes(values []float32) []byte {
	b := make([]byte, 0, 4*len(values))
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// IntBytes are the bytes of int64 elements.
func IntBytes(values []int64) []byte {
	b := make([]byte, 0, 8*len(values))
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	return b
}
