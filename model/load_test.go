package model

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"enhance/internal/boundtest"
	"enhance/model/safetensors"
)

func TestFormula(t *testing.T) {
	if h := fnv1a64("goldinput"); h != 0xa49bb199ae973b31 {
		t.Errorf("fnv1a64(goldinput) = %#x", h)
	}
	want := []float32{0.34222281, 0.62516606, 0.48469579, 0.77324218}
	got := FormulaTensor("gold", "input", 4)
	for i := range want {
		if math.Abs(float64(got[i]-want[i])) > 1e-8 {
			t.Errorf("element %d of gold input is %.9g, want %.9g", i, got[i], want[i])
		}
	}
}

func TestLoadEmbedded(t *testing.T) {
	m, err := Load("pynet-s")
	if err != nil {
		t.Fatal(err)
	}
	if m.Arch != "pynet-s" || m.Convention != pynetsConvention() || m.Meta["widths"] != "24,40,64,96" {
		t.Errorf("arch %q, convention %+v, metadata %v", m.Arch, m.Convention, m.Meta)
	}
	named, err := Load(Default)
	if err != nil {
		t.Fatal(err)
	}
	if m, err = Load(""); err != nil || m.Arch != named.Arch || !maps.Equal(m.Meta, named.Meta) {
		t.Errorf("without a name: %s, %v, want %s", m.Arch, err, Default)
	}
}

func TestLoadRandom(t *testing.T) {
	m, err := Load("pynet-random:gold,level=3,width=4,norm1=false")
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Validate(); err != nil {
		t.Fatal(err)
	}
	want := PyNET(PyNETOptions{Level: 3, Width: 4, InstanceNorm: true})
	if !slices.EqualFunc(m.Graph.Nodes, want.Nodes, func(a, b Node) bool { return a.Name == b.Name && a.C == b.C }) {
		t.Error("the options did not reach the graph")
	}
	if m.Convention.ScaleNum != 1 || m.Convention.ScaleDen != 4 || m.Convention.Divisor != 1020 {
		t.Errorf("convention %+v", m.Convention)
	}
	other, err := Load("pynet-random:other,level=3,width=4,norm1=false")
	if err != nil {
		t.Fatal(err)
	}
	name := "conv_l3_out.conv2d.weight"
	if slices.Equal(m.Params[name].Data, other.Params[name].Data) {
		t.Error("two seeds give the same weights")
	}
}

func TestLoadRefusesSpec(t *testing.T) {
	for _, spec := range []string{
		"pynets", "photo.dng", "pynet-random:", "pynet-random:a,level=6", "pynet-random:a,level=-1", "pynet-random:a,level=x",
		"pynet-random:a,width=3", "pynet-random:a,width=66", "pynet-random:a,width=0", "pynet-random:a,depth=2", "pynet-random:a,norm",
		"pynet-random:a,end=sigmoid", "pynet-random:a,end=", "pynet-random:a,end=shuffle,level=1",
	} {
		_, err := Load(spec)
		var specErr *SpecError
		if !errors.As(err, &specErr) {
			t.Errorf("%q: error %v, want a SpecError", spec, err)
		}
	}
	if _, err := LoadLevel("pynet-random:a,level=2", 3); err == nil {
		t.Error("two different levels are accepted")
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none.safetensors")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: error %v", err)
	}
}

// pynetFile is a small PyNET as a file would hold it.
func pynetFile(o PyNETOptions) *safetensors.File {
	f := &safetensors.File{Tensors: make(map[string]*safetensors.Tensor), Meta: make(map[string]string)}
	for name, p := range FormulaParams("file", PyNET(o)) {
		f.Tensors[name] = (*safetensors.Tensor)(p)
	}
	return f
}

// loadFile writes f and loads it.
func loadFile(t *testing.T, f *safetensors.File, level int) (*Model, error) {
	t.Helper()
	var b bytes.Buffer
	if err := safetensors.Write(&b, f); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "m.safetensors")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return LoadLevel(path, level)
}

