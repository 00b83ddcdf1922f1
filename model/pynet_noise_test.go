package model

import (
	"maps"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestPyNETWithNoise writes and reads a PyNET that is told the noise of its samples,
// and refuses files whose planes are not what their metadata say.
func TestPyNETWithNoise(t *testing.T) {
	noisy := func(planes int) *Model {
		g := PyNET(PyNETOptions{Width: 2, Planes: planes})
		m := &Model{Arch: "pynet", Graph: g, Params: FormulaParams("noise", g), Convention: pynetConvention(0), Meta: map[string]string{}}
		c := &m.Convention
		c.SubtractBlack, c.Curve, c.Clip, c.Divisor, c.Output = true, CurveSRGB, ClipHigh, 1, OutputCameraGamma
		c.NoisePlanes = 4
		return m
	}
	path := filepath.Join(t.TempDir(), "m.safetensors")
	m := noisy(8)
	if err := writeFile(path, m); err != nil {
		t.Fatal(err)
	}
	got, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if got.Convention != m.Convention || !reflect.DeepEqual(got.Graph, m.Graph) || !reflect.DeepEqual(got.Params, m.Params) {
		t.Error("another network came back")
	}
	for name, c := range map[string]struct {
		change func(*Model)
		want   string
	}{
		"planes without noise": {func(m *Model) { m.Convention.NoisePlanes = 0 }, "takes 8 planes"},
		"unknown end":          {func(m *Model) { m.Meta[metaEnd] = "transposed" }, `end is "transposed"`},
		"end of other weights": {func(m *Model) { m.Meta[metaEnd] = "shuffle" }, "the network wants [12 2 3 3]"},
		"level of an end":      {func(m *Model) { m.Meta[metaEnd], m.Meta[metaLevel] = "shuffle", "2" }, "level 0 alone"},
		"six planes": {func(m *Model) {
			w := m.Params["conv_l1_d1.conv_3a.conv2d.weight"]
			w.Shape, w.Data = []int{2, 6, 3, 3}, w.Data[:2*6*9]
		}, "6 input planes"},
	} {
		m := noisy(8)
		c.change(m)
		_, err := assemble(m.Params, metaOf(m), AnyLevel)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}

// metaOf is what a file of the model has for metadata.
func metaOf(m *Model) map[string]string {
	meta := map[string]string{"arch": m.Arch}
	maps.Copy(meta, m.Meta)
	m.Convention.toMeta(meta)
	return meta
}
