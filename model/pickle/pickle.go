// Package pickle reads the tensors of a PyTorch state dict (.pth, .pt), in the
// zip format of PyTorch 1.6 and later and in the older one.
//
// Such files are pickles: programs for a stack machine that can call any Python
// function. This reader has no way to call anything. It knows the handful of
// names that a state dict is made of, builds plain values, and refuses every
// other name, saying which. Sizes are checked against the file before anything
// is allocated.
//
//   - machine.go, containers.go: the stack machine and its opcodes; value.go: what it builds.
//   - torch.go: the names it knows.
//   - zip.go, legacy.go: the two containers.
//   - tensor.go: from storages and strides to values.
//
// Sources: Python's Lib/pickletools.py for the opcodes, torch/serialization.py
// and torch/_utils.py for what they say of tensors.
package pickle

import (
	"fmt"
	"io"

	"enhance/model/safetensors"
)

// Tensor is row-major values and their shape. An empty shape is one value.
type Tensor struct {
	Shape []int
	Data  []float32
}

// FormatError says why a file is not a state dict that can be read.
type FormatError string

func (e FormatError) Error() string { return "state dict: " + string(e) }

func formatError(format string, args ...any) error {
	return FormatError(fmt.Sprintf(format, args...))
}

// Read reads the size bytes of r as a state dict: a dictionary from names to
// tensors of 32, 16, bfloat16 or 64 bit floats, or one that holds it under the
// key "state_dict" or "model_state_dict"; what else such a one holds is left
// out. An error of the format is a FormatError; others come from r.
// All tensors together may not be larger than the file.
func Read(r io.ReaderAt, size int64) (map[string]*Tensor, error) {
	var magic [4]byte
	if size < int64(len(magic)) {
		return nil, formatError("%d bytes are too few", size)
	}
	if err := safetensors.ReadAt(r, magic[:], 0, formatError); err != nil {
		return nil, err
	}
	switch {
	case string(magic[:]) == "PK\x03\x04":
		return readZip(r, size)
	case magic[0] == opProto && magic[1] >= 2:
		return readLegacy(r, size)
	}
	return nil, formatError("begins with % x: neither a zip file nor a pickle", magic)
}
