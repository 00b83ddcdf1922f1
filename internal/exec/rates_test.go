package exec_test

import (
	"testing"

	"enhance/clrt"
	"enhance/internal/convtest"
	"enhance/internal/exec"
)

// TestMeasureRates measures the device, as one that shares the host's memory and
// as one that does not, within a small budget.
func TestMeasureRates(t *testing.T) {
	for _, shared := range []bool{true, false} {
		ctx, err := clrt.NewContext(convtest.Device(t))
		if err != nil {
			t.Fatal(err)
		}
		const budget = 4 << 20
		r, err := exec.MeasureRates(ctx, shared, budget)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("shared %v: %v", shared, r)
		if n := ctx.Live(); n != 0 {
			t.Errorf("%d bytes are left", n)
		}
		if n := ctx.Peak(); n > budget {
			t.Errorf("%d bytes were held of %d", n, budget)
		}
		if again, err := exec.ParseRates(r.String()); err != nil {
			t.Errorf("%q is not read: %v", r, err)
		} else if again.String() != r.String() {
			t.Errorf("%q is read as %q", r, again)
		}
		if err := ctx.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestParseRates(t *testing.T) {
	for _, s := range []string{"", "launch=1", "launch=1 hop=1 up=1 down=1 both=1 memory=0", "launch=1 hop=1 up=1 down=1 both=1 memory=NaN",
		"launch=1 hop=1 up=-1 down=1 both=1 memory=1", "launch=1 hop=+Inf up=1 down=1 both=1 memory=1"} {
		if r, err := exec.ParseRates(s); err == nil {
			t.Errorf("%q is read as %v", s, r)
		}
	}
}
