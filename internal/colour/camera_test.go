package colour

import (
	"errors"
	"math"
	"testing"
)

// canon550D is ColorMatrix1 of a Canon EOS 550D as DNG files carry it (D65), and
// canon550DTungsten a made-up companion for interpolation tests.
var (
	canon550D         = Matrix{{0.6461, -0.1164, -0.0857}, {-0.3825, 1.1597, 0.2534}, {-0.0416, 0.154, 0.6039}}
	canon550DTungsten = Matrix{{0.7755, -0.2449, -0.0349}, {-0.3106, 1.0222, 0.3369}, {-0.0156, 0.1568, 0.6941}}
)

// dcraw550D is dcraw's camera to sRGB matrix for canon550D, worked out in exact
// fractions, apart from this code, from dcraw's six-digit sRGB to XYZ matrix.
var dcraw550D = Matrix{
	{1.817766, -0.964298, 0.146532},
	{-0.228916, 1.773751, -0.544835},
	{-0.019543, -0.468173, 1.487715},
}

func near(t *testing.T, what string, got, want Matrix, tol float64) {
	t.Helper()
	for i := range got {
		for j := range got[i] {
			if !(math.Abs(got[i][j]-want[i][j]) <= tol) {
				t.Errorf("%s: got %.7f, want %.7f (element %d,%d)", what, got, want, i, j)
				return
			}
		}
	}
}

func convert(t *testing.T, f Facts, gains [3]float64) (Matrix, Info) {
	t.Helper()
	m, info, err := CameraToSRGB(f, gains)
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range Apply(m, [3]float64{1, 1, 1}) {
		if math.Abs(w-1) > 1e-15 {
			t.Errorf("white maps to %.17g in component %d, want 1", w, i)
		}
	}
	return m, info
}

// TestAgainstDcraw: at the white for which sRGB is defined adaptation cancels,
// and what remains is dcraw's formula: the inverse of CM·(sRGB to XYZ) with rows
// scaled to sum to 1.
func TestAgainstDcraw(t *testing.T) {
	cam := Mul(canon550D, SRGBToXYZ())
	white := Apply(cam, [3]float64{1, 1, 1})
	for i := range cam {
		for j := range cam[i] {
			cam[i][j] /= white[i]
		}
	}
	want, err := Inverse(cam)
	if err != nil {
		t.Fatal(err)
	}
	got, info := convert(t, Facts{ColorMatrix1: &canon550D, Illuminant1: 21, Neutral: white}, [3]float64{})
	near(t, "canon 550D under D65", got, want, 1e-12)
	if math.Abs(info.White.X-D65.X)+math.Abs(info.White.Y-D65.Y) > 1e-9 || math.Abs(info.Temperature-6504) > 5 {
		t.Errorf("white %v, %.0f K, want D65", info.White, info.Temperature)
	}
	near(t, "canon 550D in figures", got, dcraw550D, 5e-4)
}

func TestCanonProperties(t *testing.T) {
	m, info := convert(t, Facts{ColorMatrix1: &canon550D}, [3]float64{1.47, 1, 2.26})
	if info.Weight1 != 1 || info.Forward || info.Identity || info.Note != "" {
		t.Errorf("info %+v", info)
	}
	// More gain for blue than for red is lamp light.
	if info.Temperature < 2500 || info.Temperature > 4500 {
		t.Errorf("white %.4v, %.0f K", info.White, info.Temperature)
	}
	for i := range m {
		for j := range m[i] {
			if i == j && (m[i][j] < 1 || m[i][j] > 2.5) {
				t.Errorf("diagonal %d is %.3f: a camera's colours are less saturated than sRGB's", i, m[i][j])
			}
			if i != j && math.Abs(m[i][j]) > 1.5 {
				t.Errorf("crosstalk %d,%d is %.3f", i, j, m[i][j])
			}
		}
	}
}

func TestGainsOverrideNeutral(t *testing.T) {
	f := Facts{ColorMatrix1: &canon550D, Neutral: [3]float64{1, 2.477, 1.462}}
	n := [3]float64{0.5, 1, 0.7}
	byGains, _ := convert(t, f, [3]float64{2, 1, 1 / 0.7})
	scaled, _ := convert(t, f, [3]float64{6, 3, 3 / 0.7})
	f.Neutral = n
	byNeutral, _ := convert(t, f, [3]float64{})
	near(t, "gains are reciprocal neutrals", byGains, byNeutral, 1e-12)
	near(t, "only ratios matter", byGains, scaled, 1e-12)
}

