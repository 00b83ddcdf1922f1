package main

import (
	"bytes"
	"strings"
	"testing"

	"enhance/clrt"
	"enhance/pipeline"
	"enhance/pipeline/facts"
)

// TestForeignText: what a photo, a file name or a driver says is printed on one line and
// without escapes.
func TestForeignText(t *testing.T) {
	const evil = "A\x1b[2J\nB"
	const want = `A\x1b[2J\nB`
	r := &pipeline.Report{Input: evil, Warnings: []string{evil}}
	r.Photo.Make, r.Photo.Model = evil, "X"
	r.Device = facts.Device{Name: evil, Index: 0, Info: &clrt.DeviceInfo{Name: evil}}
	r.Output.Path = evil
	for name, write := range map[string]func(*bytes.Buffer){
		"short": func(b *bytes.Buffer) { writePlannedShort(b, r); writeDoneShort(b, r, nil) },
		"lines": func(b *bytes.Buffer) { newPhotoLines().done(b, r) },
	} {
		var b bytes.Buffer
		write(&b)
		if !strings.Contains(b.String(), want) || strings.Contains(b.String(), "\nB") || strings.Contains(b.String(), "\x1b") {
			t.Errorf("%s: %q", name, b.String())
		}
	}
}

func TestCameraName(t *testing.T) {
	for _, c := range []struct{ maker, model, want string }{
		{"Canon", "Canon EOS 5D", "Canon EOS 5D"},
		{"SONY", "ILCE-7M3", "SONY ILCE-7M3"},
		{"", "Pixel", "Pixel"},
		{"", " ", "unknown camera"},
	} {
		if got := cameraName(&facts.Photo{Make: c.maker, Model: c.model}); got != c.want {
			t.Errorf("%q %q: %q, want %q", c.maker, c.model, got, c.want)
		}
	}
}

// TestStarted: the start of the program counts where a person would notice it.
func TestStarted(t *testing.T) {
	for start, want := range map[float64]string{0: "time    0.61 s\n", 0.04: "time    0.61 s\n", 0.35: "time    0.61 s, after 0.35 s to start\n"} {
		r := &pipeline.Report{Seconds: facts.Seconds{Total: 0.61, Start: start}}
		var b bytes.Buffer
		if writeDoneShort(&b, r, nil); !strings.Contains(b.String(), want) {
			t.Errorf("%g: %q, want %q", start, b.String(), want)
		}
	}
}
