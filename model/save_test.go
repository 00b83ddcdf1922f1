package model

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestWriteAndLoad(t *testing.T) {
	for _, spec := range []string{
		"pynet-s", "pynet-random:s,width=2", "pynet-random:s,width=2,level=3,norm1=false", "pynet-random:s,width=2,level=5,norm=false,norm1=false",
		"pynet-random:s,width=2,norm=false,norm1=false,end=shuffle", "pynet-m-random:s", "pynet-m-random:s,planes=24",
	} {
		m, err := Load(spec)
		if err != nil {
			t.Fatal(err)
		}
		m.Convention.Gamma = 1.8
		m.Convention.Pack = [4][2]int{{1, 0}, {0, 0}, {1, 1}, {0, 1}}
		if m.Convention.NoisePlanes == 0 {
			m.Convention.SubtractBlack = !m.Convention.SubtractBlack
		}
		m.Convention.Curve, m.Convention.Clip = 1-m.Convention.Curve, 1-m.Convention.Clip
		m.Convention.Output = 1 - m.Convention.Output
		m.Convention.Divisor = 0.1
		path := filepath.Join(t.TempDir(), "m.safetensors")
		if err := writeFile(path, m); err != nil {
			t.Fatal(err)
		}
		got, err := Load(path)
		if err != nil {
			t.Fatalf("%s: %v", spec, err)
		}
		if got.Arch != m.Arch || got.Convention != m.Convention {
			t.Errorf("%s: arch %q, convention %+v, want %q, %+v", spec, got.Arch, got.Convention, m.Arch, m.Convention)
		}
		if !reflect.DeepEqual(got.Graph, m.Graph) || !reflect.DeepEqual(got.Params, m.Params) {
			t.Errorf("%s: another graph or other weights came back", spec)
		}
		for key, value := range m.Meta {
			if got.Meta[key] != value {
				t.Errorf("%s: metadata %s became %q, was %q", spec, key, got.Meta[key], value)
			}
		}
		var first, second bytes.Buffer
		if err := errors.Join(Write(&first, m), Write(&second, got)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("%s: written twice, the files differ", spec)
		}
	}
}

// writeFile writes a model to a new file.
func writeFile(path string, m *Model) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(Write(f, m), f.Close())
}

func TestWriteRefuses(t *testing.T) {
	m, err := Load("pynet-random:s,width=2,level=5")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	m.Params["conv_l5_out.conv2d.bias"].Data[1] = float32(math.NaN())
	if err := Write(&out, m); err == nil || !strings.Contains(err.Error(), "conv_l5_out.conv2d.bias") {
		t.Errorf("NaN: error %v", err)
	}
	m.Params["conv_l5_out.conv2d.bias"].Data[1] = 0
	m.Arch = "unet"
	if err := Write(&out, m); err == nil {
		t.Error("an unknown architecture is written")
	}
	if out.Len() > 0 {
		t.Errorf("%d bytes were written", out.Len())
	}
}

// TestLoadStateDict reads a small PyNET, saved as float16 under a DataParallel's names.
func TestLoadStateDict(t *testing.T) {
	for _, format := range []string{"zip", "old"} {
		m, err := Load(filepath.Join("pickle", "testdata", "pynet."+format+".pth"))
		if err != nil {
			t.Fatal(err)
		}
		want := PyNETOptions{Level: 5, Width: 2, InstanceNorm: true}
		meta := make(map[string]string)
		want.toMeta(meta)
		if m.Arch != "pynet" || !maps.Equal(m.Meta, meta) || m.Convention != pynetConvention(5) {
			t.Errorf("%s: %s %v", format, m.Arch, m.Meta)
		}
		for name, p := range FormulaParams("file", PyNET(want)) {
			for i, v := range p.Data {
				// Half an ulp of float16, or half the smallest subnormal.
				limit := max(math.Abs(float64(v))/(1<<11), 1.0/(1<<25))
				if d := math.Abs(float64(m.Params[name].Data[i] - v)); !(d <= limit) {
					t.Fatalf("%s: %s element %d is %g, want %g", format, name, i, m.Params[name].Data[i], v)
				}
			}
		}
		if _, err := LoadLevel(filepath.Join("pickle", "testdata", "pynet."+format+".pth"), 4); err == nil {
			t.Errorf("%s: level 4 of weights down to level 5 is accepted", format)
		}
	}
	_, err := Load(filepath.Join("pickle", "testdata", "foreign.zip.pth"))
	var weights *WeightsError
	if !errors.As(err, &weights) || !strings.Contains(err.Error(), "torch.device") {
		t.Errorf("a foreign class: error %v", err)
	}
}

// TestPyTorch has PyTorch save the formula's weights, computed by Python, and
// loads them at every level.
func TestPyTorch(t *testing.T) {
	python := "/usr/bin/python3"
	if err := exec.Command(python, "-c", "import torch").Run(); err != nil {
		t.Skipf("%s cannot import torch (Debian: python3-torch): %v", python, err)
	}
	whole := PyNET(PyNETOptions{Width: 2, InstanceNorm: true, InstanceNormLevel1: true, SideOutputs: true})
	var names strings.Builder
	for _, s := range whole.Params() {
		fmt.Fprintln(&names, s.Name, strings.Trim(fmt.Sprint(s.Shape), "[]"))
	}
	path := filepath.Join(t.TempDir(), "m")
	c := exec.Command(python, filepath.Join("pickle", "testdata", "make.py"), "formula", "torch", path)
	c.Stdin = strings.NewReader(names.String())
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := FormulaParams("torch", whole)
	for _, format := range []string{"zip", "old"} {
		for level := range 6 {
			m, err := LoadLevel(path+"."+format+".pth", level)
			if err != nil {
				t.Fatal(err)
			}
			if m.Meta[metaLevel] != fmt.Sprint(level) || m.Meta[metaNorm1] != "true" {
				t.Errorf("%s: level %d is loaded as %v", format, level, m.Meta)
			}
			for name, p := range m.Params {
				if !slices.Equal(p.Shape, want[name].Shape) || !slices.EqualFunc(p.Data, want[name].Data, sameBits) {
					t.Errorf("%s: %s differs from the formula", format, name)
				}
			}
		}
	}
}

func sameBits(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }
