package exec_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"enhance/internal/colour"
	"enhance/internal/convtest"
	"enhance/internal/exec"
	"enhance/internal/fuse"
	"enhance/internal/highlights"
	"enhance/internal/planar"
	"enhance/internal/sharpen"
	"enhance/memplan"
	"enhance/model"
)

// pixels is an exec.PixelSink that keeps codes.
type pixels struct {
	sink // for the order of calls
	w    int
	mu   sync.Mutex
	rows int
	v    []uint16
}

type pixelRows struct {
	exec.Rows
	p *pixels
}

func (p *pixels) Rows(y0, y1 int) (exec.Rows, error) {
	rows, err := p.sink.Rows(y0, y1)
	return pixelRows{rows, p}, err
}

func (r pixelRows) Pixels(y int, codes []uint16) {
	r.p.mu.Lock()
	defer r.p.mu.Unlock()
	r.p.rows++
	copy(r.p.v[3*r.p.w*y:], codes)
}

// Bytes keeps codes of 8 bits as they are.
func (r pixelRows) Bytes(y int, codes []byte) {
	r.p.mu.Lock()
	defer r.p.mu.Unlock()
	r.p.rows++
	for i, v := range codes {
		r.p.v[3*r.p.w*y+i] = uint16(v)
	}
}

// Tables are those of a tone two stops up whose components clip at 1, 2 and 1.5.
func (p *pixels) Tables() (*exec.PictureTables, error) {
	h := highlights.New(8, 8, [3]float64{2, 1, 1.5}, 2)
	s := sharpen.New(8, 8, sharpen.Settings{Amount: 0.7, Noise: func(v float64) float64 { return 0.01 }, Luminance: colour.SRGB.Luminance()})
	tone := colour.NewTone(colour.NewCurve(2, 2), colour.Convert(colour.SRGB, colour.Rec2020), colour.Rec2020, colour.SRGB)
	t := &exec.PictureTables{Tone: tone.Tables(), Codes: colour.SRGBTransfer.Tables(), Amount: s.Amount(), Variances: s.Variances()}
	t.Clip, t.Inverse, t.White = h.Levels()
	t.Light = func(k int) (at, rise float32) {
		at = 2 * float32(k) / 4096
		return at, 2*float32(k+1)/4096 - at
	}
	return t, nil
}

// runPixels runs a network over planes to a picture's codes.
func runPixels(t *testing.T, m *model.Model, in *tensor, opt exec.Options) ([]uint16, error) {
	t.Helper()
	job, err := exec.Prepare(m, in.h, in.w, convtest.Device(t).Info(), opt)
	if err != nil {
		t.Fatal(err)
	}
	if !job.MakesPixels() {
		t.Fatal("the job makes no picture")
	}
	e, done := open(t, job)
	defer done()
	var out [2]*pixels
	for i := range out { // the second finds what the first left
		w, h := opt.Picture.X1-opt.Picture.X0, opt.Picture.Y1-opt.Picture.Y0
		out[i] = &pixels{sink: sink{&tensor{h: h}}, w: w, v: make([]uint16, 3*w*h)}
		in.begun, in.rows = 0, 0
		if err = e.Run(context.Background(), source{in}, out[i], nil); err != nil {
			return nil, err
		}
		if out[i].rows != h {
			t.Errorf("%d of %d rows were delivered", out[i].rows, h)
		}
	}
	if !slices.Equal(out[0].v, out[1].v) {
		t.Error("two runs of one engine differ")
	}
	if e.Peak() != job.Plan.Peak {
		t.Errorf("measured peak %d, planned %d", e.Peak(), job.Plan.Peak)
	}
	return out[0].v, nil
}

// TestPicture: codes that the device makes have the same bytes within budgets from the smallest
// up, with memory that is poisoned before. Those of 8 bits are those of 16 bits rounded.
func TestPicture(t *testing.T) {
	m, err := model.Load("pynet-s")
	if err != nil {
		t.Fatal(err)
	}
	const h, w = 40, 32
	in := &tensor{c: 4, h: h, w: w, v: model.FormulaTensor("picture", "input", 4*h*w)}
	var codes []uint16
	for i := range 4 {
		sharp, bytes := i/2 == 1, i%2 == 1
		opt := exec.Options{Poison: true, Picture: &fuse.Picture{X0: 3, Y0: 5, X1: 60, Y1: 2*h - 2, Sharpen: sharp, Bytes: bytes}}
		want, err := runPixels(t, m, in, opt)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes {
			codes = want
		}
		for k, v := range want {
			if bytes && uint32(v) != (uint32(codes[k])+128)/257 {
				t.Fatalf("sharpened %v: byte %d is %d, of the code %d", sharp, k, v, codes[k])
			}
		}
		if low, high := slices.Min(codes), slices.Max(codes); high-low < 10000 {
			t.Errorf("codes are %d to %d: nothing to compare", low, high)
		}
		for _, change := range []func(o *exec.Options){
			func(o *exec.Options) { o.WholePlanes = true },
			func(o *exec.Options) { o.Rows = 1 },
			func(o *exec.Options) { o.Budget = memplan.Limit(minimum(t, m, h, w, *o)) },
			func(o *exec.Options) { o.Discrete, o.Rows = true, 6 },
			func(o *exec.Options) {
				o.Discrete = true
				o.Budget = memplan.Limit(minimum(t, m, h, w, *o))
			},
		} {
			o := opt
			change(&o)
			got, err := runPixels(t, m, in, o)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Errorf("sharpened %v, in bytes %v, rows %d, whole planes %v, discrete %v, budget %v: other bytes", sharp, bytes, o.Rows, o.WholePlanes, o.Discrete, o.Budget)
			}
		}
	}
}

// TestPictureNotFinite: the first sample of the result that is no number is named, of the
// picture alone, and a sink of planes is refused.
func TestPictureNotFinite(t *testing.T) {
	m, err := model.Load("pynet-s")
	if err != nil {
		t.Fatal(err)
	}
	const h, w = 256, 32 // the network reads about 150 rows around
	in := &tensor{c: 4, h: h, w: w, v: model.FormulaTensor("picture", "input", 4*h*w)}
	for i := 240*w + 20; i < h*w; i++ {
		in.v[i] = float32(math.NaN())
	}
	whole := run(t, m, in, exec.Options{})
	pic := fuse.Picture{X0: 3, Y0: 5, X1: 60, Y1: 2*h - 2, Sharpen: true}
	row, column := -1, -1
	for y := pic.Y0; y < pic.Y1 && row < 0; y++ {
		for x := pic.X0; x < pic.X1 && row < 0; x++ {
			for c := range whole.c {
				if v := whole.at(c, y)[x]; v-v != 0 {
					row, column = y-pic.Y0, x-pic.X0
				}
			}
		}
	}
	var bad *exec.NotFiniteError
	_, err = runPixels(t, m, in, exec.Options{Picture: &pic, Precision: planar.FP32})
	if !errors.As(err, &bad) || row < 1 || bad.Row != row || bad.Column != column {
		t.Errorf("%v, want row %d, column %d", err, row, column)
	}
	job, err := exec.Prepare(m, h, w, convtest.Device(t).Info(), exec.Options{Picture: &pic})
	if err != nil {
		t.Fatal(err)
	}
	e := openJob(t, job)
	if err := e.Run(context.Background(), source{in}, sink{whole}, nil); err == nil || !strings.Contains(err.Error(), "takes planes") {
		t.Errorf("planes out of an engine that makes codes: %v", err)
	}
}
