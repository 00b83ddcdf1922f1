package model

import (
	"fmt"
	"io"
	"maps"

	"enhance/atomicfile"
	"enhance/model/safetensors"
)

// Save writes a model's parameters to a new safetensors file at path, which
// appears whole or not at all; see Write. A file that is there already is an
// error that wraps atomicfile.ErrExists.
func Save(path string, m *Model) error {
	if err := m.Validate(); err != nil {
		return err
	}
	f, err := atomicfile.Create(path, atomicfile.Options{})
	if err != nil {
		return err
	}
	defer f.Abort()
	if err := Write(f, m); err != nil {
		return err
	}
	return f.Commit()
}

// Write writes a model's parameters as safetensors, with the architecture and
// the convention in the metadata, so that Load makes the same model of it.
// Writing the same model twice gives the same bytes.
func Write(w io.Writer, m *Model) error {
	if err := m.Validate(); err != nil {
		return err
	}
	switch {
	case m.Arch != "pynet" && m.Arch != "pynet-s" && m.Arch != "pynet-m":
		return fmt.Errorf("architecture %q cannot be written: want pynet, pynet-s or pynet-m", m.Arch)
	case m.Arch == "pynet-m" && m.Meta[metaConfig] == "":
		return fmt.Errorf("a pynet-m cannot be written without its %s in the metadata", metaConfig)
	}
	f := &safetensors.File{Tensors: make(map[string]*safetensors.Tensor, len(m.Params)), Meta: make(map[string]string)}
	maps.Copy(f.Meta, m.Meta)
	f.Meta["arch"] = m.Arch
	m.Convention.toMeta(f.Meta)
	for name, t := range m.Params {
		f.Tensors[name] = (*safetensors.Tensor)(t)
	}
	return safetensors.Write(w, f)
}
