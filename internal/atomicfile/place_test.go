package atomicfile

import (
	"os"
	"path/filepath"
	"testing"
)

// TestSame: one file by its spellings and links, there or to come, and other files.
func TestSame(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	put(t, "a", "a", 0o644)
	put(t, "b", "a", 0o644)
	for _, err := range []error{os.Mkdir("d", 0o755), os.Link("a", "hard"), os.Symlink("a", "soft"), os.Symlink("d", "e"), os.Symlink("none", "dangling")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		p, q string
		want bool
	}{
		{"a", "a", true},
		{"a", "./d/../a", true},
		{"a", filepath.Join(dir, "a"), true},
		{"a", "hard", true},
		{"soft", "a", true},
		{"a", "b", false},
		{"new", "./new", true},
		{"d/new", "e/new", true},
		{"d/new", filepath.Join(dir, "e", "new"), true},
		{"d/new", "new", false},
		{"new", "newer", false},
		{"new", "a", false},
		{"none/new", "none/./new", true},
		{"none/new", "d/new", false},
		{"dangling", "b", false},
	} {
		if got := Locate(c.p).Same(Locate(c.q)); got != c.want {
			t.Errorf("%s, %s: %t, want %t", c.p, c.q, got, c.want)
		}
		if Locate(c.p).Hash() != Locate(c.q).Hash() && c.want {
			t.Errorf("%s, %s: the same place has two hashes", c.p, c.q)
		}
		if got := Locate(c.q).Same(Locate(c.p)); got != c.want {
			t.Errorf("%s, %s: %t, want %t", c.q, c.p, got, c.want)
		}
	}
}