func TestLoadInfersPyNET(t *testing.T) {
	for _, norm1 := range []bool{false, true} {
		f := pynetFile(PyNETOptions{Width: 2, InstanceNorm: true, InstanceNormLevel1: norm1, SideOutputs: true})
		prefixed := &safetensors.File{Tensors: make(map[string]*safetensors.Tensor)}
		for name, v := range f.Tensors {
			prefixed.Tensors["module."+name] = v
		}
		for level := AnyLevel; level <= 5; level++ {
			m, err := loadFile(t, prefixed, level)
			if err != nil {
				t.Fatalf("norm1 %v level %d: %v", norm1, level, err)
			}
			want := PyNETOptions{Level: max(level, 0), Width: 2, InstanceNorm: true, InstanceNormLevel1: norm1}
			meta := make(map[string]string)
			want.toMeta(meta)
			if !maps.Equal(m.Meta, meta) {
				t.Errorf("level %d: inferred %v, want %v", level, m.Meta, meta)
			}
			if len(m.Params) != len(PyNET(want).Params()) {
				t.Errorf("level %d: %d parameters are left", level, len(m.Params))
			}
		}
	}
	partial := pynetFile(PyNETOptions{Level: 3, Width: 2, InstanceNorm: true})
	m, err := loadFile(t, partial, AnyLevel)
	if err != nil || m.Meta[metaLevel] != "3" {
		t.Errorf("weights up to level 3: %v", err)
	}
	shuffle := pynetFile(PyNETOptions{Width: 2, End: EndShuffle})
	for _, meta := range []map[string]string{nil, {metaEnd: "shuffle"}} {
		shuffle.Meta = meta
		if m, err = loadFile(t, shuffle, AnyLevel); err != nil || m.Arch != "pynet" || m.Meta[metaEnd] != "shuffle" {
			t.Errorf("a pixel shuffle, metadata %v: %v", meta, err)
		}
	}
}

func TestLoadRefusesWeights(t *testing.T) {
	o := PyNETOptions{Level: 4, Width: 2, InstanceNorm: true}
	const weight = "conv_l4_d3.conv_3a.conv2d.weight"
	for name, c := range map[string]struct {
		change func(f *safetensors.File)
		want   string
	}{
		"missing":        {func(f *safetensors.File) { delete(f.Tensors, weight) }, `"` + weight + `" ([16 32 3 3]) is missing`},
		"extra":          {func(f *safetensors.File) { f.Tensors["spy"] = &safetensors.Tensor{Shape: []int{0}} }, `"spy" is not one`},
		"misshapen":      {func(f *safetensors.File) { f.Tensors[weight].Shape = []int{32, 16, 3, 3} }, "[32 16 3 3], the network wants [16 32 3 3]"},
		"nan":            {func(f *safetensors.File) { f.Tensors[weight].Data[5] = float32(math.NaN()) }, `"` + weight + `" holds NaN at index 5`},
		"infinity":       {func(f *safetensors.File) { f.Tensors[weight].Data[7] = float32(math.Inf(-1)) }, `holds -Inf at index 7`},
		"unknown arch":   {func(f *safetensors.File) { f.Meta["arch"] = "unet" }, `unknown architecture "unet"`},
		"wrong level":    {func(f *safetensors.File) { f.Meta["level"] = "9" }, "want 0..5"},
		"no names known": {func(f *safetensors.File) { clear(f.Tensors) }, "neither metadata nor"},
		"bad gamma":      {func(f *safetensors.File) { f.Meta[metaGamma] = "NaN" }, "gamma NaN"},
		"bad pack":       {func(f *safetensors.File) { f.Meta[metaPack] = "0,0 0,0 1,1 1,0" }, "pack"},
		"end promised": {func(f *safetensors.File) {
			*f = *pynetFile(PyNETOptions{Width: 2, InstanceNorm: true})
			f.Meta = map[string]string{metaEnd: "shuffle"}
		}, "conv_l0_d1"},
		"norm promised": {func(f *safetensors.File) { f.Meta[metaNorm] = "false" }, "is not one of the network's"},
	} {
		f := pynetFile(o)
		c.change(f)
		_, err := loadFile(t, f, AnyLevel)
		var weights *WeightsError
		if !errors.As(err, &weights) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
	if _, err := loadFile(t, pynetFile(o), 2); err == nil {
		t.Error("level 2 of a file up to level 4 is accepted")
	}
}

// TestLoadSparse: files with holes, whose headers ask for all of it, take no memory for it.
func TestLoadSparse(t *testing.T) {
	header := `{"skip.weight":{"dtype":"F32","shape":[274877906944],"data_offsets":[0,1099511627776]}}`
	files := map[string][]byte{
		"a.safetensors": append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...),
		"a.pth":         {0x80, 2, '.'},
	}
	for name, begin := range files {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, begin, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, int64(len(begin))+1<<40); err != nil {
			t.Skipf("SKIPPED, nothing was tested: no sparse files here: %v", err)
		}
		boundtest.Run(t, len(begin), 1<<20, 0, func() {
			var refused *WeightsError
			if _, err := Load(path); !errors.As(err, &refused) {
				t.Errorf("%s: %v, want a WeightsError", name, err)
			}
		})
	}
}