func TestSRGBCamera(t *testing.T) {
	cm, err := Inverse(SRGBToXYZ())
	if err != nil {
		t.Fatal(err)
	}
	m, _ := convert(t, Facts{ColorMatrix1: &cm}, [3]float64{1, 1, 1})
	near(t, "a camera that sees sRGB", m, Identity(), 1e-12)
	gain := [3]float64{2, 0.5, 0.25}
	amplified := Mul(Diagonal(gain), cm)
	m, _ = convert(t, Facts{ColorMatrix1: &amplified, Neutral: gain}, [3]float64{})
	near(t, "the same with unequal channels", m, Identity(), 1e-12)
}

func TestAnalogBalanceAndCalibration(t *testing.T) {
	base := Facts{ColorMatrix1: &canon550D, Neutral: [3]float64{0.5, 1, 0.7}}
	want, _ := convert(t, base, [3]float64{})

	ab := base
	ab.AnalogBalance = [3]float64{2, 1, 1.5}
	ab.Neutral = [3]float64{0.5 * 2, 1, 0.7 * 1.5}
	m, _ := convert(t, ab, [3]float64{})
	near(t, "analog balance cancels with its neutral", m, want, 1e-12)

	cc := Diagonal([3]float64{1.1, 1, 0.9})
	cal := base
	cal.CameraCalibration1 = &cc
	cal.Neutral = [3]float64{0.5 * 1.1, 1, 0.7 * 0.9}
	m, _ = convert(t, cal, [3]float64{})
	near(t, "a diagonal calibration cancels with its neutral", m, want, 1e-12)
}

func TestForwardMatrix(t *testing.T) {
	// A forward matrix made from sRGB's own colorants: balanced camera RGB is sRGB.
	fm := SRGBToXYZD50()
	f := Facts{ColorMatrix1: &canon550D, ForwardMatrix1: &fm}
	m, info := convert(t, f, [3]float64{2, 1, 1.5})
	near(t, "forward", m, Identity(), 1e-12)
	if !info.Forward {
		t.Error("info does not say that the forward matrix was used")
	}
	// FM·D·Inverse(AB·CC): crosstalk in CC must be undone before balancing.
	cc := Matrix{{1, 0.1, 0}, {0, 1, 0}, {0, 0, 1}}
	f.CameraCalibration1 = &cc
	m, _ = convert(t, f, [3]float64{1, 1, 1})
	// By hand: reference neutral = CC⁻¹·(1,1,1) = (0.9, 1, 1); D = (1/0.9, 1, 1);
	// D·CC⁻¹ = {{1/0.9, -0.1/0.9, 0}, ...}.
	near(t, "forward with calibration", m, Matrix{{1 / 0.9, -0.1 / 0.9, 0}, {0, 1, 0}, {0, 0, 1}}, 1e-12)
}

func TestInterpolation(t *testing.T) {
	f := Facts{ColorMatrix1: &canon550DTungsten, ColorMatrix2: &canon550D, Illuminant1: 17, Illuminant2: 21}
	at := func(cm Matrix, w Chromaticity) [3]float64 { return Apply(cm, w.XYZ()) }
	tests := []struct {
		name   string
		cm     Matrix
		white  Chromaticity
		weight float64
	}{
		{"Tungsten", canon550DTungsten, Chromaticity{0.44757, 0.40745}, 1},
		{"Candle", canon550DTungsten, Chromaticity{0.5268, 0.4133}, 1}, // 2000 K, clamped
		{"D65", canon550D, D65, 0},
		{"D75", canon550D, Chromaticity{0.29902, 0.31485}, 0}, // clamped
	}
	for _, tt := range tests {
		f.Neutral = at(tt.cm, tt.white)
		got, info := convert(t, f, [3]float64{})
		if math.Abs(info.Weight1-tt.weight) > 2e-3 {
			t.Errorf("%s: weight %.4f, want %.0f (%.0f K)", tt.name, info.Weight1, tt.weight, info.Temperature)
		}
		alone, _ := convert(t, Facts{ColorMatrix1: &tt.cm, Neutral: f.Neutral}, [3]float64{})
		near(t, tt.name, got, alone, 5e-3)
	}

	// Half way in mired: the neutral of the mean matrix at that temperature must
	// be recognised, weights and all. 3969 K lies on the Planckian locus here.
	var mean Matrix
	for i := range mean {
		for j := range mean[i] {
			mean[i][j] = (canon550DTungsten[i][j] + canon550D[i][j]) / 2
		}
	}
	f.Neutral = at(mean, Chromaticity{0.38225, 0.37870})
	_, info := convert(t, f, [3]float64{})
	if math.Abs(info.Weight1-0.5) > 5e-3 || math.Abs(info.White.X-0.38225) > 1e-3 {
		t.Errorf("half way: weight %.4f, white %v (%.0f K)", info.Weight1, info.White, info.Temperature)
	}
}

