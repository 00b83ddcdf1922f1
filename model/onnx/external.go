package onnx

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// maxExternal bounds the external data of all tensors of a file together.
const maxExternal = 8 << 30

// readExternal reads want bytes of the tensor from a file in the network's folder. os.Root
// refuses names and symbolic links that lead out of it.
func (t *Tensor) readExternal(want int64) ([]byte, error) {
	name := t.external["location"]
	bad := func(format string, args ...any) error {
		return formatError("tensor %q: external data %q: %s", t.Name, name, fmt.Sprintf(format, args...))
	}
	if t.file.dir == "" {
		return nil, bad("there is no folder to read it from")
	}
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return nil, bad("the name leads out of the network's folder")
	}
	offset, err := number(t.external["offset"], 0)
	if err != nil {
		return nil, bad("offset %v", err)
	}
	length, err := number(t.external["length"], want)
	if err != nil {
		return nil, bad("length %v", err)
	}
	if length != want {
		return nil, bad("%d bytes, where shape %v and %v need %d", length, t.Dims, t.Type, want)
	}
	if want > maxFile { // a file with holes may have any size
		return nil, bad("%d bytes: a tensor has %d at most", want, int64(maxFile))
	}
	if !t.counted { // many tensors may lie in one file with holes
		if want > maxExternal-t.file.external {
			return nil, bad("more than %d bytes of external data: no network has so many", int64(maxExternal))
		}
		t.file.external += want
		t.counted = true
	}
	root, err := os.OpenRoot(t.file.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	// Without waiting: a pipe would wait for its writer.
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("external data of tensor %q: %w", t.Name, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, bad("not a regular file")
	}
	if offset > info.Size() || want > info.Size()-offset {
		return nil, bad("%d bytes from %d on end beyond the file, which has %d", want, offset, info.Size())
	}
	b := make([]byte, want)
	if _, err := f.ReadAt(b, offset); err != nil && err != io.EOF {
		return nil, err
	}
	return b, nil
}

func number(s string, absent int64) (int64, error) {
	if s == "" {
		return absent, nil
	}
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil || v < 0 {
		return 0, fmt.Errorf("%q: want a number of bytes", s)
	}
	return v, nil
}
