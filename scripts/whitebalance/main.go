// Whitebalance measures the automatic white balance on photos made of finished ones:
//
//	go run ./scripts/whitebalance [-v] ../shared/data/photos
//
// It takes 48 of the photos, evenly chosen, for scenes whose white is that of sRGB, puts them
// under lights of 2856 to 8500 K, as a camera sees them whose colour matrix is
// known, and prints the angle in camera RGB between the light and the estimate: the mean, the
// mean of the worst quarter, and those of grey world. No photo says what its camera
// chose.
package main

import (
	"flag"
	"fmt"
	"image"
	_ "image/jpeg"
	_ "image/png"
	"math"
	"os"
	"path/filepath"
	"slices"

	"enhance/internal/colour"
)

// camera is XYZ to camera RGB of the sample testdata/raw/colorchart.dng.
var camera = colour.Matrix{{0.6461, -0.1164, -0.0857}, {-0.3825, 1.1597, 0.2534}, {-0.0416, 0.1540, 0.6039}}

// lights are temperatures and tints.
var lights = [][2]float64{{2856, 0}, {5500, 10}, {6500, 10}, {3400, -4}, {4200, 18}, {5000, 8}, {7500, 10}, {8500, 6}, {5500, 0}, {6500, 16}, {4600, 6}, {3000, 4}}

const photos, cell = 48, 8

func main() {
	verbose := flag.Bool("v", false, "print every photo")
	flag.Parse()
	if err := run(flag.Arg(0), *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "whitebalance:", err)
		os.Exit(1)
	}
}

func run(dir string, verbose bool) error {
	each := func(string, ...any) {}
	if verbose {
		each = func(format string, a ...any) { fmt.Printf(format, a...) }
	}
	r, err := measure(dir, each)
	if err != nil {
		return err
	}
	for _, l := range []struct {
		name string
		v    []float64
	}{{"auto", r.recovery}, {"grey world", r.grey}, {"auto, reproduction", r.reproduction}} {
		fmt.Printf("%-20s mean %5.2f degrees, worst quarter %5.2f, worst %5.2f\n", l.name, average(l.v), worstQuarter(l.v), slices.Max(l.v))
	}
	return nil
}

// results are angles in degrees, by photo. recovery and grey are those between the light and
// the estimate, and grey world's; reproduction is that between grey and what the
// estimate makes of a grey surface.
type results struct{ recovery, grey, reproduction []float64 }

func measure(dir string, each func(format string, a ...any)) (r results, err error) {
	names, _ := filepath.Glob(filepath.Join(dir, "*.[jp][pn]g"))
	if len(names) < photos {
		return r, fmt.Errorf("%q has %d photos, want %d", dir, len(names), photos)
	}
	facts := colour.Facts{ColorMatrix1: &camera, Illuminant1: 21}
	for k := range photos {
		name := names[k*len(names)/photos]
		light := lights[k%len(lights)]
		white := colour.WithTemperature(light[0], light[1])
		patches, err := patchesOf(name, white)
		if err != nil {
			return r, err
		}
		neutral := colour.Apply(camera, white.XYZ())
		gains, err := colour.AutoWB(patches, facts, [3]float64{})
		if err != nil {
			return r, err
		}
		a, g := angle(neutral, reciprocal(gains)), angle(neutral, mean(patches))
		made := angle([3]float64{1, 1, 1}, colour.Apply(colour.Diagonal(gains), neutral))
		r.recovery, r.grey, r.reproduction = append(r.recovery, a), append(r.grey, g), append(r.reproduction, made)
		each("%-24s %5.0f K %+3.0f: %5.1f degrees, grey world %5.1f\n", filepath.Base(name), light[0], light[1], a, g)
	}
	return r, nil
}

// patchesOf are the colours of a photo's cells under a light, as the camera sees them.
func patchesOf(name string, white colour.Chromaticity) ([][3]float64, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	im, _, err := image.Decode(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	toCamera := colour.Mul(camera, colour.Mul(colour.Adapt(colour.D65, white), colour.SRGBToXYZ()))
	// The exposure is such that white of the photo just saturates green.
	exposure := 1 / colour.Apply(toCamera, [3]float64{1, 1, 1})[1]
	var decode [256]float64
	for i := range decode {
		decode[i] = colour.SRGBDecode(float64(i) / 255)
	}
	b := im.Bounds()
	var all [][3]float64
	for y := b.Min.Y; y+cell <= b.Max.Y; y += cell {
		for x := b.Min.X; x+cell <= b.Max.X; x += cell {
			var sum [3]float64
			for i := range cell * cell {
				r, g, bl, _ := im.At(x+i%cell, y+i/cell).RGBA()
				for c, v := range [3]uint32{r, g, bl} {
					sum[c] += decode[v>>8] / (cell * cell)
				}
			}
			p := colour.Apply(toCamera, sum)
			for c := range p {
				p[c] = min(max(p[c]*exposure, 0), 1)
			}
			all = append(all, p)
		}
	}
	return all, nil
}

func reciprocal(v [3]float64) [3]float64 { return [3]float64{1 / v[0], 1 / v[1], 1 / v[2]} }

func mean(all [][3]float64) (m [3]float64) {
	for _, p := range all {
		for c := range m {
			m[c] += p[c]
		}
	}
	return m
}

// angle is that between two vectors, in degrees.
func angle(a, b [3]float64) float64 {
	dot, na, nb := 0.0, 0.0, 0.0
	for c := range a {
		dot += a[c] * b[c]
		na += a[c] * a[c]
		nb += b[c] * b[c]
	}
	return math.Acos(min(dot/math.Sqrt(na*nb), 1)) * 180 / math.Pi
}

func average(v []float64) (sum float64) {
	for _, x := range v {
		sum += x / float64(len(v))
	}
	return sum
}

func worstQuarter(v []float64) float64 {
	v = slices.Clone(v)
	slices.Sort(v)
	return average(v[len(v)*3/4:])
}
