package drivers

import (
	"os"
	"testing"
)

// TestConnections: contexts get one channel, unless the user chose or tensors may wait with the host.
func TestConnections(t *testing.T) {
	for _, c := range []struct {
		chosen, want string
		spills       bool
	}{{"", "1", false}, {"", "", true}, {"4", "4", false}, {"4", "4", true}} {
		t.Setenv("ENHANCE_CACHE_DIR", t.TempDir())
		t.Setenv(icdVendors, t.TempDir()) // no driver
		t.Setenv(connectionsEnv, c.chosen)
		if c.chosen == "" {
			os.Unsetenv(connectionsEnv)
		}
		Prepare(Options{Command: []string{"/nonexistent", "x"}, Spills: c.spills})
		if got := os.Getenv(connectionsEnv); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
