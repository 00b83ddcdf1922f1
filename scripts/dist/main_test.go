package main

import (
	"bytes"
	"testing"
	"time"
)

// TestArchives: archives have the files with their modes, and the same bytes every time.
func TestArchives(t *testing.T) {
	files := []file{{"LICENSE", []byte("free\n"), 0o644}, {"enhance", bytes.Repeat([]byte{7}, 1000), 0o755}}
	when := time.Unix(1_700_000_000, 0).UTC()
	for i, write := range []func(*bytes.Buffer) error{
		func(b *bytes.Buffer) error { return writeTar(b, "enhance-1", files, when) },
		func(b *bytes.Buffer) error { return writeZip(b, "enhance-1", files, when) },
	} {
		var a, b bytes.Buffer
		if err := write(&a); err != nil {
			t.Fatal(err)
		}
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a.Bytes(), b.Bytes()) || a.Len() == 0 {
			t.Errorf("archive %d differs from one time to the next", i)
		}
	}
}

// TestCompanions: what goes with the program is there, and scripts can be run.
func TestCompanions(t *testing.T) {
	t.Chdir("../..")
	files, err := companions()
	if err != nil {
		t.Fatal(err)
	}
	modes := map[string]uint32{}
	for _, f := range files {
		modes[f.name] = uint32(f.mode)
	}
	for name, want := range map[string]uint32{"LICENSE": 0o644, "NOTICE": 0o644, "contrib/photoprism/enhance-darktable": 0o755, "contrib/darktable/enhance.lua": 0o644} {
		if modes[name] != want {
			t.Errorf("%s has mode %o, want %o", name, modes[name], want)
		}
	}
}