func TestMissingFacts(t *testing.T) {
	n := [3]float64{0.5, 1, 0.7}
	m, info := convert(t, Facts{}, n)
	if m != Identity() || !info.Identity || info.Note == "" {
		t.Errorf("no matrix: %v %+v", m, info)
	}
	first, _ := convert(t, Facts{ColorMatrix1: &canon550D, Neutral: n}, [3]float64{})
	second, _ := convert(t, Facts{ColorMatrix2: &canon550D, Neutral: n}, [3]float64{})
	near(t, "second set only", second, first, 0)
	m, info = convert(t, Facts{ColorMatrix1: &canon550D, ColorMatrix2: &canon550DTungsten, Illuminant1: 21, Neutral: n}, [3]float64{})
	near(t, "unknown second illuminant", m, first, 0)
	if info.Note == "" {
		t.Error("unknown second illuminant goes unmentioned")
	}
	f := Facts{ColorMatrix1: &canon550D, ColorMatrix2: &canon550DTungsten, Illuminant1: 21, Illuminant2: 17, Neutral: n}
	byCode, _ := convert(t, f, [3]float64{})
	f.Illuminant2, f.IlluminantXY[1] = 255, &[2]float64{0.44757, 0.40745}
	byLight, info := convert(t, f, [3]float64{})
	near(t, "an illuminant by its chromaticity", byLight, byCode, 1e-3)
	if info.Note != "" {
		t.Error(info.Note)
	}
}

func TestCameraErrors(t *testing.T) {
	singular := Matrix{{1, 2, 3}, {2, 4, 6}, {0, 0, 1}}
	nan := Matrix{{math.NaN(), 0, 0}, {0, 1, 0}, {0, 0, 1}}
	zero := Matrix{}
	ones := [3]float64{1, 1, 1}
	tests := []struct {
		name  string
		facts Facts
		gains [3]float64
		want  error
	}{
		{"NoNeutral", Facts{ColorMatrix1: &canon550D}, [3]float64{}, ErrNeutral},
		{"ZeroGain", Facts{}, [3]float64{1, 0, 1}, ErrNeutral},
		{"NegativeGain", Facts{}, [3]float64{1, -1, 1}, ErrNeutral},
		{"NaNGain", Facts{}, [3]float64{1, math.NaN(), 1}, ErrNeutral},
		{"InfiniteNeutral", Facts{Neutral: [3]float64{math.Inf(1), 1, 1}}, [3]float64{}, ErrNeutral},
		{"Singular", Facts{ColorMatrix1: &singular}, ones, ErrSingular},
		{"NaNMatrix", Facts{ColorMatrix1: &nan}, ones, ErrSingular},
		{"ZeroMatrix", Facts{ColorMatrix1: &zero}, ones, ErrSingular},
		{"ZeroAnalog", Facts{ColorMatrix1: &canon550D, AnalogBalance: [3]float64{0, 1, 1}}, ones, ErrSingular},
		{"ZeroForward", Facts{ColorMatrix1: &canon550D, ForwardMatrix1: &zero}, ones, ErrSingular},
		{"ImaginaryWhite", Facts{ColorMatrix1: &canon550D}, [3]float64{1000, 1000, 1}, ErrNeutral},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if m, _, err := CameraToSRGB(tt.facts, tt.gains); !errors.Is(err, tt.want) {
				t.Errorf("got %v, %v; want %v", m, err, tt.want)
			}
		})
	}
}
