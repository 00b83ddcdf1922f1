package pipeline

import (
	"errors"
	"strings"
	"testing"

	"enhance/clrt"
	"enhance/internal/exec"
)

// TestAlgoError: an algorithm that cannot do a step is the fault of the option that
// asked for it; where none can, of the device.
func TestAlgoError(t *testing.T) {
	s := &Session{device: &device{set: &Settings{}, info: &clrt.DeviceInfo{Name: "a toy"}}}
	for _, c := range []struct {
		asked bool
		class Class
		start string
	}{{true, ClassOption, "--algo: step stem "}, {false, ClassDevice, "device: a toy cannot run the network: step stem "}} {
		err := s.algoError(&exec.AlgoError{Asked: c.asked, Step: "stem", Err: errors.New("no")})
		if Classify(err) != c.class || !strings.HasPrefix(err.Error(), c.start) {
			t.Errorf("asked for: %v: %v", c.asked, err)
		}
	}
	other := errors.New("another")
	if err := s.algoError(other); err != other {
		t.Errorf("%v became %v", other, err)
	}
}

// TestLowHostMemory: a bound of the host's memory, or too little of it, has the session save host memory; to
// ask for no bound does not.
func TestLowHostMemory(t *testing.T) {
	for _, c := range []struct {
		asked Budget
		avail int64
		known bool
		low   bool
	}{
		{Budget{}, scarce, true, false}, {Budget{}, scarce - 1, true, true}, {Budget{}, 0, false, false},
		{Unlimited(), 1, true, false}, {Limit(64 << 30), 1 << 40, true, true},
	} {
		s := &Session{set: Settings{HostMemory: c.asked}, host: &hostMemory{available: func() (int64, bool) { return c.avail, c.known }}}
		if got := s.lowHostMemory(); got != c.low {
			t.Errorf("--host-mem %v, %d available (known: %v): saving host memory %v", c.asked, c.avail, c.known, got)
		}
	}
}
