package raw

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"enhance/raw/libraw"
)

const readArgument = "__read-photo"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == readArgument {
		os.Exit(libraw.Serve())
	}
	os.Exit(m.Run())
}

// viaLibRaw are options with which makers' formats are read; a test without LibRaw is
// skipped.
func viaLibRaw(t *testing.T) Options {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	opt := Options{LibRaw: []string{self, "test", readArgument}}
	p, err := Open(samples+"DC50.kdc", opt)
	var ue *UnsupportedError
	if errors.As(err, &ue) && strings.Contains(err.Error(), "install LibRaw") {
		t.Skipf("reading through LibRaw is not tested: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	return opt
}

// TestMakersFormats opens by name and through a reader that is no file, and reads the
// same; the process's memory is told, and ends with Close.
func TestMakersFormats(t *testing.T) {
	opt := viaLibRaw(t)
	for _, name := range []string{"PowerShotG2.crw", "DC50.kdc", "DC120.kdc"} {
		t.Run(name, func(t *testing.T) {
			p := mustOpen(t, samples+name, opt)
			want := readAll(t, p)
			data, err := os.ReadFile(samples + name)
			if err != nil {
				t.Fatal(err)
			}
			q, err := openBytes(append(data, 0)[:len(data)], opt)
			if err != nil {
				t.Fatal(err)
			}
			defer q.Close()
			if got := readAll(t, q); !slices.Equal(got, want) {
				t.Error("the samples differ")
			}
			if bound, peak := p.Apart(); bound < 1<<20 || peak > bound {
				t.Errorf("bound %d, peak %d", bound, peak)
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			if _, err := openBytes(data, Options{}); err == nil {
				t.Error("no error without LibRaw's command")
			}
		})
	}
}

// TestDNGStaysHere: a DNG file that is refused is refused by name whatever LibRaw could
// do with it.
func TestDNGStaysHere(t *testing.T) {
	opt := viaLibRaw(t)
	b := dngBytes(t, smallSpec())
	at := bytes.Index(b, []byte{3, 1, 3, 0, 1, 0, 0, 0}) // Compression
	b[at+8] = 9
	if _, err := openBytes(b, opt); err == nil || !strings.Contains(err.Error(), "VC-5") {
		t.Errorf("%v, want VC-5 by name", err)
	}
}

// TestExifAgainstExiftool holds the block that pictures get against what exiftool reads
// from the photo itself.
func TestExifAgainstExiftool(t *testing.T) {
	need(t, "exiftool")
	opt := viaLibRaw(t)
	tags := []string{"Make", "Model", "DateTimeOriginal", "ISO", "ExposureTime", "FNumber", "FocalLength"}
	ask := func(path string) map[string]any {
		args := []string{"-j", "-n"}
		for _, tag := range append(tags, "Aperture", "ModifyDate", "TargetExposureTime") {
			args = append(args, "-"+tag)
		}
		out, err := exec.Command("exiftool", append(args, path)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		var all []map[string]any
		if err := json.Unmarshal(out, &all); err != nil || len(all) != 1 {
			t.Fatal(err, string(out))
		}
		return all[0]
	}
	for _, name := range []string{"PowerShotG2.crw", "DC50.kdc", "DC120.kdc"} {
		p := mustOpen(t, samples+name, opt)
		block := filepath.Join(t.TempDir(), "exif.tif")
		if err := os.WriteFile(block, p.Meta().Exif, 0o666); err != nil {
			t.Fatal(err)
		}
		got, want := ask(block), ask(samples+name)
		for tag, stand := range map[string]string{"FNumber": "Aperture", "DateTimeOriginal": "ModifyDate"} {
			if want[tag] == nil {
				want[tag] = want[stand]
			}
		}
		if v := want["TargetExposureTime"]; v != nil { // LibRaw takes a CRW's, not the one that became of it
			want["ExposureTime"] = v
		}
		compared := 0
		for _, tag := range tags {
			if want[tag] == nil {
				continue
			}
			compared++
			if !sameTag(got[tag], want[tag]) {
				t.Errorf("%s: %s is %v, exiftool reads %v", name, tag, got[tag], want[tag])
			}
		}
		if compared < 5 {
			t.Errorf("%s: only %d tags to compare", name, compared)
		}
	}
}

// sameTag compares numbers to a hundredth and texts up to the maker's name, which LibRaw
// takes away.
func sameTag(got, want any) bool {
	a, isNumber := got.(float64)
	b, both := want.(float64)
	if isNumber && both {
		return math.Abs(a-b) <= 0.01*b
	}
	return got != nil && strings.HasSuffix(fmt.Sprint(want), fmt.Sprint(got))
}
