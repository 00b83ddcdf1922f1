package colour

import (
	"math"
	"testing"
)

// gamutPixel is inGamut as Tone.Row calls it.
func gamutPixel(space Space, v [3]float64) (out [3]float64) {
	l := space.Luminance()
	r, g, b := float32(v[0]), float32(v[1]), float32(v[2])
	y := float32(l[0])*r + float32(l[1])*g + float32(l[2])*b
	r, g, b = inGamut(r, g, b, y, min(r, g, b), max(r, g, b))
	return [3]float64{float64(r), float64(g), float64(b)}
}

// TestGamutRamps: along lines from grey far out of the gamut, in all directions, colours well inside
// stay as they are, luminance stays, saturation always grows, and no step of a
// fine ramp is larger than 1/255.
func TestGamutRamps(t *testing.T) {
	l := SRGB.Luminance()
	for _, y := range []float64{0.01, 0.05, 0.2, 0.5, 0.8, 0.97} {
		for degrees := 0; degrees < 360; degrees += 20 {
			direction := fromHSV(float64(degrees), 1, 1)
			mean := l[0]*direction[0] + l[1]*direction[1] + l[2]*direction[2]
			reach := 0.0 // of the line at the gamut's bounds
			for _, d := range direction {
				reach = max(reach, (d-mean)/(1-y), (mean-d)/y)
			}
			var last [3]float64
			lastPlace := -1.0
			const n = 3000
			for i := range n {
				place := 4 * float64(i) / n // 1 is the bounds
				var v [3]float64
				for c, d := range direction {
					v[c] = y + place/reach*(d-mean)
				}
				got := gamutPixel(SRGB, v)
				now, lum, moved := 0.0, 0.0, 0.0
				for c, d := range direction {
					if math.Abs(d-mean) > 0.2 {
						now = max(now, (got[c]-y)/(d-mean)*reach)
					}
					lum += l[c] * got[c]
					moved = max(moved, math.Abs(got[c]-v[c]))
					if step := math.Abs(SRGBEncode(got[c]) - SRGBEncode(last[c])); i > 0 && step > 1.0/255 {
						t.Fatalf("luminance %g, hue %d: a step of %.4f at place %.3f", y, degrees, step, place)
					}
					if got[c] < 0 || got[c] > 1 {
						t.Fatalf("luminance %g, hue %d, place %.3f: %v", y, degrees, place, got)
					}
				}
				switch {
				case place < 0.899 && moved > 1e-7:
					t.Fatalf("luminance %g, hue %d: a colour at place %.3f moves by %g", y, degrees, place, moved)
				case math.Abs(lum-y) > 2e-6:
					t.Fatalf("luminance %g, hue %d, place %.3f: luminance %g", y, degrees, place, lum)
				case now < lastPlace-2e-5 || now > 1.00001:
					t.Fatalf("luminance %g, hue %d: place %.6f after %.6f at %.3f", y, degrees, now, lastPlace, place)
				}
				last, lastPlace = got, now
			}
			if lastPlace < 0.99 {
				t.Errorf("luminance %g, hue %d: the most saturated colour is at %.3f", y, degrees, lastPlace)
			}
		}
	}
}

// TestGamutSeparates: colours outside of the gamut stay apart, up to twice its bounds by three
// 8-bit codes and more.
func TestGamutSeparates(t *testing.T) {
	at := func(place float64) [3]float64 { // Rec. 2020's green, about 1.9 times outside, at luminance 0.3
		v := Apply(Convert(Rec2020, SRGB), [3]float64{0, 1, 0})
		l := SRGB.Luminance()
		y := l[0]*v[0] + l[1]*v[1] + l[2]*v[2]
		for c := range v {
			v[c] = 0.3 + place*(v[c]*0.3/y-0.3)
		}
		return gamutPixel(SRGB, v)
	}
	least := func(place float64) float64 {
		v := at(place)
		return 255 * SRGBEncode(min(v[0], v[1], v[2]))
	}
	if near, far := least(0.6), least(1); near-far < 3 {
		t.Errorf("red of a green outside of sRGB and of one further out: codes %.1f and %.1f", near, far)
	}
}

// TestGamutLight: ramps of light of saturated colours, from black through white, have no step
// above 1/255 and rising luminance, in every output space.
func TestGamutLight(t *testing.T) {
	for _, out := range []Encoding{SRGBEncoding, DisplayP3Encoding, Rec2020Encoding} {
		l := out.Space.Luminance()
		tone := NewTone(NewCurve(0.5, 2), Identity(), Rec2020, out.Space)
		for degrees := 0; degrees < 360; degrees += 20 {
			hue := fromHSV(float64(degrees), 1, 1)
			var last [3]float64
			lastY := 0.0
			const n = 6000
			for i := range n {
				var row [3][]float32
				for c := range row {
					row[c] = []float32{float32(2.2 * float64(i) / n * hue[c])}
				}
				tone.Row(row[0], row[1], row[2])
				y := 0.0
				for c := range row {
					v := float64(row[c][0])
					y += l[c] * v
					code := out.Transfer.Encode(v)
					if step := math.Abs(code - last[c]); step > 1.0/255 {
						t.Fatalf("%s, hue %d: a step of %.4f at %d", out.Name, degrees, step, i)
					}
					last[c] = code
				}
				if y < lastY-1e-6 {
					t.Fatalf("%s, hue %d: luminance %g after %g", out.Name, degrees, y, lastY)
				}
				lastY = y
			}
		}
	}
}
