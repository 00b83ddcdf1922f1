package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"enhance/internal/atomicfile"
	"enhance/internal/printable"
	"enhance/model"
	"enhance/pipeline"
)

var modelImportCommand = &command{name: "model import", summary: "convert PyTorch weights to safetensors",
	usage: []string{"model import FILE -o FILE.safetensors [--level N]"}, run: runModelImport, files: true,
	about: `Reads a PyTorch state dict without running it (zip or legacy; float32, float16 or
bfloat16; names may begin with "module."), or the weights of an ONNX file that PyTorch
exported, checks every tensor against the network, and writes the weights with the
network's architecture and input convention. ONNX networks of others need no import.`}

// imported is what import --json prints.
type imported struct {
	Input      string            `json:"input"`
	Output     string            `json:"output"`
	Arch       string            `json:"arch"`
	Tensors    int               `json:"tensors"`
	Parameters int64             `json:"parameters"`
	Meta       map[string]string `json:"meta"`
}

func runModelImport(c *call) error {
	if len(c.args) != 1 {
		return c.wants(fmt.Sprintf("one file, not %d", len(c.args)))
	}
	if err := c.namesWeights(); err != nil {
		return err
	}
	switch in := c.args[0]; strings.ToLower(filepath.Ext(in)) {
	case ".pth", ".pt", ".safetensors", ".onnx":
	default: // the name of a model, unless there is such a file
		if _, err := os.Stat(in); err == nil {
			return usagef("model import: %s: want a PyTorch state dict, a file ending in .pth or .pt, or an ONNX file", in)
		}
	}
	var all fileUses
	all.readsModel(&pipeline.Settings{Model: c.args[0]})
	all.makes(c.output, "the network (-o)")
	if err := all.check(); err != nil {
		return err
	}
	m, err := pipeline.LoadWeights(c.args[0], c.levelOrAny())
	if err != nil {
		return err
	}
	if err := saveModel(c.output, m, c.overwrite); err != nil {
		return err
	}
	r := imported{Input: c.args[0], Output: c.output, Arch: m.Arch, Tensors: len(m.Params), Meta: m.Meta}
	for _, t := range m.Params {
		r.Parameters += int64(len(t.Data))
	}
	if c.json {
		return c.report(r, nil)
	}
	fmt.Fprintf(c.stderr, "%s: %s%s, %d tensors, %d parameters\n", printable.Text(c.output), m.Arch, printable.Text(levelOf(m)), r.Tensors, r.Parameters)
	return nil
}

// namesWeights checks the name of the weights to be written, by whose end they are told when they are read.
func (c *call) namesWeights() error {
	switch {
	case c.output == "":
		return usagef("%s: give the output with -o FILE.safetensors", c.cmd.name)
	case !strings.EqualFold(filepath.Ext(c.output), ".safetensors"):
		return usagef("%s: -o %s: want a name that ends in .safetensors", c.cmd.name, printable.Text(c.output))
	}
	return nil
}

func levelOf(m *model.Model) string {
	if l := m.Meta["level"]; l != "" {
		return " level " + l
	}
	return ""
}

// saveModel writes a model to the safetensors file path, which appears whole or not at
// all.
func saveModel(path string, m *model.Model, overwrite bool) error {
	f, err := atomicfile.Create(path, atomicfile.Options{Overwrite: overwrite})
	if err != nil {
		return err
	}
	defer f.Abort()
	if err := model.Write(f, m); err != nil {
		return err
	}
	return f.Commit()
}
