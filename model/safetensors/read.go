package safetensors

import (
	"encoding/binary"
	"io"
	"math"
)

// Read reads the size bytes of r as a safetensors file. An error of the format
// is a FormatError; others come from r. It allocates no more than the header,
// the values as float32 and a small buffer, all bounded by size.
func Read(r io.ReaderAt, size int64) (*File, error) {
	if size < 8 {
		return nil, formatError("%d bytes are too few for a header", size)
	}
	var prefix [8]byte
	if err := ReadAt(r, prefix[:], 0, formatError); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(prefix[:])
	if n > uint64(size-8) || n > maxHeader {
		return nil, formatError("header of %d bytes in a file of %d bytes (at most %d)", n, size, maxHeader)
	}
	header := make([]byte, n)
	if err := ReadAt(r, header, 8, formatError); err != nil {
		return nil, err
	}
	start := 8 + int64(n)
	entries, meta, err := parseHeader(header, size-start)
	if err != nil {
		return nil, err
	}
	f := &File{Tensors: make(map[string]*Tensor, len(entries)), Meta: meta}
	for i := range entries {
		e := &entries[i]
		data, err := readValues(r, start+e.begin, e.elems, e.dtype)
		if err != nil {
			return nil, err
		}
		f.Tensors[e.name] = &Tensor{Shape: e.shape, Data: data}
	}
	return f, nil
}

// ReadAt fills p from offset. A file that ends early is the error that damaged makes of a
// format and its arguments.
func ReadAt(r io.ReaderAt, p []byte, offset int64, damaged func(string, ...any) error) error {
	n, err := r.ReadAt(p, offset)
	if n == len(p) {
		return nil
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return damaged("the file ends at byte %d, before its size", offset+int64(n))
	}
	return err
}

// readValues reads n values of a dtype at offset, converting them to float32.
func readValues(r io.ReaderAt, offset, n int64, dtype string) ([]float32, error) {
	size := dtypeSize[dtype]
	out := make([]float32, n)
	buffer := make([]byte, min(n, 1<<15)*size)
	for done := int64(0); done < n; {
		count := min(n-done, 1<<15)
		chunk := buffer[:count*size]
		if err := ReadAt(r, chunk, offset+done*size, formatError); err != nil {
			return nil, err
		}
		Convert(out[done:done+count], chunk, dtype)
		done += count
	}
	return out, nil
}

// Convert fills dst from little-endian elements of dtype F64, F32, F16, BF16 or I8.
// It panics for another dtype or if src is shorter than dst needs.
func Convert(dst []float32, src []byte, dtype string) {
	le := binary.LittleEndian
	switch dtype {
	case "F64":
		for i := range dst {
			dst[i] = float32(math.Float64frombits(le.Uint64(src[8*i:])))
		}
	case "F32":
		for i := range dst {
			dst[i] = math.Float32frombits(le.Uint32(src[4*i:]))
		}
	case "F16":
		for i := range dst {
			dst[i] = float16(le.Uint16(src[2*i:]))
		}
	case "BF16":
		for i := range dst {
			dst[i] = bfloat16(le.Uint16(src[2*i:]))
		}
	case "I8":
		for i := range dst {
			dst[i] = float32(int8(src[i]))
		}
	default:
		panic("safetensors: Convert of dtype " + dtype)
	}
}
