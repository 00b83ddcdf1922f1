package raw

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"enhance/raw/dng"
	"enhance/raw/mosaic"
	"enhance/raw/opcode"
	"enhance/raw/tiff"
)

// These tests hold the decoder against dcraw and LibRaw, where installed.

func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed: its reading is not compared (Debian packages dcraw, libraw-bin)", program)
	}
}

// crossSpecs are DNG files of every coding, large enough for dcraw.
func crossSpecs() map[string]dng.Spec {
	out := map[string]dng.Spec{}
	base := func(w, h, bits int) dng.Spec {
		r := rand.New(rand.NewPCG(uint64(bits), uint64(w)))
		s := dng.Spec{Width: w, Height: h, Bits: bits, Samples: make([]uint16, w*h)}
		for i := range s.Samples {
			s.Samples[i] = uint16(min(1<<bits-1, (1<<bits)/3+i%w+r.IntN(1<<bits/8)))
		}
		s.Meta = Meta{CFA: mosaic.GRBG, Make: "Maker", Model: "Model 1", Orientation: 1,
			AsShot: &[3]float64{0.5, 1, 0.625}, ColorMatrix1: &[3][3]float64{{0.8, -0.2, -0.1}, {-0.4, 1.2, 0.2}, {-0.1, 0.2, 0.6}}, Illuminant1: 21}
		return s
	}
	// No uncompressed tiles: dcraw and LibRaw read those as if they were strips.
	for _, order := range []tiff.Order{binary.LittleEndian, binary.BigEndian} {
		for _, bits := range []int{10, 12, 14, 16} {
			s := base(90, 70, bits)
			s.Order = order
			out[fmt.Sprintf("%v-%d-strip", order, bits)] = s
		}
	}
	for predictor := 1; predictor <= 7; predictor++ {
		for comps := 1; comps <= 2; comps++ {
			s := base(90, 70, 14)
			s.JPEG = &dng.JPEG{Predictor: predictor, Components: comps}
			out[fmt.Sprintf("jpeg-p%d-c%d-strip", predictor, comps)] = s
			s.TileWidth, s.TileHeight = 32, 32
			out[fmt.Sprintf("jpeg-p%d-c%d-tiles", predictor, comps)] = s
		}
	}
	s := base(96, 70, 12)
	s.JPEG, s.TileWidth, s.TileHeight = &dng.JPEG{Components: 2, RestartRows: 4}, 32, 32
	out["jpeg-restart"] = s
	for i, p := range []Pattern{mosaic.RGGB, mosaic.BGGR, mosaic.GBRG, mosaic.GRBG} {
		s := base(96, 70, 12)
		s.Meta.CFA = p
		// Odd corners: the pattern counts from the active area.
		s.ActiveArea = Rect{X0: 5 + i&1, Y0: 3 + i>>1, X1: 90, Y1: 66}
		out["active-"+p.String()] = s
	}
	s = base(90, 70, 10)
	for i := range 1024 {
		s.Linearization = append(s.Linearization, uint16(i*i/16))
	}
	out["linearization"] = s
	return out
}

// crossFiles writes the specs and links the sample into a folder.
func crossFiles(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	sample, err := os.ReadFile(samples + "colorchart.dng")
	if err != nil {
		t.Fatal(err)
	}
	files := []string{filepath.Join(dir, "colorchart.dng")}
	if err := os.WriteFile(files[0], sample, 0o666); err != nil {
		t.Fatal(err)
	}
	for name, s := range crossSpecs() {
		var b bytes.Buffer
		if err := dng.Write(&b, s); err != nil {
			t.Fatal(name, err)
		}
		path := filepath.Join(dir, name+".dng")
		if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		files = append(files, path)
	}
	slices.Sort(files)
	return files
}

// TestAgainstDcraw compares the active area's samples.
func TestAgainstDcraw(t *testing.T) {
	need(t, "dcraw")
	for _, path := range crossFiles(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			p := mustOpen(t, path, Options{})
			m := p.Meta()
			out, err := exec.Command("dcraw", "-D", "-4", "-t", "0", "-c", path).Output()
			if err != nil {
				t.Fatal(err)
			}
			var w, h, top int
			if _, err := fmt.Sscanf(string(out[:min(len(out), 40)]), "P5\n%d %d\n%d\n", &w, &h, &top); err != nil {
				t.Fatalf("dcraw's output is no PGM: %v", err)
			}
			if w != m.Width || h != m.Height {
				t.Fatalf("size %dx%d, dcraw has %dx%d", m.Width, m.Height, w, h)
			}
			want := out[len(out)-2*w*h:]
			for i, v := range readAll(t, p) {
				if b := binary.BigEndian.Uint16(want[2*i:]); v != b {
					t.Fatalf("row %d column %d: %d, dcraw has %d", i/w, i%w, v, b)
				}
			}
		})
	}
}

// TestFactsAgainstDcraw compares camera, filter pattern and white balance.
func TestFactsAgainstDcraw(t *testing.T) {
	need(t, "dcraw")
	for _, path := range crossFiles(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			m := mustOpen(t, path, Options{}).Meta()
			out, err := exec.Command("dcraw", "-i", "-v", path).Output()
			if err != nil {
				t.Fatal(err)
			}
			field := func(name string) string {
				f := regexp.MustCompile(`(?m)^` + name + `: (.*)$`).FindSubmatch(out)
				if f == nil {
					t.Fatalf("dcraw does not tell %q:\n%s", name, out)
				}
				return string(f[1])
			}
			if got := field("Camera"); got != m.Make+" "+strings.TrimPrefix(m.Model, m.Make+" ") {
				t.Errorf("camera %q %q, dcraw has %q", m.Make, m.Model, got)
			}
			if got := strings.ReplaceAll(field("Filter pattern"), "/", ""); !strings.HasPrefix(got, m.CFA.String()) {
				t.Errorf("CFA %v, dcraw has %q", m.CFA, got)
			}
			var mul [3]float64
			if _, err := fmt.Sscan(field("Camera multipliers"), &mul[0], &mul[1], &mul[2]); err != nil {
				t.Fatal(err)
			}
			for c := range mul {
				if got := m.AsShot[1] / m.AsShot[c]; math.Abs(got-mul[c]/mul[1]) > 1e-5 {
					t.Errorf("gain %d is %g, dcraw has %g", c, got, mul[c]/mul[1])
				}
			}
		})
	}
}

