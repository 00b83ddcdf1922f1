package main

import (
	"slices"
	"strings"
	"testing"
)

// TestComplete: what command lines could go on with, the last word being completed. A
// list that ends in "..." may have more.
func TestComplete(t *testing.T) {
	for line, want := range map[string]string{
		"":                              "apply classify compare watch serve inspect explain plan-table tune selftest model bench eval farm help version completion man :files",
		"pl":                            "plan-table :files",
		"model ":                        "info import quantize run",
		"model i":                       "info import",
		"model info ":                   "any best fast max pynet pynet-s :files",
		"bench conv --su":               "--suite",
		"bench gemm --suite e":          "edinburgh",
		"bench gemm ":                   "",
		"photo.dng --pre":               "--precision",
		"photo.dng --precision f":       "fp32 fp16",
		"photo.dng --precision = f":     "fp32 fp16", // as bash splits it
		"photo.dng --precision=f":       "--precision=fp32 --precision=fp16",
		"photo.dng --precision = ":      "fp32 tf32 fp16 bf16 auto",
		"photo.dng -b ":                 "8 16 32",
		"photo.dng -o ":                 ":files",
		"photo.dng --quality ":          "",
		"photo.dng --dry-run=":          "",
		"photo.dng --nosuch=":           "",
		"photo.dng ":                    ":files",
		"tune --device-profile":         "",
		"completion ":                   "bash zsh fish",
		"help ver":                      "version",
		"explain --device-profile rtx-": "rtx-3060 :files",
		"eval --compare ":               "libraw rawtherapee",
	} {
		var got []string
		for _, a := range complete(strings.Split(line, " ")) {
			got = append(got, strings.SplitN(a, "\t", 2)[0])
		}
		if !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	if got := complete(nil); len(got) == 0 {
		t.Error("nothing completes an empty line")
	}
	for _, a := range complete([]string{"--dev"}) {
		if !strings.Contains(a, "\t") {
			t.Errorf("%q has no description", a)
		}
	}
}

// FuzzComplete: any words have an answer of lines that the shells' scripts can read.
func FuzzComplete(f *testing.F) {
	for _, line := range []string{"", "pl", "model i", "bench conv --suite = u", "x --precision=f", "-", "--", "--=", "=", "= = =", "help\nhelp"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words := strings.Split(line, " ")
		for _, a := range complete(words) {
			if a == "" || strings.ContainsAny(a, "\n\r") {
				t.Errorf("%q: an answer is %q", words, a)
			}
		}
	})
}
