package quality

import (
	"errors"
	"fmt"
	"math"
	"testing"
)

// pictures repeats the formula of testdata/reference.py.
func pictures(w, h int) (a, b []uint16) {
	for y := range h {
		for x := range w {
			for c := range 3 {
				v := (x*2500 + y*1300 + c*9000 + (x*y*37)%4001) % 65536
				e := (x*7919+y*104729+c*1299709+x*y*31)%6001 - 3000
				a = append(a, uint16(v))
				b = append(b, uint16(min(max(v+e, 0), 65535)))
			}
		}
	}
	return a, b
}

// TestReference holds the figures against testdata/reference.py, which prints
// this table.
func TestReference(t *testing.T) {
	tests := []struct {
		w, h, border int
		domain       Domain
		psnr         [3]float64
		cpsnr        float64
		ssim         [3]float64
		luma         float64
	}{
		{40, 33, 0, Domain8, [3]float64{31.632146878930, 31.642252673508, 31.673678847042}, 31.649323487642, [3]float64{0.952182499734, 0.953823900358, 0.956784801952}, 0.987093802651},
		{40, 33, 4, Domain8, [3]float64{31.615358416425, 31.683587351608, 31.679775431565}, 31.659460727064, [3]float64{0.957554262064, 0.955708382578, 0.951135916069}, 0.988531460920},
		{40, 33, 0, DomainFloat, [3]float64{31.634963881743, 31.664197976904, 31.666286933007}, 31.655126040080, [3]float64{0.952009768004, 0.954078425216, 0.956733539810}, 0.987120593164},
		{16, 7, 0, Domain8, [3]float64{31.715708396677, 31.586631459542, 31.599540251823}, 31.633573331327, [3]float64{0.939760632174, 0.937415688899, 0.938886820581}, 0.985327478833},
		{6, 14, 1, DomainFloat, [3]float64{31.575295461313, 31.726009627084, 31.520810565994}, 31.606507659086, [3]float64{0.875693945074, 0.878689331024, 0.884063988353}, 0.970761441844},
		{3, 2, 0, Domain8, [3]float64{33.633449066379, 31.647203498870, 31.534810484312}, 32.170945172521, [3]float64{0.842952115038, 0.825040169441, 0.805610562779}, 0.960842323307},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%dx%d-%d/%v", tt.w, tt.h, tt.border, tt.domain), func(t *testing.T) {
			a, b := pictures(tt.w, tt.h)
			r, err := compare(a, b, Config{Width: tt.w, Height: tt.h, Border: tt.border, Domain: tt.domain, SSIM: true})
			if err != nil {
				t.Fatal(err)
			}
			near(t, "CPSNR", r.CPSNR, tt.cpsnr)
			near(t, "luma SSIM", r.SSIMLuma, tt.luma)
			near(t, "mean SSIM", r.SSIMMean, (tt.ssim[0]+tt.ssim[1]+tt.ssim[2])/3)
			for c := range 3 {
				near(t, "PSNR", r.PSNR[c], tt.psnr[c])
				near(t, "SSIM", r.SSIM[c], tt.ssim[c])
			}
		})
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) < 1e-9) {
		t.Errorf("%s: got %.12f, want %.12f", what, got, want)
	}
}

// compare compares whole pictures of 16-bit interleaved RGB, rows from top to bottom.
func compare(a, b []uint16, cfg Config) (Result, error) {
	m, err := New(cfg)
	if err != nil {
		return Result{}, err
	}
	for stride := 3 * cfg.Width; len(a) > 0 || len(b) > 0; a, b = a[min(stride, len(a)):], b[min(stride, len(b)):] {
		if err := m.AddRow16(a[:min(stride, len(a))], b[:min(stride, len(b))]); err != nil {
			return Result{}, err
		}
	}
	return m.Result()
}

// grey is a picture of equal samples.
func grey(n int, v uint16) []uint16 {
	p := make([]uint16, 3*n)
	for i := range p {
		p[i] = v
	}
	return p
}

func TestByHand(t *testing.T) {
	const n = 12 * 12
	cfg := Config{Width: 12, Height: 12, SSIM: true}
	tests := []struct {
		name       string
		a, b       uint16
		domain     Domain
		cpsnr, mse float64
		ssim       float64 // flat pictures keep the luminance term alone
	}{
		{"OneStep", 100 * 257, 101 * 257, Domain8, 20 * math.Log10(255), 1, lum(100, 101, 255)},
		{"HalfFloat", 0, 32768, DomainFloat, -20 * math.Log10(32768.0/65535), math.Pow(32768.0/65535, 2), lum(0, 32768.0/65535, 1)},
		{"BlackWhite", 0, 65535, Domain8, 0, 255 * 255, lum(0, 255, 255)},
		{"RoundsAway", 25700, 25700 + 128, Domain8, math.Inf(1), 0, 1},
		{"RoundsUp", 25700, 25700 + 129, Domain8, 20 * math.Log10(255), 1, lum(100, 101, 255)},
	}
	for _, tt := range tests {
		cfg.Domain = tt.domain
		r, err := compare(grey(n, tt.a), grey(n, tt.b), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if !math.IsInf(tt.cpsnr, 1) {
			near(t, tt.name+" CPSNR", r.CPSNR, tt.cpsnr)
		} else if !math.IsInf(r.CPSNR, 1) || !math.IsInf(r.PSNR[0], 1) {
			t.Errorf("%s: CPSNR %g, want +Inf", tt.name, r.CPSNR)
		}
		near(t, tt.name+" MSE", r.MSE[2], tt.mse)
		near(t, tt.name+" SSIM", r.SSIMLuma, tt.ssim)
		near(t, tt.name+" SSIM of green", r.SSIM[1], tt.ssim)
	}
}

func lum(a, b, peak float64) float64 {
	c1 := 0.01 * peak * 0.01 * peak
	return (2*a*b + c1) / (a*a + b*b + c1)
}

func TestOnePixel(t *testing.T) {
	r, err := compare([]uint16{0, 25700, 65535}, []uint16{0, 25957, 65535}, Config{Width: 1, Height: 1, SSIM: true})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "CPSNR", r.CPSNR, 10*math.Log10(3*255*255))
	near(t, "SSIM of red", r.SSIM[0], 1)
	near(t, "SSIM of green", r.SSIM[1], lum(100, 101, 255))
	if !math.IsInf(r.PSNR[0], 1) {
		t.Errorf("PSNR of equal reds is %g", r.PSNR[0])
	}
}

