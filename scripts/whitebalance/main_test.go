package main

import (
	"os"
	"testing"
)

// TestPhotos holds the estimate over 48 photos to 7 degrees on average, and 15 in the worst
// quarter.
func TestPhotos(t *testing.T) {
	const dir = "../../../shared/data/photos"
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("NO PHOTOS in %s", dir)
	}
	r, err := measure(dir, func(string, ...any) {})
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string][]float64{"recovery": r.recovery, "reproduction": r.reproduction} {
		t.Logf("%s: mean %.2f degrees, worst quarter %.2f", name, average(v), worstQuarter(v))
		if average(v) > 7 || worstQuarter(v) > 15 {
			t.Errorf("%s: mean %.2f degrees, worst quarter %.2f; want 7 and 15", name, average(v), worstQuarter(v))
		}
	}
}
