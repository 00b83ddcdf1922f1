package icc

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"enhance/internal/colour"
)

var encodings = []colour.Encoding{colour.SRGBEncoding, colour.DisplayP3Encoding, colour.Rec2020Encoding,
	colour.LinearSRGBEncoding, colour.LinearP3Encoding, colour.LinearRec2020Encoding}

// entries reads a profile's table.
func entries(t *testing.T, p []byte) map[string][]byte {
	t.Helper()
	be := binary.BigEndian
	if int(be.Uint32(p)) != len(p) || string(p[36:40]) != "acsp" || len(p)%4 != 0 {
		t.Fatalf("header: size %d of %d, signature %q", be.Uint32(p), len(p), p[36:40])
	}
	tags := map[string][]byte{}
	for i := range be.Uint32(p[128:]) {
		entry := p[132+12*i:]
		name, at, n := string(entry[:4]), be.Uint32(entry[4:]), be.Uint32(entry[8:])
		if at%4 != 0 || int(at+n) > len(p) {
			t.Fatalf("tag %s at %d+%d of %d", name, at, n, len(p))
		}
		tags[name] = p[at:][:n]
	}
	return tags
}

func number(b []byte) float64 { return float64(int32(binary.BigEndian.Uint32(b))) / 65536 }

// TestStructure: what every profile must have is there, and the colorants add up to the
// connection space's white, exactly in those of version 4.
func TestStructure(t *testing.T) {
	for _, e := range encodings {
		p := Of(e)
		tags := entries(t, p)
		required, slack := "desc cprt wtpt rXYZ gXYZ bXYZ rTRC gTRC bTRC", 3e-5
		if p[8] == 4 {
			required, slack = required+" chad", 0
		}
		for _, name := range strings.Fields(required) {
			if tags[name] == nil {
				t.Errorf("%s: no tag %s", e.Name, name)
			}
		}
		for k, want := range [3]float64{0.9642, 1, 0.8249} {
			at := 8 + 4*k
			sum := number(tags["rXYZ"][at:]) + number(tags["gXYZ"][at:]) + number(tags["bXYZ"][at:])
			if math.Abs(sum-math.Round(65536*want)/65536) > slack {
				t.Errorf("%s: the colorants add up to %.6f in component %d, want %.6f", e.Name, sum, k, want)
			}
		}
	}
}

// TestCurves: the formulas of version 4 are the transfer curves.
func TestCurves(t *testing.T) {
	for _, e := range encodings[1:] {
		curve := entries(t, Of(e))["rTRC"]
		var v [5]float64
		for i := range (len(curve) - 12) / 4 {
			v[i] = number(curve[12+4*i:])
		}
		worst := 0.0
		for code := range 65536 {
			x := float64(code) / 65535
			light := math.Pow(x, v[0])
			if kind := binary.BigEndian.Uint16(curve[8:]); kind == 3 {
				if light = v[3] * x; x >= v[4] {
					light = math.Pow(v[1]*x+v[2], v[0])
				}
			}
			worst = math.Max(worst, math.Abs(65535*e.Transfer.Encode(light)-float64(code)))
		}
		if t.Logf("%s: %.2f steps", e.Name, worst); worst > 0.7 {
			t.Errorf("%s: a code is %.2f 16-bit steps from what it means", e.Name, worst)
		}
	}
}

// TestLittleCMS: transicc (Debian's liblcms2-utils) takes codes to the XYZ that the encoding
// says.
func TestLittleCMS(t *testing.T) {
	if _, err := exec.LookPath("transicc"); err != nil {
		t.Skip("transicc is not installed")
	}
	for i, e := range encodings {
		path := filepath.Join(t.TempDir(), fmt.Sprintf("%d.icc", i))
		if err := os.WriteFile(path, Of(e), 0o600); err != nil {
			t.Fatal(err)
		}
		codes := [][3]float64{{1, 1, 1}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0.2, 0.5, 0.8}, {0.02, 0.01, 0.03}, {0.5, 0.5, 0.5}}
		var in strings.Builder
		for _, c := range codes {
			for _, v := range c {
				fmt.Fprintln(&in, 255*v)
			}
		}
		run := exec.Command("transicc", "-i"+path, "-o*XYZ", "-t1", "-v0")
		run.Stdin = strings.NewReader(in.String())
		out, err := run.Output()
		if err != nil {
			t.Fatalf("%s: %v: %s", e.Name, err, out)
		}
		fields := strings.Fields(string(out))
		if len(fields) < 3*len(codes) {
			t.Fatalf("%s: %s", e.Name, out)
		}
		for k, c := range codes {
			light := [3]float64{e.Transfer.Decode(c[0]), e.Transfer.Decode(c[1]), e.Transfer.Decode(c[2])}
			want := colour.Apply(e.Space.ToXYZD50(), light)
			for j := range want {
				var got float64
				if _, err := fmt.Sscan(fields[3*k+j], &got); err != nil {
					t.Fatalf("%s: %q: %v", e.Name, fields[3*k+j], err)
				}
				if math.Abs(got/100-want[j]) > 2e-4 {
					t.Errorf("%s: code %v: component %d of XYZ is %.5f, want %.5f", e.Name, c, j, got/100, want[j])
				}
			}
		}
	}
}