// TestAgainstLibRaw compares the whole stored image: unprocessed_raw writes the
// masked borders too.
func TestAgainstLibRaw(t *testing.T) {
	need(t, "unprocessed_raw")
	specs := crossSpecs()
	for _, path := range crossFiles(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			if out, err := exec.Command("unprocessed_raw", "-T", path).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			// The corner is taken from the file's maker: LibRaw itself rounds
			// margins to even numbers, and shifts the pattern to match.
			corner, ok := specs[strings.TrimSuffix(filepath.Base(path), ".dng")]
			if !ok {
				corner.ActiveArea = Rect{X0: 152, Y0: 26} // colorchart.dng
			}
			top, left := corner.ActiveArea.Y0, corner.ActiveArea.X0
			all := mustOpen(t, path+".tiff", Options{CFA: pattern(t, "RGGB")})
			want, stride := readAll(t, all), all.Meta().Width
			p := mustOpen(t, path, Options{})
			w := p.Meta().Width
			for i, v := range readAll(t, p) {
				if b := want[(top+i/w)*stride+left+i%w]; v != b {
					t.Fatalf("row %d column %d: %d, LibRaw has %d", i/w, i%w, v, b)
				}
			}
		})
	}
}

// TestLinearAgainstDcraw compares a demosaiced image's camera colours.
func TestLinearAgainstDcraw(t *testing.T) {
	need(t, "dcraw")
	for name, lossless := range map[string]*dng.JPEG{"uncompressed": nil, "lossless JPEG": {Components: 3}, "DCT JPEG": nil} {
		t.Run(name, func(t *testing.T) {
			tolerance := 1.5
			const w, h = 90, 70
			r := rand.New(rand.NewPCG(5, 6))
			s := dng.Spec{Width: w, Height: h, Linear: true, Bits: 16, JPEG: lossless, Samples: make([]uint16, 3*w*h)}
			for i := range s.Samples {
				s.Samples[i] = uint16(r.IntN(1 << 16))
			}
			if name == "DCT JPEG" { // decoders round differently
				tolerance = 3 * 257
				s.Bits, s.TileWidth, s.TileHeight, s.Compression, s.Encode = 8, 32, 32, 34892, baseline
				for i := range s.Samples {
					s.Samples[i] = uint16(30 + i/3%w + i/3/w + 20*(i%3))
				}
				// dcraw wants the curve from 8 bits to light as an opcode for each colour.
				for c := range uint32(3) {
					s.Opcodes[1] = append(s.Opcodes[1], opcode.Operation{ID: opcode.MapPolynomialID, Params: &opcode.MapPolynomial{
						Area:         opcode.Area{Bottom: h, Right: w, Plane: c, Planes: 1, RowPitch: 1, ColPitch: 1},
						Coefficients: []float64{0, 0.25, 0.1 * float64(c), 0.4}}})
				}
			}
			s.Meta = Meta{Make: "Maker", Model: "Model 1", AsShot: &[3]float64{0.5, 1, 0.625}, Illuminant1: 21,
				ColorMatrix1: &[3][3]float64{{0.8, -0.2, -0.1}, {-0.4, 1.2, 0.2}, {-0.1, 0.2, 0.6}}}
			path := filepath.Join(t.TempDir(), "linear.dng")
			if err := os.WriteFile(path, dngBytes(t, s), 0o666); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command("dcraw", "-4", "-o", "0", "-r", "1", "1", "1", "1", "-t", "0", "-c", path).Output()
			if err != nil {
				t.Fatal(err)
			}
			var dw, dh, top int
			if _, err := fmt.Sscanf(string(out[:min(len(out), 40)]), "P6\n%d %d\n%d\n", &dw, &dh, &top); err != nil || dw != w || dh != h {
				t.Fatalf("dcraw's output is no PPM of %dx%d: %v, %dx%d", w, h, err, dw, dh)
			}
			want := out[len(out)-6*w*h:]
			p := mustOpen(t, path, Options{Linear: true})
			got := make([]float32, 3*w*h)
			if err := p.ReadLinear(0, h, got); err != nil {
				t.Fatal(err)
			}
			for i := range w * h * 3 {
				y, x, c := i/3/w, i/3%w, i%3
				v := float64(got[(y*3+c)*w+x]) * 65535
				if b := float64(binary.BigEndian.Uint16(want[2*i:])); math.Abs(v-b) > tolerance {
					t.Fatalf("row %d, column %d, colour %d: %.1f, dcraw has %.0f", y, x, c, v, b)
				}
			}
		})
	}
}

// baseline encodes a chunk of three 8-bit samples a pixel.
func baseline(c []uint16, w, h int) ([]byte, error) {
	img := image.NewRGBA(image.Rect(0, 0, w/3, h))
	for i := range w / 3 * h {
		img.SetRGBA(i%(w/3), i/(w/3), color.RGBA{byte(c[3*i]), byte(c[3*i+1]), byte(c[3*i+2]), 255})
	}
	var b bytes.Buffer
	err := jpeg.Encode(&b, img, &jpeg.Options{Quality: 100})
	return b.Bytes(), err
}
