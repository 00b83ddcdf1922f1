package clrt_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"enhance/clrt"
)

// TestPruneCache: the entries that were not used for longest go, and nothing but entries.
func TestPruneCache(t *testing.T) {
	dir := t.TempDir()
	for i := range 6 {
		name := filepath.Join(dir, fmt.Sprintf("%d.clbin", (i*5)%6)) // names do not tell the age
		must(t, os.WriteFile(name, make([]byte, 100), 0o644))
		at := time.Now().Add(time.Duration(i-10) * time.Hour)
		must(t, os.Chtimes(name, at, at))
	}
	must(t, os.WriteFile(filepath.Join(dir, "other"), make([]byte, 1000), 0o644))
	for _, c := range []struct {
		limit int64
		gone  int // of the oldest
	}{{600, 0}, {599, 1}, {300, 3}, {0, 6}} {
		clrt.PruneCache(dir, c.limit)
		for i := range 6 {
			_, err := os.Stat(filepath.Join(dir, fmt.Sprintf("%d.clbin", (i*5)%6)))
			if (err != nil) != (i < c.gone) {
				t.Errorf("limit %d: entry %d of age: %v", c.limit, i, err)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "other")); err != nil {
		t.Error(err)
	}
	clrt.PruneCache(filepath.Join(dir, "none"), 0)
}
