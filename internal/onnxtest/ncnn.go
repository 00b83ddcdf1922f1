package onnxtest

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// NCNN is a small network of the ncnn framework for tests.
type NCNN struct {
	lines []string
	blobs int
	Bin   []byte
	Half  bool // weights that have a tag are stored as fp16
}

// Layer adds a line. In and out are names with spaces between them, params is key=value with spaces between them.
func (n *NCNN) Layer(kind, in, out, params string) *NCNN {
	ins, outs := strings.Fields(in), strings.Fields(out)
	n.blobs += len(outs)
	n.lines = append(n.lines, strings.Join(strings.Fields(fmt.Sprintf("%s l%d %d %d %s %s %s", kind, len(n.lines), len(ins), len(outs), in, out, params)), " "))
	return n
}

// Tagged adds weights behind a tag, as convolutions and matrices have them.
func (n *NCNN) Tagged(values []float32) *NCNN {
	if !n.Half {
		n.Bin = binary.LittleEndian.AppendUint32(n.Bin, 0)
		return n.Raw(values)
	}
	n.Bin = binary.LittleEndian.AppendUint32(n.Bin, 0x01306B47)
	for _, v := range values {
		n.Bin = binary.LittleEndian.AppendUint16(n.Bin, halfOf(v))
	}
	for len(n.Bin)%4 != 0 {
		n.Bin = append(n.Bin, 0)
	}
	return n
}

// Raw adds weights without one.
func (n *NCNN) Raw(values []float32) *NCNN {
	for _, v := range values {
		n.Bin = binary.LittleEndian.AppendUint32(n.Bin, math.Float32bits(v))
	}
	return n
}

// Param is the text file.
func (n *NCNN) Param() []byte {
	return []byte(fmt.Sprintf("7767517\n%d %d\n%s\n", len(n.lines), n.blobs, strings.Join(n.lines, "\n")))
}

// Doubler makes a picture of three channels twice as large by a convolution and a shuffle, written for ncnn and as ONNX.
func Doubler() (*NCNN, *Net) {
	weight, bias := make([]float32, 12*3*9), make([]float32, 12)
	for i := range weight {
		weight[i] = float32(i%17-8) / 64
	}
	for i := range bias {
		bias[i] = float32(i) / 32
	}
	n := &NCNN{}
	n.Layer("Input", "", "data", "").Layer("Convolution", "data", "mid", "0=12 1=3 4=1 5=1 6=324").Tagged(weight).Raw(bias)
	n.Layer("PixelShuffle", "mid", "output", "0=2")
	return n, &Net{Opset: 18, Inputs: []Value{{Name: "data", Dims: []int64{1, 3, -1, -1}}}, Outputs: []Value{{Name: "output", Dims: []int64{1, 3, -1, -1}}},
		Init: []Tensor{{Name: "w", Dims: []int64{12, 3, 3, 3}, Floats: weight}, {Name: "b", Dims: []int64{12}, Floats: bias}},
		Nodes: []Node{{Op: "Conv", In: []string{"data", "w", "b"}, Out: []string{"mid"}, Attrs: map[string]any{"pads": []int64{1, 1, 1, 1}}},
			{Op: "DepthToSpace", In: []string{"mid"}, Out: []string{"output"}, Attrs: map[string]any{"blocksize": 2, "mode": "CRD"}}}}
}

// halfOf is the binary16 that is v, which must be a normal one.
func halfOf(v float32) uint16 {
	b := math.Float32bits(v)
	if v == 0 {
		return uint16(b >> 16)
	}
	return uint16(b>>16&0x8000 | (b>>23&255-112)<<10 | b>>13&1023)
}
