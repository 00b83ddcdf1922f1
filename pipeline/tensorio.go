package pipeline

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"enhance/internal/atomicfile"
	"enhance/model"
	"enhance/raw"
)

// maxTensorSide bounds what is asked of FormulaInput, whose size no file bounds.
const maxTensorSide = 1 << 16

// ParseSize reads columns and rows, "WxH".
func ParseSize(s string) (w, h int, err error) {
	a, b, ok := strings.Cut(strings.ToLower(s), "x")
	w, werr := strconv.Atoi(a)
	h, herr := strconv.Atoi(b)
	if !ok || herr != nil || werr != nil || h < 1 || w < 1 || h > maxTensorSide || w > maxTensorSide {
		return 0, 0, optionErrorf("size", "%q: want columns x rows, such as 3968x2880, each from 1 to %d", s, maxTensorSide)
	}
	return w, h, nil
}

// ParseShape reads channels, rows and columns, "C,H,W".
func ParseShape(s string) (model.Shape, error) {
	var v [3]int
	fields := strings.Split(s, ",")
	for i, f := range fields {
		n, err := strconv.Atoi(strings.TrimSpace(f))
		if err != nil || len(fields) != 3 || n < 1 || n > maxTensorSide {
			return model.Shape{}, optionErrorf("shape", "%q: want channels,rows,columns, such as 4,96,128, each of 1 to %d", s, maxTensorSide)
		}
		v[i] = n
	}
	if len(fields) != 3 {
		return model.Shape{}, optionErrorf("shape", "%q: want channels,rows,columns, such as 4,96,128", s)
	}
	return model.Shape{C: v[0], H: v[1], W: v[2]}, nil
}

// OpenTensor reads the tensor that a specification names: "formula:SEED:WxH",
// the formula input of so many packed columns and rows with c channels (see
// model.FormulaTensor), or the path of a file of little-endian float32 of the
// given shape.
func OpenTensor(spec string, c int, shape model.Shape) (*Tensor, error) {
	if rest, ok := strings.CutPrefix(spec, "formula:"); ok {
		at := strings.LastIndexByte(rest, ':')
		if at <= 0 {
			return nil, optionErrorf("input", "%q: want formula:SEED:WxH, such as formula:gold:128x96", spec)
		}
		w, h, err := ParseSize(rest[at+1:])
		if err != nil {
			return nil, optionErrorf("input", "%q: want formula:SEED:WxH, such as formula:gold:128x96, sides of 1 to %d", spec, maxTensorSide)
		}
		s := model.Shape{C: c, H: h, W: w}
		return &Tensor{s, model.FormulaTensor(rest[:at], "input", int(s.Elems()))}, nil
	}
	if shape == (model.Shape{}) {
		return nil, optionErrorf("shape", "a file of samples does not say its shape: give --shape C,H,W")
	}
	data, err := ReadFloats(spec, shape.Elems())
	if err != nil {
		return nil, err
	}
	return &Tensor{shape, data}, nil
}

// ReadFloats reads a file that holds n little-endian float32 and nothing else.
func ReadFloats(path string, n int64) ([]float32, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &FileError{Path: path, Err: err}
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, &FileError{Path: path, Err: err}
	}
	if info.Mode().IsRegular() && info.Size() != 4*n {
		return nil, &FileError{Path: path, Err: &raw.FormatError{Where: "tensor",
			Problem: fmt.Sprintf("%d bytes are not %d float32 samples (%d bytes)", info.Size(), n, 4*n)}}
	}
	v := []float32{}
	buf := make([]byte, 1<<16)
	for r := bufio.NewReader(f); int64(len(v)) < n; {
		part := buf[:min(int64(len(buf)), 4*(n-int64(len(v))))]
		if _, err := io.ReadFull(r, part); err != nil {
			return nil, &FileError{Path: path, Err: &raw.FormatError{Where: "tensor", Problem: fmt.Sprintf("ends after %d of %d samples", len(v), n), Err: err}}
		}
		for i := 0; i < len(part); i += 4 {
			v = append(v, math.Float32frombits(binary.LittleEndian.Uint32(part[i:])))
		}
	}
	return v, nil
}

// WriteFloats writes samples as little-endian float32 to a file that appears
// whole or not at all.
func WriteFloats(path string, v []float32, overwrite bool) error {
	f, err := atomicfile.Create(path, atomicfile.Options{Overwrite: overwrite})
	if err != nil {
		return err
	}
	defer f.Abort()
	if err := PutFloats(f, v); err != nil {
		return err
	}
	return f.Commit()
}

// PutFloats writes samples as little-endian float32.
func PutFloats(w io.Writer, v []float32) error {
	buf := make([]byte, 0, 1<<16)
	for len(v) > 0 {
		n := min(len(v), cap(buf)/4)
		buf = buf[:0]
		for _, x := range v[:n] {
			buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(x))
		}
		if _, err := w.Write(buf); err != nil {
			return err
		}
		v = v[n:]
	}
	return nil
}
