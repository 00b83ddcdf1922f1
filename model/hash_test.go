package model

import (
	"maps"
	"slices"
	"testing"
)

// TestHash: findings about one model are not taken for another's.
func TestHash(t *testing.T) {
	load := func(spec string) *Model {
		m, err := Load(spec)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	base := load("pynet-s").Hash()
	if again := load("pynet-s").Hash(); again != base || len(base) != 16 {
		t.Errorf("the same model is %q and %q", base, again)
	}
	for name, change := range map[string]func(m *Model){
		"last weight": func(m *Model) { // of one that is more than a chunk
			d := m.Params[largest(m)].Data
			d[len(d)-1]++
		},
		"another name": func(m *Model) {
			m.Params["x"] = m.Params[largest(m)]
			delete(m.Params, largest(m))
		},
		"another graph": func(m *Model) { m.Graph.Out-- },
	} {
		m := load("pynet-s")
		if change(m); m.Hash() == base {
			t.Errorf("%s: the same hash", name)
		}
	}
}

// largest names the parameter with the most values, other than x.
func largest(m *Model) string {
	best := ""
	for _, name := range slices.Sorted(maps.Keys(m.Params)) {
		if name != "x" && (best == "" || len(m.Params[name].Data) > len(m.Params[best].Data)) {
			best = name
		}
	}
	return best
}
