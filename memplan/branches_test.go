package memplan_test

import (
	"fmt"
	"strings"
	"testing"

	"enhance/internal/fuse"
	"enhance/memplan"
	"enhance/model"
)

// TestBranches divides ensembles at their branches, and a network that is one nowhere. One branch at a
// time takes less memory than all.
func TestBranches(t *testing.T) {
	for _, name := range []string{"fast", "best", "max"} {
		m, err := model.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		single := branchRequest(t, m)
		if cuts := memplan.Branches(single); len(cuts) != 0 {
			t.Errorf("%s is divided at steps %v", name, cuts)
		}
		if m, err = m.Ensemble(8); err != nil {
			t.Fatal(err)
		}
		req := branchRequest(t, m)
		cuts := memplan.Branches(req)
		if len(cuts) != 7 {
			t.Errorf("an ensemble of 8 of %s is divided at steps %v, want 7 of them", name, cuts)
			continue
		}
		for i, cut := range cuts {
			if s := req.Program.Steps[cut].Name; !strings.HasPrefix(s, fmt.Sprintf("ensemble.%d.", i+1)) || strings.HasSuffix(s, ".skip") {
				t.Errorf("branch %d of an ensemble of %s begins with %s", i+1, name, s)
			}
		}
		least, err := memplan.Minimum(req)
		if err != nil {
			t.Fatal(err)
		}
		if all := memplan.Stream(req, 2, 0).Held(); 2*least > all {
			t.Errorf("an ensemble of 8 of %s needs %d bytes, and %d with all branches at a time", name, least, all)
		}
	}
}

func branchRequest(t *testing.T, m *model.Model) *memplan.Request {
	p, err := fuse.Fuse(m.Graph, 256, 256)
	if err != nil {
		t.Fatal(err)
	}
	return request(p)
}
