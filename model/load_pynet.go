package model

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Metadata keys of a PyNET file: its PyNETOptions.
const (
	metaLevel = "level"
	metaWidth = "width"
	metaNorm  = "norm"
	metaNorm1 = "norm1"
	metaEnd   = "end" // bilinear, which is meant without it, or shuffle
)

func (o *PyNETOptions) toMeta(meta map[string]string) {
	meta[metaLevel] = strconv.Itoa(o.Level)
	meta[metaWidth] = strconv.Itoa(o.Width)
	meta[metaNorm] = strconv.FormatBool(o.InstanceNorm)
	meta[metaNorm1] = strconv.FormatBool(o.InstanceNormLevel1)
	if o.End != EndBilinear {
		meta[metaEnd] = o.End.String()
	}
}

// assemblePyNET finds the options in metadata, or else in the names and shapes
// of the tensors. A foreign state dict may hold the outputs of other levels:
// those tensors are checked and left out.
func (m *Model) assemblePyNET(level int, foreign bool) error {
	o, err := m.pynetOptions(level)
	if err != nil {
		return err
	}
	if foreign {
		whole := o
		whole.Level, whole.SideOutputs = 0, o.End == EndBilinear // the other end has no outputs of levels
		if m.Params, err = without(PyNET(whole), PyNET(o), m.Params); err != nil {
			return err
		}
	}
	m.Graph = PyNET(o)
	m.Convention = pynetConvention(o.Level)
	o.toMeta(m.Meta)
	return nil
}

func (m *Model) pynetOptions(level int) (PyNETOptions, error) {
	has := func(name string) bool { return m.Params[name] != nil }
	const first = "conv_l1_d1.conv_3a.conv2d.weight"
	o := PyNETOptions{
		Level:              level,
		Width:              m.outputs(first),
		InstanceNorm:       has("conv_l2_d1.conv_3a.instance.weight"),
		InstanceNormLevel1: has("conv_l1_d5.conv_3a.instance.weight"),
	}
	if has("skip.weight") {
		o.End = EndShuffle
	}
	var err error
	flag := func(key string, value *bool) {
		if s, ok := m.Meta[key]; ok && err == nil {
			if *value, err = strconv.ParseBool(s); err != nil {
				err = fmt.Errorf("metadata %s is %q: want true or false", key, s)
			}
		}
	}
	flag(metaNorm, &o.InstanceNorm)
	flag(metaNorm1, &o.InstanceNormLevel1)
	if s, ok := m.Meta[metaEnd]; ok && err == nil {
		o.End, err = parsePyNETEnd(s)
	}
	if err != nil {
		return o, err
	}
	if s, ok := m.Meta[metaLevel]; ok {
		said, err := strconv.Atoi(s)
		if err != nil || said < 0 || said > 5 {
			return o, fmt.Errorf("metadata %s is %q: want 0..5", metaLevel, s)
		}
		if level != AnyLevel && level != said {
			return o, fmt.Errorf("they are for level %d, level %d is asked for", said, level)
		}
		o.Level = said
	}
	if o.Level == AnyLevel {
		o.Level = m.lowestLevel()
	}
	if o.Width == 0 {
		return o, fmt.Errorf("tensor %q, which tells the width, is missing", first)
	}
	if t := m.Params[first]; len(t.Shape) > 1 {
		o.Planes = t.Shape[1]
	}
	return o, o.Validate()
}

func parsePyNETEnd(s string) (PyNETEnd, error) {
	i := slices.Index(pynetEndNames, s)
	if i < 0 {
		return 0, fmt.Errorf("%s is %q: want bilinear or shuffle", metaEnd, s)
	}
	return PyNETEnd(i), nil
}

// lowestLevel is the lowest level whose output layer is there, 0 if none is.
func (m *Model) lowestLevel() int {
	if m.Params["conv_l0_d1.conv2d.weight"] != nil {
		return 0
	}
	for level := 1; level <= 5; level++ {
		if m.Params[fmt.Sprintf("conv_l%d_out.conv2d.weight", level)] != nil {
			return level
		}
	}
	return 0
}

// without drops the parameters that whole has and g does not need, after
// checking their shapes.
func without(whole, g *Graph, params map[string]*Tensor) (map[string]*Tensor, error) {
	needed := make(map[string]bool)
	for _, spec := range g.Params() {
		needed[spec.Name] = true
	}
	out := maps.Clone(params)
	for _, spec := range whole.Params() {
		t := params[spec.Name]
		if t == nil || needed[spec.Name] {
			continue
		}
		if !slices.Equal(t.Shape, spec.Shape) {
			return nil, fmt.Errorf("tensor %q has shape %v, the network wants %v", spec.Name, t.Shape, spec.Shape)
		}
		delete(out, spec.Name)
	}
	return out, nil
}
