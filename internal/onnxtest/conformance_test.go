package onnxtest

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"enhance/model"
	"enhance/model/ref"
)

var update = flag.Bool("update", false, "write testdata again: what the tests do now, and the part of them that comes along")

const expectationsFile = "testdata/expectations.toml"

// TestConformance runs the suite on the host executor. A test that does anything else than what is known of it is an
// error, also if it has become better.
func TestConformance(t *testing.T) {
	cases, whole := Open(t)
	if !whole {
		t.Logf("shared/onnx is not there: %d tests of testdata/subset.tar.gz are run and the rest is not", len(cases))
	}
	host := func(m *model.Model, in []float32, h, w int) ([]float32, error) {
		out, _, err := ref.Run(t.Context(), m, in, h, w, ref.Options{})
		return out, err
	}
	now := Expectations{}
	for _, c := range cases {
		now[c.Name] = OutcomeOf(c.Run(host))
	}
	if *update {
		if !whole {
			t.Fatal("-update needs shared/onnx")
		}
		rewrite(t, cases, now)
	}
	text, err := os.ReadFile(expectationsFile)
	if err != nil {
		t.Fatal(err)
	}
	known, err := ReadExpectations(text)
	if err != nil {
		t.Fatal(err)
	}
	count, listed, passed := map[string]int{}, 0, 0
	for _, c := range cases {
		if c.Listed() {
			listed++
			if now[c.Name].State == "pass" {
				passed++
			} else {
				t.Logf("%s: %s", c.Name, now[c.Name].Why)
			}
		}
	}
	for name, o := range now {
		count[o.State]++
		switch want := known[name]; {
		case want.State == "":
			t.Errorf("%s is not in %s", name, expectationsFile)
		case o.State != want.State:
			t.Errorf("%s: %s %s, known to %s %s", name, o.State, o.Why, want.State, want.Why)
		case want.State != "pass" && strings.TrimSpace(want.Why) == "":
			t.Errorf("%s: no reason is given", name)
		}
	}
	if whole && len(known) != len(now) {
		t.Errorf("%d tests are known, %d are there", len(known), len(now))
	}
	t.Logf("%d of %d tests of one listed operation on float32 pass: %.1f %%", passed, listed, 100*float64(passed)/float64(listed))
	t.Logf("%d pass, %d are skipped, %d fail", count["pass"], count["skip"], count["fail"])
}

// rewrite writes the expectations and the tests that pass and are small.
func rewrite(t *testing.T, cases []*Case, now Expectations) {
	const largest = 12 << 10
	var b bytes.Buffer
	if err := WriteExpectations(&b, now); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(expectationsFile), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(expectationsFile, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	var part []*Case
	for _, c := range cases {
		size := len(c.Model)
		for _, t := range append(c.Inputs, c.Outputs...) {
			size += len(t)
		}
		if now[c.Name].State == "pass" && size < largest {
			part = append(part, c)
		}
	}
	b.Reset()
	if err := Write(&b, part); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("testdata/subset.tar.gz", b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