func TestIdentical(t *testing.T) {
	a, _ := pictures(37, 21)
	for _, d := range []Domain{Domain8, DomainFloat} {
		r, err := compare(a, a, Config{Width: 37, Height: 21, Domain: d, SSIM: true})
		if err != nil {
			t.Fatal(err)
		}
		if !math.IsInf(r.CPSNR, 1) || r.SSIMLuma != 1 || r.SSIM != [3]float64{1, 1, 1} {
			t.Errorf("%v: %+v", d, r)
		}
	}
}

// TestBorder: what lies in the border does not count.
func TestBorder(t *testing.T) {
	a := grey(20*20, 1000)
	b := grey(20*20, 1000)
	for i := range 20 * 20 {
		if x, y := i%20, i/20; x < 3 || y < 3 || x >= 17 || y >= 17 {
			b[3*i] = 65535
		}
	}
	for border, clean := range map[int]bool{2: false, 3: true, 9: true} {
		r, err := compare(a, b, Config{Width: 20, Height: 20, Border: border, SSIM: true})
		if err != nil {
			t.Fatal(err)
		}
		if math.IsInf(r.CPSNR, 1) != clean || (r.SSIM[0] == 1) != clean || r.Pixels != int64((20-2*border)*(20-2*border)) {
			t.Errorf("border %d: %+v", border, r)
		}
	}
}

func TestFloatRowsAgree(t *testing.T) {
	a, b := pictures(30, 20)
	for _, d := range []Domain{Domain8, DomainFloat} {
		cfg := Config{Width: 30, Height: 20, Domain: d}
		want, err := compare(a, b, cfg)
		if err != nil {
			t.Fatal(err)
		}
		m, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		fa, fb := make([]float32, 90), make([]float32, 90)
		for y := range 20 {
			for i := range fa {
				fa[i], fb[i] = float32(a[90*y+i])/65535, float32(b[90*y+i])/65535
			}
			if err := m.AddRowFloat(fa, fb); err != nil {
				t.Fatal(err)
			}
		}
		got, err := m.Result()
		if err != nil || math.Abs(got.CPSNR-want.CPSNR) > 1e-4 {
			t.Errorf("%v: %.6f dB from floats, %.6f from 16 bits, %v", d, got.CPSNR, want.CPSNR, err)
		}
	}
	m, _ := New(Config{Width: 1, Height: 1})
	nan := float32(math.NaN())
	if err := m.AddRowFloat([]float32{-1, 2, nan}, []float32{0, 1, 0}); err != nil {
		t.Fatal(err)
	}
	if r, _ := m.Result(); !math.IsInf(r.CPSNR, 1) {
		t.Errorf("8-bit domain does not clip: %+v", r)
	}
}

func TestErrors(t *testing.T) {
	for _, cfg := range []Config{{}, {Width: 1}, {Width: -1, Height: 1}, {Width: 4, Height: 9, Border: 2}, {Width: 9, Height: 9, Border: -1}} {
		if _, err := New(cfg); !errors.Is(err, ErrSize) {
			t.Errorf("%+v: %v, want ErrSize", cfg, err)
		}
	}
	cfg := Config{Width: 2, Height: 2}
	if _, err := compare(make([]uint16, 12), make([]uint16, 11), cfg); !errors.Is(err, ErrSize) {
		t.Errorf("short picture: %v", err)
	}
	if _, err := compare(make([]uint16, 18), make([]uint16, 18), cfg); !errors.Is(err, ErrSize) {
		t.Errorf("long picture: %v", err)
	}
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	row := make([]uint16, 6)
	if err := m.AddRow16(row, row[:5]); !errors.Is(err, ErrSize) {
		t.Errorf("short row: %v", err)
	}
	m.AddRow16(row, row)
	if _, err := m.Result(); !errors.Is(err, ErrSize) {
		t.Errorf("missing row: %v", err)
	}
	m.AddRow16(row, row)
	if err := m.AddRow16(row, row); !errors.Is(err, ErrSize) {
		t.Errorf("extra row: %v", err)
	}
	if _, err := m.Result(); err != nil {
		t.Errorf("Result: %v", err)
	}
}

func BenchmarkCompare(b *testing.B) {
	p, q := pictures(1000, 250)
	for _, ssim := range []bool{false, true} {
		b.Run(fmt.Sprintf("SSIM=%v", ssim), func(b *testing.B) {
			for b.Loop() {
				if _, err := compare(p, q, Config{Width: 1000, Height: 250, SSIM: ssim}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*0.25/b.Elapsed().Seconds(), "MP/s")
		})
	}
}
