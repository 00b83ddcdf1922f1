package model

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"enhance/internal/colour"
	"enhance/model/safetensors"
)

// TestPyNETMCost holds the graphs against what train/pynet_m.py prints of the
// same configurations: multiply-adds for packed planes of 1440×1984, parameters.
func TestPyNETMCost(t *testing.T) {
	for size, want := range map[string]struct {
		tflop  float64
		params int64
	}{
		"fast": {0.388, 206280},
		"best": {1.917, 1251096},
		"max":  {8.653, 4035736},
	} {
		m, err := Load("pynet-m-random:x,size=" + size)
		if err != nil {
			t.Fatal(err)
		}
		info, err := m.Info(2880, 3968)
		if err != nil {
			t.Fatal(err)
		}
		if info.Parameters != want.params || math.Abs(float64(info.FLOPs)/1e12-want.tflop) > 0.0005 {
			t.Errorf("%s: %d parameters, %.4f TFLOP, want %d, %.3f", size, info.Parameters, float64(info.FLOPs)/1e12, want.params, want.tflop)
		}
		if info.Input != (Shape{8, 1440, 1984}) || info.Output != (Shape{3, 2880, 3968}) {
			t.Errorf("%s: %v to %v", size, info.Input, info.Output)
		}
	}
}

// TestPyNETMNames checks nodes and parameters of every part against docs/pynet-m.md.
func TestPyNETMNames(t *testing.T) {
	g := PyNETM(PyNETMConfig{Widths: []int{8, 16}, Encoder: []int{1, 2}, Decoder: []int{1}, DownKernel: 1, UpKernel: 3, HeadKernel: 1, SkipKernel: 3})
	want := map[string][]int{
		"stem": {8, 8, 3, 3}, "enc1.0.a": {8, 8, 3, 3}, "enc1.0.b": {8, 8, 3, 3}, "down2": {16, 8, 1, 1},
		"enc2.0.a": {16, 16, 3, 3}, "enc2.0.b": {16, 16, 3, 3}, "enc2.1.a": {16, 16, 3, 3}, "enc2.1.b": {16, 16, 3, 3},
		"up1": {8, 16, 3, 3}, "dec1.0.a": {8, 8, 3, 3}, "dec1.0.b": {8, 8, 3, 3}, "head": {12, 8, 1, 1}, "skip": {12, 8, 3, 3},
	}
	got := map[string][]int{}
	for _, p := range g.Params() {
		if name, ok := strings.CutSuffix(p.Name, ".weight"); ok {
			got[name] = p.Shape
		}
	}
	if !maps.EqualFunc(got, want, func(a, b []int) bool { return slices.Equal(a, b) }) {
		t.Errorf("parameters %v, want %v", got, want)
	}
	single := PyNETM(PyNETMConfig{Widths: []int{8}, Encoder: []int{0}, DownKernel: 1, UpKernel: 1, HeadKernel: 3, SkipKernel: 5})
	if n := len(single.Params()); n != 6 {
		t.Errorf("one level without blocks has %d parameters, want 6", n)
	}
}

const tinyConfig = `{"decoder":[1,0],"down_kernel":3,"encoder":[1,0,2],"head_kernel":3,"skip_kernel":5,"up_kernel":1,"widths":[8,16,24]}`

func TestParsePyNETMConfig(t *testing.T) {
	c, err := ParsePyNETMConfig(tinyConfig)
	if err != nil {
		t.Fatal(err)
	}
	if c.String() != tinyConfig {
		t.Errorf("written as %s", c)
	}
	change := func(from, to string) string { return strings.Replace(tinyConfig, from, to, 1) }
	for name, text := range map[string]string{
		"empty":         ``,
		"not an object": `[1]`,
		"null":          `null`,
		"two values":    tinyConfig + `{}`,
		"unknown key":   change(`{`, `{"norm":true,`),
		"missing key":   change(`"skip_kernel":5,`, ``),
		"fraction":      change(`[8,16,24]`, `[8,16.5,24]`),
		"text":          change(`5`, `"5"`),
		"no widths":     change(`[8,16,24]`, `[]`),
		"seven levels":  `{"decoder":[0,0,0,0,0,0],"down_kernel":3,"encoder":[0,0,0,0,0,0,0],"head_kernel":3,"skip_kernel":5,"up_kernel":1,"widths":[8,8,8,8,8,8,8]}`,
		"width 12":      change(`16`, `12`),
		"width 0":       change(`16`, `0`),
		"width huge":    change(`16`, `1000000`),
		"few decoders":  change(`[1,0]`, `[1]`),
		"many encoders": change(`[1,0,2]`, `[1,0,2,1]`),
		"blocks < 0":    change(`[1,0,2]`, `[1,0,-2]`),
		"blocks huge":   change(`[1,0,2]`, `[1,0,1000]`),
		"even kernel":   change(`"head_kernel":3`, `"head_kernel":2`),
		"wide kernel":   change(`"skip_kernel":5`, `"skip_kernel":9`),
		"long":          strings.Repeat(" ", 5000) + tinyConfig,
	} {
		if _, err := ParsePyNETMConfig(text); err == nil {
			t.Errorf("%s: %s is accepted", name, text)
		}
	}
}

