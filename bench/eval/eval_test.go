package eval

import (
	"context"
	"errors"
	"math"
	"os/exec"
	"slices"
	"testing"

	"enhance/internal/imgio"
	"enhance/pipeline"
	"enhance/raw/mosaic"
)

var phases = []mosaic.Pattern{mosaic.RGGB, mosaic.BGGR, mosaic.GBRG, mosaic.GRBG}

// painting is a picture of w×h 8-bit codes from a function.
func painting(w, h int, at func(x, y, c int) float64) *imgio.RGB16 {
	im := &imgio.RGB16{Width: w, Height: h, Bits: 8}
	for y := range h {
		for x := range w {
			for c := range 3 {
				im.Pix = append(im.Pix, 257*uint16(min(max(at(x, y, c), 0), 255)))
			}
		}
	}
	return im
}

// smooth is a picture that any good demosaicer restores well.
func smooth(w, h int) *imgio.RGB16 {
	return painting(w, h, func(x, y, c int) float64 {
		return 128 + 70*math.Sin(float64(x)/17+float64(c)/3) + 50*math.Cos(float64(y)/23)
	})
}

func flat(w, h int) *imgio.RGB16 {
	return painting(w, h, func(_, _, c int) float64 { return []float64{200, 90, 40}[c] })
}

func checked(t testing.TB, m Mosaic) *Mosaic {
	t.Helper()
	if err := m.check(); err != nil {
		t.Fatal(err)
	}
	return &m
}

func needLibRaw(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("dcraw_emu"); err != nil {
		t.Skipf("NO COMPARISON WITH LIBRAW: %v", ErrNoLibRaw)
	}
}

// TestLibRawKeepsColours: the way through DNG, dcraw_emu and TIFF keeps flat
// colours in both domains and all phases, whatever interpolates.
func TestLibRawKeepsColours(t *testing.T) {
	needLibRaw(t)
	all, err := newLibRaws(mosaic.RGGB)
	if err != nil {
		t.Fatal(err)
	}
	keepColours(t, all, phases, flat(46, 38))
}

