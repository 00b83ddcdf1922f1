package main

import (
	"bytes"
	"testing"

	"enhance/pipeline"
)

// TestTellTuning: compilation is not called tuning.
func TestTellTuning(t *testing.T) {
	var say bytes.Buffer
	var set pipeline.Settings
	tellTuning(&set, &say, false, false)
	set.Compiling("compiling")
	set.Tell("measuring")
	if want := "kernels compiling\ntune    measuring\n"; say.String() != want {
		t.Errorf("%q, want %q", say.String(), want)
	}
	set = pipeline.Settings{}
	if tellTuning(&set, &say, true, true); set.Tell != nil || set.Compiling != nil || set.Debug != nil {
		t.Error("a quiet program speaks")
	}
}
