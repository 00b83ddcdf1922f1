package pipeline

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"enhance/clrt"
	"enhance/internal/exec"
	"enhance/internal/findings"
	"enhance/internal/imgio"
	"enhance/internal/planar"
	"enhance/raw"
	"enhance/raw/mosaic"
)

// TestPictures: the device's kernels that make pictures pass their checks.
func TestPictures(t *testing.T) {
	needDevice(t)
	all, err := clrt.Devices()
	if err != nil {
		t.Fatal(err)
	}
	cl, err := clrt.NewContext(all[0])
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for _, p := range []planar.Precision{planar.FP32, planar.FP16} {
		apart, err := CheckPictures(context.Background(), cl, all[0].Info(), p)
		if err != nil {
			t.Errorf("%v: %v", p, err)
		}
		t.Logf("%v: codes are %d apart at most", p, apart)
	}
	if n := cl.Live(); n != 0 {
		t.Errorf("%d bytes are left", n)
	}
}

// TestWrongSamples: where one of the kernels that take samples is wrong, the host prepares them.
func TestWrongSamples(t *testing.T) {
	for i := range 2 {
		s := &Session{kernels: newPhotoKernels()}
		k := []*findings.Kernel{&s.kernels.samples, &s.kernels.octets}[i]
		if err := s.kernels.Keep(t.Context(), nil, k, planar.FP16, errors.New("wrong")); err != nil {
			t.Fatal(err)
		}
		var warnings []string
		c := &computation{session: s, samples: true, warn: func(text string) { warnings = append(warnings, text) }}
		if !c.avoidWrong(planar.FP16) || c.samples || len(warnings) != 1 || !strings.Contains(warnings[0], "(wrong): the host prepares them") {
			t.Errorf("%s: samples %v, %q", k.Name, c.samples, warnings)
		}
		c = &computation{session: s, samples: true}
		if c.avoidWrong(planar.FP32) || !c.samples {
			t.Errorf("%s: wrong in fp16, and avoided in fp32", k.Name)
		}
	}
}

// TestWrongPhotoKernels: what a driver makes wrong of the kernels beside the network is done by
// the host, with a note; it is tried once in a session.
func TestWrongPhotoKernels(t *testing.T) {
	needDevice(t)
	const w, h = 97, 65
	for _, c := range []struct{ samples, picture error }{
		{errors.New("wrong samples"), nil},
		{nil, &clrt.BuildError{Err: errors.New("no such builtin"), Log: "line 1\nline 2"}},
		{errors.New("wrong samples"), errors.New("wrong picture")},
	} {
		want := developed(t, Settings{}, Job{}, w, h, c.picture == nil)
		t.Setenv("ENHANCE_CACHE_DIR", t.TempDir()) // no notes of other sessions
		s, err := NewSession(Settings{})
		if err != nil {
			t.Fatal(err)
		}
		tries := 0
		replaced := map[*findings.Kernel]error{&s.kernels.samples: c.samples, &s.kernels.sharpened: c.picture}
		for k, wrong := range replaced {
			k.Check = func(context.Context, *clrt.Context, *clrt.DeviceInfo, exec.Options) error {
				tries++
				return wrong
			}
		}
		for range 2 {
			b, cfa, black, white := bright(w, h, w*h), mosaic.GBRG, 512.0, 60000.0
			var out bytes.Buffer
			j := Job{Input: "scene", Reader: bytes.NewReader(b), Size: int64(len(b)), Raw: raw.Options{Width: w, Height: h, CFA: &cfa, Black: &black, White: &white}}
			j.Output.Writer, j.Output.Bits, j.Output.Format = &out, 16, PNG
			j.WB = sceneWB
			r, err := s.begin(context.Background(), j)
			if err != nil {
				t.Fatal(err)
			}
			rep, err := r.finish()
			if err != nil {
				t.Fatal(err)
			}
			if samples, pixels := r.network.plan.TakesSamples(), r.network.makesPixels(); samples != (c.samples == nil) || pixels != (c.picture == nil) {
				t.Errorf("%v, %v: the device takes samples: %v, makes the picture: %v", c.samples, c.picture, samples, pixels)
			}
			for about, wrong := range map[string]error{"takes a photo's samples is wrong": c.samples, "make a picture are wrong": c.picture} {
				n := len(slices.DeleteFunc(slices.Clone(rep.Warnings), func(s string) bool { return !strings.Contains(s, about) || strings.Contains(s, "\n") }))
				if (n == 1) != (wrong != nil) || n > 1 {
					t.Errorf("%v, %v: %d notes in %q", c.samples, c.picture, n, rep.Warnings)
				}
			}
			if !rep.Memory.AsPlanned {
				t.Errorf("the device held %d bytes, planned were %d", rep.Memory.Peak, rep.Plan.Peak)
			}
			im, err := imgio.DecodeRGB16(bytes.NewReader(out.Bytes()), int64(out.Len()))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(im.Pix, want) {
				t.Errorf("%v, %v: other codes than without checks", c.samples, c.picture)
			}
		}
		kept, _ := s.device.findings().Store().Load()
		for k, wrong := range replaced {
			notes := slices.DeleteFunc(slices.Collect(maps.Keys(kept.Notes)), func(note string) bool { return !strings.HasPrefix(note, k.Name+" fp32 ") })
			if (len(notes) == 1) != (wrong == nil) || len(notes) == 1 && kept.Notes[notes[0]] != "right" {
				t.Errorf("%v, %v: the notes of %s are %q", c.samples, c.picture, k.Name, notes)
			}
		}
		if tries != 2 {
			t.Errorf("%d checks in a session of two photos", tries)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
