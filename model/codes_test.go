package model

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// quantizedTiny is a small pynet-m with codes for all that can have them.
func quantizedTiny(t *testing.T) (m, q *Model) {
	t.Helper()
	m, err := Load("pynet-m-random:1")
	if err != nil {
		t.Fatal(err)
	}
	convs, codes := m.Graph.Quantizable(), map[string]CodeStep{}
	for _, i := range convs {
		codes[m.Graph.Nodes[m.Graph.Nodes[i].In[0]].Name] = CodesFor(-1, 3)
	}
	if q, err = Quantize(m, convs, codes); err != nil {
		t.Fatal(err)
	}
	return m, q
}

func TestQuantizable(t *testing.T) {
	m, q := quantizedTiny(t)
	var names []string
	for _, i := range m.Graph.Quantizable() {
		names = append(names, m.Graph.Nodes[i].Name)
	}
	for _, not := range []string{"stem", "skip", "head"} {
		if slices.Contains(names, not) {
			t.Errorf("%s reads the input or makes the result: it stays as it is", not)
		}
	}
	if len(names) != 12 {
		t.Errorf("%d convolutions can be quantised, want 12: %v", len(names), names)
	}
	if left := q.Graph.Quantizable(); len(left) != 0 {
		t.Errorf("%d convolutions of codes can be quantised again", len(left))
	}
	if _, err := Quantize(m, m.Graph.Quantizable(), nil); err == nil || !strings.Contains(err.Error(), "no codes are given") {
		t.Errorf("without codes: error %v", err)
	}
}

// TestCodesFile: what Write writes of a quantised network, Load reads, its weights a byte each.
func TestCodesFile(t *testing.T) {
	m, q := quantizedTiny(t)
	sizes := map[*Model]int{}
	for _, net := range []*Model{m, q} {
		var b bytes.Buffer
		if err := Write(&b, net); err != nil {
			t.Fatal(err)
		}
		sizes[net] = b.Len()
		if net == m {
			continue
		}
		path := filepath.Join(t.TempDir(), "q.safetensors")
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got.Graph, q.Graph) {
			t.Error("the graph is another")
		}
		for name, p := range q.Params {
			if !reflect.DeepEqual(got.Params[name], p) {
				t.Errorf("parameter %s is another", name)
			}
		}
	}
	if 2*sizes[q] > sizes[m] {
		t.Errorf("%d bytes where the network of samples takes %d", sizes[q], sizes[m])
	}
}

func TestCodesRefused(t *testing.T) {
	_, q := quantizedTiny(t)
	for name, test := range map[string]struct{ codes, want string }{
		"no JSON":       {"{", "metadata codes"},
		"none":          {"{}", "says nothing of"},
		"other values":  {strings.Replace(q.Meta[metaCodes], "{", `{"head":{"step":1},`, 1), `speaks of "head"`},
		"zero of 300":   {strings.ReplaceAll(q.Meta[metaCodes], `"zero":64`, `"zero":300`), "300 as the code of zero"},
		"negative step": {strings.ReplaceAll(q.Meta[metaCodes], `"step":`, `"step":-`), "want 1e-30"},
	} {
		meta := maps.Clone(q.Meta)
		meta["arch"], meta[metaCodes] = q.Arch, test.codes
		if _, err := assemble(q.Params, meta, AnyLevel); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, test.want)
		}
	}
}