func FuzzPyNETMConfig(f *testing.F) {
	f.Add(tinyConfig)
	f.Add(`{"widths":[8],"encoder":[0],"decoder":[],"down_kernel":1,"planes":24,"up_kernel":1,"head_kernel":1,"skip_kernel":3}`)
	f.Add(`{"widths":[8],"encoder":[0],"decoder":[],"down_kernel":1,"up_kernel":1,"head_kernel":1,"skip_kernel":3}`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParsePyNETMConfig(text)
		if err != nil {
			return
		}
		g := PyNETM(c)
		if err := g.Validate(); err != nil {
			t.Fatal(err)
		}
		conv := pynetmConvention(c)
		h, w := conv.PaddedSides(1, 5)
		if _, err := g.Shapes(h, w); err != nil {
			t.Fatal(err)
		}
		if again, err := ParsePyNETMConfig(c.String()); err != nil || again.String() != c.String() {
			t.Fatalf("%s is read as %s, %v", c, again, err)
		}
	})
}

// pynetmFile is a tiny pynet-m as a trained file holds it.
func pynetmFile(t *testing.T) *safetensors.File {
	m, err := Load("pynet-m-random:file")
	if err != nil {
		t.Fatal(err)
	}
	f := &safetensors.File{Tensors: map[string]*safetensors.Tensor{}, Meta: map[string]string{
		"arch": "pynet-m", "arch.config": tinyConfig, "convention.curve": "srgb", "convention.clip": "high",
		"convention.noise": "4", "train.seed": "7",
	}}
	for name, p := range m.Params {
		f.Tensors[name] = (*safetensors.Tensor)(p)
	}
	return f
}

