package model

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// Layer is one convolution of a network and its cost.
type Layer struct {
	Name   string `json:"name"`
	Kernel int    `json:"kernel"`                 // its rows
	Width  int    `json:"kernel_width,omitempty"` // its columns, if they are not as many
	In     Shape  `json:"in"`
	Out    Shape  `json:"out"`
	Params int64  `json:"params"`
	FLOPs  int64  `json:"flops"`
}

// Info is what a model costs for a photo of a given size.
type Info struct {
	Arch       string `json:"arch"`
	Parameters int64  `json:"parameters"`
	Photos     string `json:"photos"`      // which it is for, in words
	NoiseLevel bool   `json:"noise_level"` // is told to it

	PhotoH int `json:"photo_h"` // rows of the mosaic
	PhotoW int `json:"photo_w"`

	Input  Shape `json:"input"`  // packed planes after padding
	Output Shape `json:"output"` // before cropping

	FLOPs           int64   `json:"flops"`            // 2 per multiply-add
	PeakActivations int64   `json:"peak_activations"` // samples; see Graph.PeakActivations
	PeakNode        string  `json:"peak_node"`        // where that is
	Layers          []Layer `json:"layers"`           // convolutions in order

	Meta map[string]string `json:"meta,omitempty"` // of the weights file
}

// Info computes a model's costs for a mosaic of photoH rows and photoW columns,
// which a Bayer phase other than red first would enlarge by a row or a column.
func (m *Model) Info(photoH, photoW int) (*Info, error) {
	if photoH < 1 || photoW < 1 || photoH > 2*maxSide || photoW > 2*maxSide {
		return nil, fmt.Errorf("photo of %d rows and %d columns: want 1..%d each", photoH, photoW, 2*maxSide)
	}
	h, w := m.Convention.PaddedSides((photoH+1)/2, (photoW+1)/2)
	shapes, err := m.Graph.Shapes(h, w)
	if err != nil {
		return nil, err
	}
	g := m.Graph
	info := &Info{Arch: m.Arch, Photos: m.Convention.Sensors.String(), NoiseLevel: m.Convention.NoisePlanes > 0, Meta: m.Meta,
		PhotoH: photoH, PhotoW: photoW, Input: shapes[0], Output: shapes[g.Out]}
	sizes := make(map[string]int64)
	for _, p := range g.Params() {
		sizes[p.Name] = elems(p.Shape)
		info.Parameters += sizes[p.Name]
	}
	for i, needed := range g.Needed() {
		n := &g.Nodes[i]
		if !needed || !n.Op.Convolves() {
			continue
		}
		flops := g.NodeFLOPs(i, shapes)
		info.FLOPs += flops
		rows, width := n.kernelSides()
		info.Layers = append(info.Layers, Layer{
			Name: n.Name, Kernel: rows, Width: width, In: shapes[n.In[0]], Out: shapes[i],
			Params: sizes[n.Weight] + sizes[n.Bias], FLOPs: flops,
		})
	}
	info.PeakActivations, info.PeakNode, err = g.PeakActivations(h, w)
	return info, err
}

// WriteText writes the costs as a table, then how the weights were trained as far
// as their file says, and a line for each convolution if layers is true.
func (i *Info) WriteText(w io.Writer, layers bool) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, args...)) // Flush returns the first error
	}
	line("architecture", "%s", i.Arch)
	line("convolutions", "%d", len(i.Layers))
	line("parameters", "%d (%s fp32, %s fp16)", i.Parameters, binaryBytes(4*i.Parameters), binaryBytes(2*i.Parameters))
	if i.Photos != "" {
		told := ""
		if i.NoiseLevel {
			told = ", told the noise level"
		}
		line("for", "%s%s", i.Photos, told)
	}
	line("photo", "%dx%d, %.1f MP", i.PhotoW, i.PhotoH, float64(i.PhotoW)*float64(i.PhotoH)/1e6)
	line("network input", "%s (channels x rows x columns)", i.Input)
	line("network output", "%s", i.Output)
	line("work", "%.2f TFLOP", float64(i.FLOPs)/1e12)
	line("activations", "%s fp32, %s fp16 at most, at %s", binaryBytes(4*i.PeakActivations), binaryBytes(2*i.PeakActivations), i.PeakNode)
	for _, key := range slices.Sorted(maps.Keys(i.Meta)) {
		if strings.HasPrefix(key, "train.") || key == metaConfig {
			line(key, "%s", shortened(i.Meta[key]))
		}
	}
	if err := t.Flush(); err != nil || !layers {
		return err
	}
	t = tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\nlayer\tkernel\tin\tout\tparameters\tGFLOP\tshare\t")
	for _, l := range i.Layers {
		fmt.Fprintf(t, "%s\t%dx%d\t%s\t%s\t%d\t%.1f\t%.1f %%\t\n", l.Name, l.Kernel, cmp.Or(l.Width, l.Kernel), l.In, l.Out, l.Params,
			float64(l.FLOPs)/1e9, 100*float64(l.FLOPs)/float64(i.FLOPs))
	}
	return t.Flush()
}

// longestFact is how much of a fact in a weights file is printed.
const longestFact = 500

// shortened is a fact, or its beginning and its length.
func shortened(fact string) string {
	if len(fact) <= longestFact {
		return fact
	}
	return fmt.Sprintf("%s... (%d bytes)", strings.ToValidUTF8(fact[:longestFact], ""), len(fact))
}

// binaryBytes writes a number of bytes in KiB, MiB or GiB, as budgets are given.
func binaryBytes(n int64) string {
	switch v := float64(n); {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", v/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", v/(1<<20))
	default:
		return fmt.Sprintf("%.1f KiB", v/(1<<10))
	}
}
