package imgio

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"enhance/internal/colour"
	"enhance/internal/icc"
)

func TestPNGColourChunks(t *testing.T) {
	for _, tt := range []struct {
		e    colour.Encoding
		want string
	}{
		{colour.Encoding{}, "IHDR sRGB gAMA cHRM IDAT IEND"},
		{colour.SRGBEncoding, "IHDR sRGB gAMA cHRM IDAT IEND"},
		{colour.DisplayP3Encoding, "IHDR cICP iCCP gAMA cHRM IDAT IEND"},
		{colour.Rec2020Encoding, "IHDR iCCP cHRM IDAT IEND"},
		{colour.LinearRec2020Encoding, "IHDR cICP iCCP gAMA cHRM IDAT IEND"},
	} {
		var out bytes.Buffer
		w, err := NewPNG(&out, Header{Width: 3, Height: 2, Bits: 16, Encoding: tt.e})
		if err != nil {
			t.Fatal(err)
		}
		writeRows(t, w, picture(3, 2))
		kinds, bodies := chunks(t, out.Bytes())
		if got := strings.Trim(fmt.Sprint(kinds), "[]"); got != tt.want {
			t.Errorf("%s: chunks %s, want %s", tt.e.Name, got, tt.want)
		}
		for i, kind := range kinds {
			if kind != "iCCP" {
				continue
			}
			name, rest, _ := bytes.Cut(bodies[i], []byte{0})
			z, err := zlib.NewReader(bytes.NewReader(rest[1:]))
			if err != nil {
				t.Fatal(err)
			}
			if profile, err := io.ReadAll(z); err != nil || string(name) != tt.e.Name || !bytes.Equal(profile, icc.Of(tt.e)) {
				t.Errorf("%s: another profile, %q: %v", tt.e.Name, name, err)
			}
		}
	}
}

// TestProfilesInFiles: exiftool finds the profile of the encoding in every format.
func TestProfilesInFiles(t *testing.T) {
	tool, err := exec.LookPath("exiftool")
	if err != nil {
		t.Skip("exiftool is not installed")
	}
	for _, e := range []colour.Encoding{colour.DisplayP3Encoding, colour.Rec2020Encoding, colour.LinearSRGBEncoding} {
		for _, w := range writers {
			path := filepath.Join(t.TempDir(), "picture")
			out := new(seekBuffer)
			rw, err := w.make(out, Header{Width: 5, Height: 4, Bits: 8, Encoding: e})
			if err != nil {
				t.Fatal(err)
			}
			writeRows(t, rw, picture(5, 4))
			if err := os.WriteFile(path, out.data, 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := exec.Command(tool, "-s3", "-warning", "-ICC_Profile:ProfileDescription", path).Output()
			if err != nil || strings.TrimSpace(string(got)) != e.Name {
				t.Errorf("%s: exiftool says %q, want %q: %v", w.name, got, e.Name, err)
			}
		}
	}
}
