package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestSearchFindsTheDefaultPoints(t *testing.T) {
	var out, errs bytes.Buffer
	if code := run([]string{"-m", "2", "-r", "3", "-top", "2", "-c", "4"}, &out, &errs); code != 0 {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	if !strings.Contains(out.String(), "F(2,3), 540 sets") || !strings.Contains(out.String(), "| 0, 1, -1, ∞ | 1.67 |") {
		t.Errorf("the best two of F(2,3) lack the default points:\n%s", out.String())
	}
}

func TestCandidatesAreDifferent(t *testing.T) {
	for n := 1; n <= 6; n++ {
		seen := map[string]bool{}
		for _, set := range candidates(n) {
			if len(set) != n {
				t.Fatalf("%v has %d points, want %d", set, len(set), n)
			}
			var key strings.Builder
			for _, p := range set {
				key.WriteString(p.String() + ",")
			}
			if seen[key.String()] {
				t.Fatalf("%v comes twice", set)
			}
			seen[key.String()] = true
		}
		if len(seen) == 0 {
			t.Fatalf("no set of %d points", n)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
	}{{"-m x", 2}, {"-m 0", 1}, {"-r 99999999", 1}, {"-m 9 -r 9", 1}, {"-m 2 -r 2 -c 0", 1}, {"-m 2 -r 2 -top -1", 1}} {
		var out, errs bytes.Buffer
		if code := run(strings.Fields(c.args), &out, &errs); code != c.code || errs.Len() == 0 {
			t.Errorf("%s: exit %d, want %d; stderr %q", c.args, code, c.code, errs.String())
		}
	}
}

func TestTablesNameEverySet(t *testing.T) {
	var out bytes.Buffer
	if err := printTables(&out, 1); err != nil {
		t.Fatal(err)
	}
	for _, s := range namedSets() {
		if !strings.Contains(out.String(), "| "+s.name+" |") {
			t.Errorf("no row for %s", s.name)
		}
		if err := s.t.Verify(); err != nil {
			t.Error(err)
		}
	}
}
