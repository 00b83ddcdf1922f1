package exec

import (
	"testing"

	"enhance/clrt"
)

// TestPackingRoom: only beside a device with memory of its own, and where the host's is
// not scarce, is more packed ahead.
func TestPackingRoom(t *testing.T) {
	for _, c := range []struct {
		unified, saving bool
		want            int64
	}{{true, false, 32 << 20}, {true, true, 32 << 20}, {false, true, 32 << 20}, {false, false, 256 << 20}} {
		j := &Job{Info: &clrt.DeviceInfo{Type: clrt.GPU, Unified: c.unified}, opt: Options{SaveHostMemory: c.saving}}
		if ahead, garbage := j.packingRoom(); ahead != c.want || garbage != c.want {
			t.Errorf("shared %v, saving  %v: %d and %d bytes, want %d", c.unified, c.saving, ahead, garbage, c.want)
		}
	}
}
