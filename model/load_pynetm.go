package model

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// metaConfig is the metadata key of a pynet-m file's configuration.
const metaConfig = "arch.config"

// assemblePyNETM takes the graph from the metadata alone: shapes do not tell it.
func (m *Model) assemblePyNETM(level int) error {
	if level > 0 {
		return errNoLevels("pynet-m", level)
	}
	text, ok := m.Meta[metaConfig]
	if !ok {
		return fmt.Errorf("metadata %s, which tells the network's shape, is missing", metaConfig)
	}
	c, err := ParsePyNETMConfig(text)
	if err != nil {
		return err
	}
	m.Graph = PyNETM(c)
	m.Convention = pynetmConvention(c)
	return nil
}

// pynetmConfigs are the configurations that pynet-m-random knows: a small one
// for tests, and those of the sizes that are shipped.
var pynetmConfigs = map[string]PyNETMConfig{
	"tiny": {Widths: []int{8, 16, 24}, Encoder: []int{1, 0, 2}, Decoder: []int{1, 0},
		DownKernel: 3, UpKernel: 1, HeadKernel: 3, SkipKernel: 5},
	"fast": {Widths: []int{24, 48, 64}, Encoder: []int{1, 0, 1}, Decoder: []int{3, 1},
		DownKernel: 3, UpKernel: 1, HeadKernel: 3, SkipKernel: 5},
	"best": {Widths: []int{48, 64, 96, 128}, Encoder: []int{1, 1, 1, 1}, Decoder: []int{5, 1, 1},
		DownKernel: 3, UpKernel: 1, HeadKernel: 3, SkipKernel: 5},
	"max": {Widths: []int{96, 128, 160, 160}, Encoder: []int{1, 1, 1, 1}, Decoder: []int{6, 2, 1},
		DownKernel: 3, UpKernel: 1, HeadKernel: 3, SkipKernel: 5},
}

// loadRandomM reads what follows "pynet-m-random:".
func loadRandomM(spec, text string, level int) (*Model, error) {
	fields := strings.Split(text, ",")
	seed := fields[0]
	if seed == "" {
		return nil, &SpecError{spec, "want a seed after pynet-m-random:"}
	}
	if level > 0 {
		return nil, &SpecError{spec, errNoLevels("pynet-m", level).Error()}
	}
	c, err := randomConfig(fields[1:])
	if err != nil {
		return nil, &SpecError{spec, err.Error()}
	}
	g := PyNETM(c)
	meta := map[string]string{"source": spec, metaConfig: c.String()}
	return &Model{Arch: "pynet-m", Graph: g, Params: FormulaParams(seed, g), Convention: pynetmConvention(c), Meta: meta}, nil
}

// randomConfig reads the options of a pynet-m-random, each of which may be given once.
func randomConfig(options []string) (PyNETMConfig, error) {
	given := map[string]string{}
	for _, option := range options {
		key, value, _ := strings.Cut(option, "=")
		if _, twice := given[key]; twice || key != "size" && key != "planes" {
			return PyNETMConfig{}, fmt.Errorf("unknown option %q: want size and planes, each once", option)
		}
		given[key] = value
	}
	size := "tiny"
	if text, ok := given["size"]; ok {
		size = text
	}
	c, ok := pynetmConfigs[size]
	if !ok {
		return c, fmt.Errorf("size cannot be %q: want %s", size, strings.Join(slices.Sorted(maps.Keys(pynetmConfigs)), ", "))
	}
	if text, ok := given["planes"]; ok {
		n, err := strconv.Atoi(text)
		if c.Planes = n; err != nil || n != pynetmPlanes && n != maskedPlanes {
			return c, fmt.Errorf("planes cannot be %q: want %d or %d", text, pynetmPlanes, maskedPlanes)
		}
	}
	return c, nil
}
