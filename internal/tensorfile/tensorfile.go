// Package tensorfile reads and writes bare tensors: files of little-endian float32
// without a header, and the formula inputs of tests. Start at [Open].
package tensorfile

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strconv"
	"strings"

	"enhance/internal/atomicfile"
	"enhance/internal/regularfile"
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

// Open reads the tensor that a specification names: "formula:SEED:WxH",
// the formula input of so many packed columns and rows with c channels (see
// model.FormulaTensor), or the path of a file of little-endian float32 of the
// given shape.
func Open(spec string, c int, shape model.Shape) (model.Shape, []float32, error) {
	if rest, ok := strings.CutPrefix(spec, "formula:"); ok {
		at := strings.LastIndexByte(rest, ':')
		if at <= 0 {
			return model.Shape{}, nil, optionErrorf("input", "%q: want formula:SEED:WxH, such as formula:gold:128x96", spec)
		}
		w, h, err := ParseSize(rest[at+1:])
		if err != nil {
			return model.Shape{}, nil, optionErrorf("input", "%q: want formula:SEED:WxH, such as formula:gold:128x96, sides of 1 to %d", spec, maxTensorSide)
		}
		s := model.Shape{C: c, H: h, W: w}
		return s, model.FormulaTensor(rest[:at], "input", int(s.Elems())), nil
	}
	if shape == (model.Shape{}) {
		return shape, nil, optionErrorf("shape", "a file of samples does not say its shape: give --shape C,H,W")
	}
	data, err := Read(spec, shape.Elems())
	return shape, data, err
}

// Read reads a file that holds n little-endian float32 and nothing else.
func Read(path string, n int64) ([]float32, error) {
	f, size, err := regularfile.Open(path)
	if err != nil {
		return nil, fileError(path, err)
	}
	defer f.Close()
	if size != 4*n {
		return nil, fileError(path, &raw.FormatError{Where: "tensor",
			Problem: fmt.Sprintf("%d bytes are not %d float32 samples (%d bytes)", size, n, 4*n)})
	}
	v := []float32{}
	buf := make([]byte, 1<<16)
	for r := bufio.NewReader(f); int64(len(v)) < n; {
		part := buf[:min(int64(len(buf)), 4*(n-int64(len(v))))]
		if _, err := io.ReadFull(r, part); err != nil {
			return nil, fileError(path, &raw.FormatError{Where: "tensor", Problem: fmt.Sprintf("ends after %d of %d samples", len(v), n), Err: err})
		}
		for i := 0; i < len(part); i += 4 {
			v = append(v, math.Float32frombits(binary.LittleEndian.Uint32(part[i:])))
		}
	}
	return v, nil
}

// Write writes samples as little-endian float32 to a file that appears
// whole or not at all.
func Write(path string, v []float32, overwrite bool) error {
	f, err := atomicfile.Create(path, atomicfile.Options{Overwrite: overwrite})
	if err != nil {
		return err
	}
	defer f.Abort()
	if err := Put(f, v); err != nil {
		return err
	}
	return f.Commit()
}

// Put writes samples as little-endian float32.
func Put(w io.Writer, v []float32) error {
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

// Compare gives the largest absolute difference of two tensors' samples
// and the PSNR of got against want in dB for a peak of 1, which is +Inf if they
// are equal. It fails if their lengths differ.
func Compare(got, want []float32) (maxAbs, psnr float64, err error) {
	if len(got) != len(want) {
		return 0, 0, fmt.Errorf("%d samples against %d", len(got), len(want))
	}
	sum := 0.0
	for i, v := range got {
		d := math.Abs(float64(v) - float64(want[i]))
		maxAbs = max(maxAbs, d) // NaN if any is
		sum += d * d
	}
	return maxAbs, -10 * math.Log10(sum/float64(len(got))), nil
}

// fileError names the file in an error of reading it.
func fileError(path string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) && pe.Path == path {
		return &named{fmt.Sprintf("%s: cannot %s: %v", path, pe.Op, pe.Err), err}
	}
	return fmt.Errorf("%s: %w", path, err)
}

// named is an error with a text of its own.
type named struct {
	text  string
	error // the cause
}

func (e *named) Error() string { return e.text }
func (e *named) Unwrap() error { return e.error }

func optionErrorf(option, format string, args ...any) error {
	return &raw.OptionError{Option: option, Problem: fmt.Sprintf(format, args...)}
}
