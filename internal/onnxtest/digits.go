package onnxtest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/binary"
	"io"
	"math"
)

//go:embed testdata/digits.tar.gz
var digitsTar []byte

// Digits are two trained networks, fully connected and convolutional, pictures of 28×28 for them
// and what PyTorch makes of these. scripts/onnxnets/digits.py trained and drew them.
type Digits struct {
	Nets     map[string][]byte      // ONNX files by "dense" and "conv"
	Logits   map[string][][]float32 // of every picture
	Pictures [][]float32            // 0 to 1
	Codes    [][]byte               // the same, 0 to 255
}

// ReadDigits unpacks them.
func ReadDigits() (*Digits, error) {
	z, err := gzip.NewReader(bytes.NewReader(digitsTar))
	if err != nil {
		return nil, err
	}
	d := &Digits{Nets: map[string][]byte{}, Logits: map[string][][]float32{}}
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if err == io.EOF {
			return d, nil
		}
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(t)
		if err != nil {
			return nil, err
		}
		switch h.Name {
		case "dense.onnx", "conv.onnx":
			d.Nets[h.Name[:len(h.Name)-5]] = data
		case "dense.f32", "conv.f32":
			for ; len(data) > 0; data = data[40:] {
				row := make([]float32, 10)
				for i := range row {
					row[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
				}
				d.Logits[h.Name[:len(h.Name)-4]] = append(d.Logits[h.Name[:len(h.Name)-4]], row)
			}
		case "digits.u8":
			for ; len(data) > 0; data = data[784:] {
				picture := make([]float32, 784)
				for i, v := range data[:784] {
					picture[i] = float32(v) / 255
				}
				d.Codes, d.Pictures = append(d.Codes, data[:784]), append(d.Pictures, picture)
			}
		}
	}
}
