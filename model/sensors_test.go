package model

import (
	"errors"
	"strings"
	"testing"

	"enhance/model/safetensors"
	"enhance/raw/mosaic"
)

func TestMaskedConfig(t *testing.T) {
	with := func(planes string) string {
		return strings.Replace(tinyConfig, `"skip_kernel"`, `"planes":`+planes+`,"skip_kernel"`, 1)
	}
	c, err := ParsePyNETMConfig(with("24"))
	if err != nil || c.String() != with("24") {
		t.Fatalf("%v, written as %s", err, c)
	}
	g := PyNETM(c)
	if n := g.Nodes[0].C; n != 24 {
		t.Errorf("the graph takes %d planes", n)
	}
	for _, p := range g.Params() {
		if (p.Name == "stem.weight" || p.Name == "skip.weight") && p.Shape[1] != 24 {
			t.Errorf("%s is %v", p.Name, p.Shape)
		}
	}
	if same, err := ParsePyNETMConfig(with("8")); err != nil || PyNETM(same).Nodes[0].C != 8 {
		t.Errorf("8 planes: %v", err)
	}
	for _, bad := range []string{"12", "-24", `"24"`, "1000000000"} {
		if _, err := ParsePyNETMConfig(with(bad)); err == nil {
			t.Errorf("planes %s are accepted", bad)
		}
	}
}

// maskedFile is a tiny network of masked planes as a trained file holds it.
func maskedFile(t *testing.T) *safetensors.File {
	m, err := Load("pynet-m-random:file,planes=24")
	if err != nil {
		t.Fatal(err)
	}
	f := &safetensors.File{Tensors: map[string]*safetensors.Tensor{}, Meta: map[string]string{
		"arch": "pynet-m", "arch.config": m.Meta[metaConfig], "convention.samples": "masked", "convention.noise": "12",
		"train.patterns": "xtrans quad rgb",
	}}
	for name, p := range m.Params {
		f.Tensors[name] = (*safetensors.Tensor)(p)
	}
	return f
}

func TestLoadMasked(t *testing.T) {
	m, err := loadFile(t, maskedFile(t), AnyLevel)
	if err != nil {
		t.Fatal(err)
	}
	c := &m.Convention
	if c.Samples != SamplesMasked || c.SamplePlanes() != 12 || c.Planes() != 24 || c.Sensors != XTransSensor|QuadSensor|FullColour {
		t.Errorf("%v samples, %d and %d planes, for %v", c.Samples, c.SamplePlanes(), c.Planes(), c.Sensors)
	}
	if text := c.Sensors.String(); text != "X-Trans mosaics, quad-Bayer mosaics and demosaiced photos" {
		t.Errorf("for %s", text)
	}
	for name, k := range map[string]struct {
		key, value, want string
	}{
		"samples of a quad": {metaSamples, "quad", "12 noise planes: want none, or 4"},
		"unknown samples":   {metaSamples, "hidden", `convention.samples is "hidden"`},
		"noise of a quad":   {metaNoise, "4", "4 noise planes: want none, or 12"},
		"no noise":          {metaNoise, "0", "takes 24 planes, metadata convention.samples and convention.noise make it 12"},
		"unknown pattern":   {metaPatterns, "xtrans foveon", `train.patterns is "xtrans foveon"`},
		"no pattern":        {metaPatterns, " ", "train.patterns"},
		"another graph":     {metaConfig, tinyConfig, "the network takes 8 planes"},
	} {
		f := maskedFile(t)
		f.Meta[k.key] = k.value
		var bad *WeightsError
		if _, err := loadFile(t, f, AnyLevel); !errors.As(err, &bad) || !strings.Contains(err.Error(), k.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, k.want)
		}
	}
	f := maskedFile(t)
	delete(f.Meta, metaPatterns)
	if m, err = loadFile(t, f, AnyLevel); err != nil || m.Convention.Sensors != AnySensor {
		t.Errorf("without patterns: %v, %v", m, err)
	}
}

func TestSensorOf(t *testing.T) {
	for name, want := range map[string]Sensors{
		"GBRG": BayerSensor, "xtrans": XTransSensor, "quad-BGGR": QuadSensor, "mono": 0, "3x3:RGBGBRBRG": OtherSensor,
	} {
		p, err := mosaic.ParsePattern(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := SensorOf(p); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if SensorOf(mosaic.Pattern{}) != 0 || SensorOf(mosaic.XTrans.Shift(2, 5)) != XTransSensor {
		t.Error("no pattern, or X-Trans in another phase")
	}
	for _, spec := range []string{"fast", "pynet-s", "pynet-random:x,width=2"} {
		m, err := Load(spec)
		if err != nil {
			t.Fatal(err)
		}
		if c := &m.Convention; !c.Takes(BayerSensor) || c.Takes(XTransSensor) || c.Takes(FullColour) || c.Takes(0) {
			t.Errorf("%s is for %v", spec, c.Sensors)
		}
	}
}