// TestRawTherapeeKeepsColours: so does the way through RawTherapee.
func TestRawTherapeeKeepsColours(t *testing.T) {
	if testing.Short() {
		t.Skip("RawTherapee's program takes half a second to start")
	}
	all, err := newRawTherapees(mosaic.RGGB)
	if errors.Is(err, ErrNoRawTherapee) {
		t.Skipf("NO COMPARISON WITH RAWTHERAPEE: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	keepColours(t, all, phases[1:3], flat(446, 338)) // it refuses files of smaller photos
}

func keepColours(t *testing.T, all []method, phases []mosaic.Pattern, im *imgio.RGB16) {
	t.Helper()
	for _, m := range all {
		t.Cleanup(func() { m.close() })
		for _, p := range phases {
			for _, sensor := range []*Sensor{nil, {Gains: [3]float64{1, 1, 1}}, {Gains: [3]float64{2, 1, 1.5}}} {
				got, err := m.restore(context.Background(), checked(t, Mosaic{CFA: p, Sensor: sensor}).take("a", im))
				if err != nil {
					t.Fatal(err)
				}
				r, err := compare("a", got, im, 8)
				if err != nil {
					t.Fatal(err)
				}
				if !math.IsInf(float64(r.CPSNR), 1) {
					t.Errorf("%s, %v, sensor %+v: a flat colour comes back at %.1f dB", m.name(), p, sensor, r.CPSNR)
				}
			}
		}
		if err := m.close(); err != nil {
			t.Error(err)
		}
	}
}

// TestLibRawIsAligned: bilinear interpolation keeps the samples that are there,
// each where it was.
func TestLibRawIsAligned(t *testing.T) {
	needLibRaw(t)
	im := painting(46, 38, func(x, y, c int) float64 { return float64((x*53 + y*31 + c*77) % 256) })
	for _, p := range phases {
		for _, sensor := range []*Sensor{nil, {Gains: [3]float64{2, 1, 1.5}}} {
			all, err := newLibRaws(mosaic.RGGB)
			if err != nil {
				t.Fatal(err)
			}
			got, err := all[0].restore(context.Background(), checked(t, Mosaic{CFA: p, Sensor: sensor}).take("a", im))
			for _, m := range all {
				err = errors.Join(err, m.close())
			}
			if err != nil {
				t.Fatal(err)
			}
			for y := 8; y < 30; y++ {
				for x := 8; x < 38; x++ {
					c := int(p.At(y, x))
					code := float64(im.Row(y)[3*x+c] / 257)
					if v := float64(got.row(y)[3*x+c]) * 255; math.Abs(v-code) > 0.5 {
						t.Fatalf("%v, sensor %+v: sample %d,%d is %.2f, was %g", p, sensor, y, x, v, code)
					}
				}
			}
		}
	}
}

// TestNetworkPhases restores a smooth picture of odd sides with the starter model
// in every phase and both domains; a mosaic taken for another phase's fails.
func TestNetworkPhases(t *testing.T) {
	im := smooth(99, 63)
	o := &Options{}
	n, err := newNetwork(pipeline.Settings{Model: "pynet-s", Device: pipeline.HostDevice}, o)
	if err != nil {
		t.Fatal(err)
	}
	defer n.close()
	score := func(s *shot) float64 {
		got, err := n.restore(context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		r, err := compare("a", got, im, 8)
		if err != nil {
			t.Fatal(err)
		}
		return float64(r.CPSNR)
	}
	for _, p := range phases {
		if db := score(checked(t, Mosaic{CFA: p}).take("a", im)); !(db > 40) {
			t.Errorf("%v: %.1f dB", p, db)
		}
		if db := score(checked(t, Mosaic{CFA: p, Sensor: &Sensor{Gains: [3]float64{2, 1, 1.5}}}).take("a", im)); !(db > 38) {
			t.Errorf("%v from a sensor: %.1f dB", p, db)
		}
	}
	wrong := checked(t, Mosaic{CFA: mosaic.RGGB}).take("a", im)
	wrong.mosaic = checked(t, Mosaic{CFA: mosaic.BGGR})
	if db := score(wrong); db > 30 {
		t.Errorf("taken for another phase: %.1f dB", db)
	}
}

// TestBorders holds the two outermost pixels of slanted coloured stripes, in every phase and at sides that the networks'
// multiples do not divide, to about what they have: where networks saw reflected planes there, it was 3 to 7 dB less.
func TestBorders(t *testing.T) {
	const edge = 2
	im := painting(93, 85, func(x, y, c int) float64 {
		return 128 + 90*math.Tanh(2*math.Sin((float64(x)+0.4*float64(y))/6+float64(c)/2))
	})
	for name, least := range map[string]float64{"fast": 37.5, "best": 38, "any": 32} {
		n, err := newNetwork(pipeline.Settings{Model: name, Device: pipeline.HostDevice}, &Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer n.close()
		patterns := phases
		if name == "any" {
			patterns = []mosaic.Pattern{mosaic.XTrans, mosaic.XTrans.Shift(2, 1)}
		}
		for _, p := range patterns {
			got, err := n.restore(context.Background(), checked(t, Mosaic{CFA: p}).take("a", im))
			if err != nil {
				t.Fatal(err)
			}
			sum, count := 0.0, 0
			for i, v := range got.rgb {
				x, y, d := i/3%im.Width, i/3/im.Width, float64(v)-float64(im.Pix[i])/65535
				if min(x, y, im.Width-1-x, im.Height-1-y) < edge {
					sum, count = sum+d*d, count+1
				}
			}
			db := -10 * math.Log10(sum/float64(count))
			t.Logf("%s, %v: %.1f dB", name, p, db)
			if !(db > least) {
				t.Errorf("%s, %v: %.1f dB at the borders, want over %g", name, p, db, least)
			}
		}
	}
}

// TestClassical restores a smooth picture of odd sides from mosaics that are not Bayer's,
// in several phases and both domains; one taken for another phase's fails.
func TestClassical(t *testing.T) {
	im := smooth(99, 63)
	score := func(p mosaic.Pattern, s *shot) float64 {
		m, err := newClassical(p)
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.restore(context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		r, err := compare("a", got, im, 8)
		if err != nil {
			t.Fatal(err)
		}
		return float64(r.CPSNR)
	}
	quad, err := mosaic.ParsePattern("quad-GRBG")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []mosaic.Pattern{mosaic.XTrans, mosaic.XTrans.Shift(2, 1), quad, quad.Shift(1, 3)} {
		if db := score(p, checked(t, Mosaic{CFA: p}).take("a", im)); !(db > 48) {
			t.Errorf("%v: %.1f dB", p, db)
		}
		if db := score(p, checked(t, Mosaic{CFA: p, Sensor: &Sensor{Gains: [3]float64{2, 1, 1.5}}}).take("a", im)); !(db > 47) {
			t.Errorf("%v from a sensor: %.1f dB", p, db)
		}
		if db := score(p.Shift(0, 1), checked(t, Mosaic{CFA: p}).take("a", im)); db > 35 {
			t.Errorf("%v taken for another phase: %.1f dB", p, db)
		}
	}
}

// TestClassicalKodak holds the demosaicer to a figure of docs/demosaic.md.
func TestClassicalKodak(t *testing.T) {
	files, err := Files([]string{"../../shared/data/kodak"})
	if err != nil {
		t.Skipf("NO PHOTOS to measure: %v", err)
	}
	rep, err := Run(context.Background(), Options{Photos: files[12:13], Border: 8, Classical: true, Mosaic: Mosaic{CFA: mosaic.XTrans}})
	if err != nil {
		t.Fatal(err)
	}
	if got := float64(rep.Methods[0].Mean.CPSNR); math.Abs(got-32.57) > 0.01 {
		t.Errorf("%.3f dB on kodim13, want 32.57", got)
	}
}

// TestNoisePlanes: networks that take the noise level are told the sigma.
func TestNoisePlanes(t *testing.T) {
	n, err := newNetwork(pipeline.Settings{Model: "pynet-m-random:a", Device: pipeline.HostDevice}, &Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer n.close()
	in, top, left := n.pack(checked(t, Mosaic{CFA: mosaic.GBRG, Sigma: 20}).take("a", flat(9, 7)))
	if in.C != 8 || in.H != 8 || in.W != 8 || top != 1 || left != 0 {
		t.Fatalf("planes %v, %d rows and %d columns before", in.Shape, top, left)
	}
	for i, v := range in.Data[4*64:] {
		if math.Abs(float64(v)-8*20./255) > 1e-6 {
			t.Fatalf("noise sample %d is %g", i, v)
		}
	}
	low, high := slices.Min(in.Data[:4*64]), slices.Max(in.Data[:4*64])
	if low >= 0.2 || high <= 0.7 {
		t.Errorf("samples from %g to %g", low, high)
	}
}
