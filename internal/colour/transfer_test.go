package colour

import (
	"math"
	"testing"
)

func TestCurve(t *testing.T) {
	tests := []struct{ linear, code float64 }{
		{0, 0}, {1, 1}, {0.0031308, 0.040449936}, {0.18, 0.4613561295}, {0.5, 0.7353569830}, {0.001, 0.01292},
	}
	for _, tt := range tests {
		if got := SRGBEncode(tt.linear); math.Abs(got-tt.code) > 1e-9 {
			t.Errorf("encode %g: %.10f, want %.10f", tt.linear, got, tt.code)
		}
		if got := SRGBDecode(tt.code); math.Abs(got-tt.linear) > 1e-7 {
			t.Errorf("decode %g: %.10f, want %.10f", tt.code, got, tt.linear)
		}
	}
}

// encodeSamples calls f with rising float32 values: all near the ends of chords
// and the knee, and a fine sweep of the rest.
func encodeSamples(f func(x float32)) {
	const dense, stride = 64, 997 // stride is prime: it meets no pattern of the table
	start, end := math.Float32bits(1e-6), math.Float32bits(1.01)
	kneeBits := math.Float32bits(knee)
	for b := start; b <= end; {
		f(math.Float32frombits(b))
		toEdge := b & (1<<encodeShift - 1)
		nearEdge := toEdge < dense || toEdge >= 1<<encodeShift-dense
		nearKnee := b > kneeBits-4*stride && b < kneeBits+4*stride
		if nearEdge || nearKnee {
			b++
			continue
		}
		b += min(stride, 1<<encodeShift-dense-toEdge)
	}
}

func TestEncodeErrorAndOrder(t *testing.T) {
	worst, prev, n := 0.0, uint16(0), 0
	encodeSamples(func(x float32) {
		n++
		got := SRGBTransfer.table().code(x)
		if got < prev {
			t.Fatalf("not monotone: %g gives %d after %d", x, got, prev)
		}
		prev = got
		exact := 65535 * math.Min(SRGBEncode(float64(x)), 1)
		worst = math.Max(worst, math.Abs(float64(got)-exact))
	})
	if worst > 0.54 {
		t.Errorf("worst error %.4f steps over %d samples, documented 0.54", worst, n)
	}
	t.Logf("worst error %.4f steps over %d samples", worst, n)
}

func TestEncodeSpecials(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	src := []float32{-inf, -1, -1e-30, 0, 1e-30, math.Nextafter32(1, 0), 1, 2, inf, nan}
	want := []uint16{0, 0, 0, 0, 0, 65535, 65535, 65535, 65535, 0}
	for i, x := range src {
		if got := SRGBTransfer.table().code(x); got != want[i] {
			t.Errorf("encode %g: %d, want %d", x, got, want[i])
		}
	}
}

func TestRoundTripEveryCode(t *testing.T) {
	for code := range 65536 {
		linear := float32(SRGBDecode(float64(code) / 65535))
		if back := SRGBTransfer.table().code(linear); int(back) != code {
			t.Fatalf("code %d decodes to %g and encodes to %d", code, linear, back)
		}
	}
}

func BenchmarkEncodePlanes(b *testing.B) {
	src := make([]float32, 4096)
	for i := range src {
		src[i] = float32(i%1021) / 1000
	}
	dst := make([]uint16, 3*len(src))
	m := Matrix{{1.5, -0.25, -0.125}, {-0.5, 2, 0.25}, {0.0625, -0.75, 1.75}}
	for b.Loop() {
		SRGBTransfer.EncodePlanes(dst, src, src, src, &m)
	}
	b.ReportMetric(float64(b.N)*4096/1e6/b.Elapsed().Seconds(), "MP/s")
}

// TestEncodePlanes: codes are those of every pixel's product by the plain definition.
func TestEncodePlanes(t *testing.T) {
	m := Matrix{{1.5, -0.25, -0.125}, {-0.5, 2, 0.25}, {0.0625, -0.75, 1.75}} // exact, and its products here
	var r, g, b []float32
	for i := range 300 {
		r, g, b = append(r, float32(i)/256), append(g, float32(i*7%300)/256), append(b, float32(i*13%300)/256-0.125)
	}
	codes := make([]uint16, 3*len(r))
	SRGBTransfer.EncodePlanes(codes, r, g, b, &m)
	for x := range r {
		v := Apply(m, [3]float64{float64(r[x]), float64(g[x]), float64(b[x])})
		for c := range v {
			if want := SRGBTransfer.table().code(float32(v[c])); codes[3*x+c] != want {
				t.Errorf("pixel %d component %d: %d, want %d", x, c, codes[3*x+c], want)
			}
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a result that is too short was taken")
		}
	}()
	SRGBTransfer.EncodePlanes(codes[1:], r, g, b, &m)
}
