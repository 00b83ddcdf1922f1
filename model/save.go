package model

import (
	"fmt"
	"io"
	"maps"

	"enhance/model/safetensors"
)

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
	f.Integers = map[string]bool{}
	for i := range m.Graph.Nodes {
		if n := &m.Graph.Nodes[i]; n.Op == OpQuantConv {
			f.Integers[n.Weight] = true
		}
	}
	return safetensors.Write(w, f)
}
