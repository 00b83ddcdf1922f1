package winograd

import (
	"slices"
	"testing"
)

// The table of builders says how many taps a variant has, so that it need not be
// constructed to be passed over; the construction must agree.
func TestVariantsForTaps(t *testing.T) {
	var all []Variant
	for _, k := range []int{3, 5, 7, 9} {
		vs := variantsFor(k)
		for _, v := range vs {
			c, err := v.compiled()
			if err != nil {
				t.Fatal(err)
			}
			if c.R != k {
				t.Errorf("%s: %d taps, listed for %d", v, c.R, k)
			}
		}
		all = append(all, vs...)
	}
	if !slices.Equal(all, Variants()) {
		t.Errorf("by taps %v, all %v", all, Variants())
	}
}
