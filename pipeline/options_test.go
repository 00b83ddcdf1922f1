package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"enhance/clrt"
	"enhance/internal/atomicfile"
	"enhance/internal/devices"
	"enhance/memplan"
	"enhance/model"
	"enhance/raw"
)

func TestParseWhiteBalanceAndExposure(t *testing.T) {
	for s, want := range map[string]WhiteBalance{
		"as-shot": {Mode: WBAsShot}, "auto": {Mode: WBAuto},
		"1.47,1,2.26": {Mode: WBGains, Gains: [3]float64{1.47, 1, 2.26}}, "2, 1, 3": {Mode: WBGains, Gains: [3]float64{2, 1, 3}},
		"cloudy": {Mode: WBLight, Light: "cloudy"}, "5500": {Mode: WBTemperature, Kelvin: 5500}, "5500K,-10": {Mode: WBTemperature, Kelvin: 5500, Tint: -10},
		"spot:10,20": {Mode: WBSpot, Spot: [2]int{10, 20}},
	} {
		if got, err := parseWhiteBalance(s); err != nil || got != want {
			t.Errorf("%q: %+v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "0,1", "1,2,3,4", "0,1,1", "-1,1,1", "NaN,1,1", "1,inf,1", "a,b,c", "daylights", "1000", "5500,200", "5500,x", "spot:1", "spot:-1,2", "spot:1,2,3"} {
		if _, err := parseWhiteBalance(s); Classify(err) != ClassOption {
			t.Errorf("%q: %v", s, err)
		}
	}
	for s, want := range map[string]Exposure{"auto": {Auto: true}, "2": {EV: 2, Given: true}, "-1.5": {EV: -1.5, Given: true}, "+1": {EV: 1, Given: true}, "0": {Given: true}, "auto+0.5": {Auto: true, Given: true, EV: 0.5}, "auto-1": {Auto: true, Given: true, EV: -1}} {
		if got, err := parseExposure(s); err != nil || got != want {
			t.Errorf("%q: %+v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "bright", "11", "NaN", "-inf"} {
		if _, err := parseExposure(s); Classify(err) != ClassOption {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestOutputComplete(t *testing.T) {
	for _, tt := range []struct {
		in   Output
		want Format
	}{
		{Output{Path: "a.png"}, PNG}, {Output{Path: "a.JPG"}, JPEG}, {Output{Path: "a.tiff", Bits: 16}, TIFF},
		{Output{Path: "a", Format: TIFF}, TIFF}, {Output{Path: "a.jpg", Format: PNG, Bits: 16}, PNG},
	} {
		if err := tt.in.complete(); err != nil || tt.in.Format != tt.want || tt.in.Bits == 0 || tt.in.Quality == 0 {
			t.Errorf("%+v: %v", tt.in, err)
		}
	}
	for _, o := range []Output{{}, {Path: "a"}, {Path: "a.bmp"}, {Path: "a.png", Bits: 12}, {Path: "a.jpg", Bits: 16}, {Path: "a.jpg", Quality: 101}, {Path: "a.jpg", Quality: -1}} {
		if err := o.complete(); Classify(err) != ClassOption {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestClassify(t *testing.T) {
	for want, errs := range map[Class][]error{
		ClassNone:        {nil},
		ClassOther:       {errors.New("x")},
		ClassOption:      {&raw.OptionError{}, &model.SpecError{}},
		ClassInput:       {&raw.FormatError{}, &raw.UnsupportedError{}, &model.WeightsError{Err: errors.New("x")}},
		ClassIO:          {&fs.PathError{Err: syscall.EIO}, &atomicfile.Error{Err: syscall.ENOSPC}, syscall.EPIPE},
		ClassDevice:      {&devices.Error{}, &clrt.NoOpenCLError{}, &clrt.BuildError{Err: errors.New("x")}},
		ClassBudget:      {&memplan.BudgetError{}, &memplan.AllocError{}, &MemoryError{Err: &clrt.Error{}}},
		ClassExists:      {&atomicfile.Error{Err: atomicfile.ErrExists}},
		ClassResult:      {&NonFiniteError{}},
		ClassQuality:     {&QualityError{}},
		ClassInterrupted: {context.Canceled, &FileError{Err: context.DeadlineExceeded}},
	} {
		for _, err := range errs {
			if got := Classify(err); got != want {
				t.Errorf("%T: class %d, want %d", err, got, want)
			}
			if err != nil {
				if got := Classify(fmt.Errorf("wrapped: %w", err)); got != want {
					t.Errorf("wrapped %T: class %d, want %d", err, got, want)
				}
			}
		}
	}
}

// FuzzOptions: option texts are understood or refused as options, never else.
func FuzzOptions(f *testing.F) {
	for _, s := range []string{"256M", "1.5g", "0", "auto", "as-shot", "1,2,3", "-2", "tif", "nvidia:1", "\x00", "9e99k", "1e-3,1e-5", "estimate"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n, err := parseNoise(s); err == nil && n.Mode == NoiseGiven {
			for _, l := range n.Levels {
				if !(l.S >= 0 && l.S <= 1 && l.O >= 0 && l.O <= 1) {
					t.Errorf("%q: noise levels %+v", s, n.Levels)
				}
			}
		}
		if wb, err := parseWhiteBalance(s); err == nil && wb.Mode == WBGains && !(min(wb.Gains[0], wb.Gains[1], wb.Gains[2]) > 0) {
			t.Errorf("white balance %q: %+v", s, wb)
		}
		if e, err := parseExposure(s); err == nil && !(e.EV >= -maxEV && e.EV <= maxEV) {
			t.Errorf("exposure %q: %+v", s, e)
		}
		if _, err := parseFormat(s); err != nil && Classify(err) != ClassOption {
			t.Errorf("format %q: %v", s, err)
		}
	})
}

// TestEarly: a device that is opened early is the one that runs use, and is closed
// with a session that never ran or could not be made.
func TestEarly(t *testing.T) {
	s, err := NewSession(Settings{DeviceOptions: DeviceOptions{Early: true}, Model: "pynet-random:early,width=4,level=4"})
	if err != nil {
		t.Fatal(err)
	}
	if s.device.choice.Device == nil {
		t.Skip("needs an OpenCL device")
	}
	cl := s.device.early
	in := Tensor{Shape: model.Shape{C: 4, H: 64, W: 64}, Data: model.FormulaTensor("early", "input", 4*64*64)}
	if _, _, err := s.RunTensor(t.Context(), TensorJob{Input: in}); err != nil {
		t.Fatal(err)
	}
	if cl == nil || cl.cl == nil || s.Context() != cl.cl {
		t.Error("the run did not use the context that was opened early")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if s, err = NewSession(Settings{DeviceOptions: DeviceOptions{Early: true}}); err != nil {
		t.Fatal(err)
	}
	cl = s.device.early
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := cl.cl.NewQueue(); err == nil {
		t.Error("a session that never ran left its context open")
	}
	if _, err := NewSession(Settings{DeviceOptions: DeviceOptions{Early: true}, Model: "no such file"}); err == nil {
		t.Error("a model that is not there was loaded")
	}
}