func TestLoadPyNETM(t *testing.T) {
	m, err := loadFile(t, pynetmFile(t), AnyLevel)
	if err != nil {
		t.Fatal(err)
	}
	if m.Convention != pynetmConvention(pynetmConfigs["tiny"]) || m.Meta["train.seed"] != "7" {
		t.Errorf("convention %+v, metadata %v", m.Convention, m.Meta)
	}
	if h, w := m.Convention.PaddedSides(9, 3); h != 12 || w != 8 {
		t.Errorf("9x3 is padded to %dx%d", h, w)
	}
	for name, c := range map[string]struct {
		change func(f *safetensors.File)
		want   string
	}{
		"no config":     {func(f *safetensors.File) { delete(f.Meta, metaConfig) }, "arch.config, which"},
		"bad config":    {func(f *safetensors.File) { f.Meta[metaConfig] = "{}" }, "0 widths"},
		"other config":  {func(f *safetensors.File) { f.Meta[metaConfig] = strings.Replace(tinyConfig, "24", "32", 1) }, "the network wants"},
		"one more":      {func(f *safetensors.File) { f.Tensors["enc2.0.a.weight"] = f.Tensors["enc1.0.a.weight"] }, "is not one of"},
		"one less":      {func(f *safetensors.File) { delete(f.Tensors, "skip.bias") }, `"skip.bias" ([12]) is missing`},
		"curve":         {func(f *safetensors.File) { f.Meta[metaCurve] = "log" }, `convention.curve is "log"`},
		"clip":          {func(f *safetensors.File) { f.Meta[metaClip] = "low" }, `convention.clip is "low": want both or high`},
		"noise":         {func(f *safetensors.File) { f.Meta[metaNoise] = "four" }, `convention.noise is "four"`},
		"three noises":  {func(f *safetensors.File) { f.Meta[metaNoise] = "3" }, "3 noise planes"},
		"no noise":      {func(f *safetensors.File) { f.Meta[metaNoise] = "0" }, "takes 8 planes"},
		"black is kept": {func(f *safetensors.File) { f.Meta[metaSubtractBlack] = "false" }, "normalised"},
	} {
		f := pynetmFile(t)
		c.change(f)
		_, err := loadFile(t, f, AnyLevel)
		var weights *WeightsError
		if !errors.As(err, &weights) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
	if _, err := loadFile(t, pynetmFile(t), 2); err == nil {
		t.Error("level 2 of a pynet-m is accepted")
	}
	f := pynetmFile(t)
	f.Meta["arch"] = "pynet-s"
	if _, err := loadFile(t, f, AnyLevel); err == nil {
		t.Error("a pynet-m is taken for a pynet-s")
	}
}

// TestLoadHalves reads F16 tensors: halves are what the loader makes of them.
func TestLoadHalves(t *testing.T) {
	f := pynetmFile(t)
	type entry struct {
		DType   string `json:"dtype"`
		Shape   []int  `json:"shape"`
		Offsets [2]int `json:"data_offsets"`
	}
	header := map[string]any{"__metadata__": f.Meta}
	var data []byte
	want := map[string][]float32{}
	for _, name := range slices.Sorted(maps.Keys(f.Tensors)) {
		p := f.Tensors[name]
		start := len(data)
		for i := range p.Data {
			exponent, fraction := 10+i%6, i*37%1024 // normal halves of 2^-5 to 2^0
			data = binary.LittleEndian.AppendUint16(data, uint16(exponent<<10|fraction))
			want[name] = append(want[name], float32(math.Ldexp(1+float64(fraction)/1024, exponent-15)))
		}
		header[name] = entry{"F16", p.Shape, [2]int{start, len(data)}}
	}
	text, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "half.safetensors")
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	if err := os.WriteFile(path, append(append(b, text...), data...), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range want {
		if !slices.Equal(m.Params[name].Data, v) {
			t.Errorf("%s is not what was stored", name)
		}
	}
}

func TestLoadRandomM(t *testing.T) {
	for _, spec := range []string{"pynet-m-random:", "pynet-m-random:a,size=huge", "pynet-m-random:a,width=8", "pynet-m-random:a,size=tiny,size=tiny", "pynet-m-random:a,planes=12", "pynet-m-random:a,planes=24,planes=24"} {
		_, err := Load(spec)
		var bad *SpecError
		if !errors.As(err, &bad) {
			t.Errorf("%q: error %v, want a SpecError", spec, err)
		}
	}
	if _, err := LoadLevel("pynet-m-random:a", 1); err == nil {
		t.Error("a level is accepted")
	}
}

func TestCurves(t *testing.T) {
	srgb := pynetmConvention(pynetmConfigs["tiny"])
	gamma := pynetsConvention()
	for x := -0.1; x <= 1; x += 1.0 / 512 {
		if v, want := srgb.Encode(x), colour.SRGBEncode(x); x >= 0 && math.Abs(v-want) > 1e-7 {
			t.Errorf("sRGB of %g is %g, want %g", x, v, want)
		}
		for _, c := range []*Convention{&srgb, &gamma} {
			if x < 0 && c.Clip == ClipBoth {
				continue
			}
			if d := c.Decode(c.Encode(max(x, 0))) - max(x, 0); math.Abs(d) > 1e-7 {
				t.Errorf("%v: %g comes back changed by %g", c.Curve, x, d)
			}
			const h = 1e-6
			if x > 0.01 {
				if d, want := c.slope(x), (c.Encode(x+h)-c.Encode(x-h))/(2*h); math.Abs(d-want) > 1e-4*want {
					t.Errorf("%v: slope at %g is %g, want %g", c.Curve, x, d, want)
				}
			}
		}
	}
	for _, c := range []struct {
		conv    *Convention
		in, out float64
	}{
		{&srgb, -0.5, -0.5}, {&srgb, -3, -1}, {&srgb, 2, 1}, {&srgb, math.NaN(), -1},
		{&gamma, -0.5, 0}, {&gamma, 2, 1}, {&gamma, 0.25, 0.25}, {&gamma, math.Inf(-1), 0},
	} {
		if got := c.conv.Limit(c.in); got != c.out {
			t.Errorf("%v limits %g to %g, want %g", c.conv.Clip, c.in, got, c.out)
		}
	}
	if v := srgb.Encode(-0.5); v != -0.5*12.92 {
		t.Errorf("-0.5 is encoded as %g", v)
	}
}

// TestNoiseSample holds the noise planes against the spread of encoded samples.
func TestNoiseSample(t *testing.T) {
	c := pynetmConvention(pynetmConfigs["tiny"])
	const gain, s, o = 2.0, 1e-5, 1e-7 // small, so that the curve is straight over it
	for _, v := range []float64{0.0005, 0.01, 0.1, 0.4} {
		sigma := math.Sqrt(s*v + o)
		want := NoiseScale * (c.Encode(gain*(v+sigma)) - c.Encode(gain*(v-sigma))) / 2
		if got := c.NoiseSample(gain*v, gain, s, o); math.Abs(got-want) > 0.01*want {
			t.Errorf("at %g: %g, want %g", v, got, want)
		}
	}
	for _, x := range []float64{-1, -0.1} { // as black
		if got, want := c.NoiseSample(x, gain, s, o), NoiseScale*12.92*gain*math.Sqrt(o); math.Abs(got-want) > 1e-12 {
			t.Errorf("at %g: %g, want %g", x, got, want)
		}
	}
	if got := c.NoiseSample(0.5, gain, 0, -1); got != 0 {
		t.Errorf("a negative variance gives %g", got)
	}
}

func TestBuiltins(t *testing.T) {
	found := false
	for _, b := range Builtins() {
		if _, err := Load(b.Name); err != nil {
			t.Errorf("%s: %v", b.Name, err)
		}
		found = found || b.Name == Default
	}
	if !found {
		t.Errorf("the default, %s, is not built in", Default)
	}
	files, err := weights.ReadDir("weights")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(builtins) {
		t.Errorf("%d files are embedded, %d are named", len(files), len(builtins))
	}
	if _, err := Load("no-such-model"); err == nil || !strings.Contains(err.Error(), fmt.Sprint("want ", BuiltinNames())) {
		t.Errorf("error %v does not name the models there are", err)
	}
}
