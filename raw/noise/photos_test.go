package noise

import (
	"context"
	"image"
	"image/jpeg"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"enhance/raw/mosaic"
)

// shot is a mosaic of 14 bits whose noise is known.
type shot struct {
	meta    mosaic.Meta
	samples []uint16
	clean   []float64 // before noise, 0..1
}

const black, white = 512, 16383

// shoot exposes light, 0..1 by colour, row and column.
func shoot(w, h int, light func(c mosaic.Colour, y, x int) float64, n Levels, seed uint64) *shot {
	return shootBehind(mosaic.GRBG, w, h, light, n, seed)
}

// shootBehind is shoot with filters of another array.
func shootBehind(p mosaic.Pattern, w, h int, light func(c mosaic.Colour, y, x int) float64, n Levels, seed uint64) *shot {
	s := &shot{meta: mosaic.Meta{Width: w, Height: h, CFA: p, Crop: mosaic.Rect{X1: w, Y1: h}, BitDepth: 14}}
	s.meta.SetBlack(black)
	s.meta.SetWhite(white)
	rng := rand.New(rand.NewPCG(seed, 1))
	for y := range h {
		for x := range w {
			c := s.meta.CFA.At(y, x)
			v := light(c, y, x)
			s.clean = append(s.clean, v)
			v += rng.NormFloat64() * math.Sqrt(n[c].At(v))
			s.samples = append(s.samples, uint16(math.Round(min(max(black+v*(white-black), 0), white))))
		}
	}
	return s
}

func (s *shot) read(y, n int, dst []uint16) error {
	copy(dst[:n*s.meta.Width], s.samples[y*s.meta.Width:])
	return nil
}

func (s *shot) estimate() (*Estimation, error) {
	return Estimate(context.Background(), &s.meta, s.read, nil)
}

// same are levels alike in all colours.
func same(s, o float64) Levels { return Levels{{s, o}, {s, o}, {s, o}} }

// photos gives up to n of the photos that lie beside the repository, evenly chosen.
func photos(t testing.TB, n int) []string {
	names, _ := filepath.Glob("../../../shared/data/photos/*.jpg")
	if len(names) < n {
		t.Skipf("NO PHOTOS in ../shared/data/photos to make shots of known noise from: %d, want %d", len(names), n)
	}
	var some []string
	for k := range n {
		some = append(some, names[k*len(names)/n])
	}
	return some
}

// picture is a photo's light, darker by a stop.
func picture(t testing.TB, name string) (w, h int, light func(c mosaic.Colour, y, x int) float64) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	im, err := jpeg.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	var linear [256]float64
	for k := range linear {
		v := float64(k) / 255
		if linear[k] = v / 12.92; v > 0.04045 {
			linear[k] = math.Pow((v+0.055)/1.055, 2.4)
		}
		linear[k] /= 2
	}
	b := im.Bounds()
	rgb := image.NewRGBA(b)
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			rgb.Set(x, y, im.At(x, y))
		}
	}
	return b.Dx(), b.Dy(), func(c mosaic.Colour, y, x int) float64 {
		return linear[rgb.Pix[y*rgb.Stride+4*x+int(c)]]
	}
}

// sensors are low, middle and high ISO of real sensors' order.
var sensors = []Levels{same(1e-4, 1e-6), same(8e-4, 1.5e-5), same(4e-3, 2e-4), same(3e-4, 4e-6)}

// limits are what an estimate is held to: the least and the most of the true deviation,
// the mean of what it is off by, and how many of 48 photos must be within 15 %.
type limits struct {
	least, most, mean float64
	within            int
}

// TestPhotos holds the estimate against the truth on photos behind Bayer's array.
func TestPhotos(t *testing.T) {
	testPhotos(t, mosaic.GRBG, limits{0.85, 1.25, 0.035, 44})
}

// TestPhotosOfOtherSensors: blocks of arrays that repeat later are larger, and fewer of them flat.
func TestPhotosOfOtherSensors(t *testing.T) {
	if testing.Short() {
		t.Skip("TAKES 48 photos twice")
	}
	quad, err := mosaic.ParsePattern("quad-RGGB")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("X-Trans", func(t *testing.T) { testPhotos(t, mosaic.XTrans.Shift(1, 4), limits{0.8, 1.6, 0.045, 41}) })
	t.Run("quad-Bayer", func(t *testing.T) { testPhotos(t, quad, limits{0.7, 1.35, 0.057, 39}) })
}

// testPhotos holds the estimate's deviation against the known one on 48 photos, each
// with one of four sensors' noise, at the brightnesses below which a twentieth, a half and
// 19 twentieths of its samples lie. What the photos have of noise themselves, and of fine
// texture all over, counts against the estimate.
func testPhotos(t *testing.T, p mosaic.Pattern, want limits) {
	worst := [2]float64{1, 1}
	sum, within := 0.0, 0
	names := photos(t, 48)
	for k, name := range names {
		w, h, light := picture(t, name)
		sensor := sensors[k%len(sensors)]
		s := shootBehind(p, w, h, light, sensor, uint64(k))
		e, err := s.estimate()
		if err != nil {
			t.Fatal(err)
		}
		off := [2]float64{1, 1}
		for _, v := range s.quantiles(0.05, 0.5, 0.95) {
			r := math.Sqrt(e.Levels[1].At(v) / sensor[1].At(v))
			off[0], off[1] = min(off[0], r), max(off[1], r)
			sum += math.Abs(math.Log(r)) / 3
		}
		t.Logf("%-24s S %.1e: %.3f..%.3f (S %.3g, O %.3g; %d blocks)", filepath.Base(name), sensor[1].S, off[0], off[1], e.Levels[1].S, e.Levels[1].O, e.Blocks)
		worst[0], worst[1] = min(worst[0], off[0]), max(worst[1], off[1])
		if off[0] > 0.85 && off[1] < 1.15 {
			within++
		}
	}
	t.Logf("deviation estimated within %.3f..%.3f, by %.1f %% on average; %d of %d photos within 15 %%", worst[0], worst[1], 100*sum/float64(len(names)), within, len(names))
	if !(worst[0] > want.least && worst[1] < want.most) || within < want.within || sum/float64(len(names)) > want.mean {
		t.Errorf("want %+v", want)
	}
}

// quantiles of the light, without noise.
func (s *shot) quantiles(at ...float64) (q []float64) {
	var count [1024]int
	for _, v := range s.clean {
		count[int(min(v, 0.999)*1024)]++
	}
	for _, a := range at {
		left := a * float64(len(s.clean))
		for k, n := range count {
			if left -= float64(n); left <= 0 {
				q = append(q, (float64(k)+0.5)/1024)
				break
			}
		}
	}
	return q
}
