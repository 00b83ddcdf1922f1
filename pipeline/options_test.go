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
		ClassIO:          {&fs.PathError{Err: syscall.EIO}, &atomicfile.Error{Err: syscall.ENOSPC}, syscall.EPIPE, &FileError{Err: context.DeadlineExceeded}},
		ClassDevice:      {&devices.Error{}, &clrt.NoOpenCLError{}, &clrt.BuildError{Err: errors.New("x")}},
		ClassBudget:      {&memplan.BudgetError{}, &memplan.AllocError{}, &MemoryError{Err: &clrt.Error{}}},
		ClassExists:      {&atomicfile.Error{Err: atomicfile.ErrExists}},
		ClassResult:      {&NonFiniteError{}},
		ClassQuality:     {&QualityError{}},
		ClassInterrupted: {context.Canceled, &FileError{Err: context.Canceled}, errors.Join(context.DeadlineExceeded, context.Canceled)},
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
	for _, s := range []string{"tif", ".JPG", "dng", "4:2:0", "444", "", "\x00", "jpeg."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if _, err := parseFormat(s); err != nil && Classify(err) != ClassOption {
			t.Errorf("format %q: %v", s, err)
		}
		var sub Subsampling
		if err := sub.UnmarshalText([]byte(s)); (err == nil) != (sub != "") || err != nil && Classify(err) != ClassOption {
			t.Errorf("subsampling %q: %q, %v", s, sub, err)
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
