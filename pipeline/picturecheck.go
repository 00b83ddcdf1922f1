package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"enhance/clrt"
	"enhance/internal/colour"
	"enhance/internal/exec"
	"enhance/internal/fuse"
	"enhance/internal/kernelcheck"
	"enhance/internal/planar"
	"enhance/internal/sharpen"
	"enhance/model"
	"enhance/raw"
)

// The scene's sides, and the part of the light that becomes a picture: odd, with a margin, of
// several cells of highlights.
const sceneH, sceneW = 77, 181

var scenePicture = raw.Rect{X0: 3, Y0: 2, X1: sceneW - 5, Y1: sceneH - 4}

// mostCodesApart is by how much a device's codes of 16 bits may differ from the host's.
const mostCodesApart = 1

// CheckPictures holds a device's codes of pictures, sharpened and not, against those of the host, with
// activations in fp32 or in fp16; apart is by how much they differ at most. The context must hold no buffers.
func CheckPictures(ctx context.Context, cl *clrt.Context, info *clrt.DeviceInfo, p planar.Precision) (apart int, err error) {
	for _, sharp := range []bool{false, true} {
		n, err := checkPicture(ctx, cl, info, exec.Options{Precision: p}, sharp)
		if apart = max(apart, n); err != nil {
			return apart, err
		}
	}
	return apart, nil
}

// checkPicture is CheckPictures of one of both.
func checkPicture(ctx context.Context, cl *clrt.Context, info *clrt.DeviceInfo, opt exec.Options, sharp bool) (apart int, err error) {
	light := sceneLight()
	opt.Picture = scenePixels(sharp)
	codes, err := deviceCodes(ctx, cl, info, opt, light)
	if err != nil {
		return 0, err
	}
	want, err := hostCodes(light, sharp)
	if err != nil {
		return 0, err
	}
	if len(codes) != len(want) {
		return 0, fmt.Errorf("%d codes, and %d are right", len(codes), len(want))
	}
	for i, v := range want {
		d := int(codes[i]) - int(v)
		if apart = max(apart, d, -d); apart > mostCodesApart {
			w := scenePicture.Width()
			return apart, fmt.Errorf("the code of component %d at row %d, column %d is %d, and %d is right", i%3, i/3/w, i/3%w, codes[i], v)
		}
	}
	return apart, checkBytes(ctx, cl, info, opt, light, sharp, codes)
}

// checkBytes holds a device's codes of 8 bits against those of 16 bits that it makes of the same light.
func checkBytes(ctx context.Context, cl *clrt.Context, info *clrt.DeviceInfo, opt exec.Options, light *exec.Planes, sharp bool, codes []uint16) error {
	opt.Picture = scenePixels(sharp)
	opt.Picture.Bytes = true
	got, err := deviceCodes(ctx, cl, info, opt, light)
	if err != nil {
		return err
	}
	if len(got) != len(codes) {
		return fmt.Errorf("%d bytes for %d codes", len(got), len(codes))
	}
	for i, v := range codes {
		if want := 257 * ((uint32(v) + 128) / 257); uint32(got[i]) != want { // as writers of 8 bits round, and wider again
			w := scenePicture.Width()
			return fmt.Errorf("component %d at row %d, column %d is %d in 8 bits, and %d is right", i%3, i/3/w, i/3%w, got[i]/257, want/257)
		}
	}
	return nil
}

// sceneLight has gradients, edges, colours, and light beyond what clips.
func sceneLight() *exec.Planes {
	p := &exec.Planes{Shape: model.Shape{C: 3, H: sceneH, W: sceneW}, Data: make([]float32, 3*sceneH*sceneW)}
	for i := range p.Data {
		c, y, x := i/(sceneH*sceneW), i/sceneW%sceneH, i%sceneW
		v := float64(x) / sceneW * (0.5 + 0.5*math.Sin(float64(c+1)*float64(y)/11))
		if (x/13+y/9)%3 == 0 {
			v = 1 - v
		}
		if dy, dx := y-sceneH/2, x-sceneW/2; dy*dy+dx*dx < 300 {
			v = 0.8 + 0.1*float64(c)
		}
		if x > sceneW-30 && c == y/20%3 {
			v = 1.1
		}
		p.Data[i] = planar.Float(planar.Half(float32(v)))
	}
	return p
}

// sceneRendering are the stages of the picture of such light, as photos of the default tone have them.
func sceneRendering(c *model.Convention, sharp bool) (geometry, *rendering) {
	g := geometry{out: scenePicture, view: raw.Rect{X1: sceneW, Y1: sceneH}}
	b := &balance{gains: [3]float64{2.1, 1, 1.6}, headroom: 2.1, output: colour.SRGBEncoding}
	b.curve = colour.NewCurve(0.7, b.headroom)
	b.tone = colour.NewTone(b.curve, colour.Matrix{{1.5, -0.4, -0.1}, {-0.2, 1.4, -0.2}, {0.1, -0.6, 1.5}}, colour.Rec2020, b.output.Space)
	if sharp {
		b.sharpen = &sharpen.Settings{Amount: 0.8, Noise: func(root float64) float64 { return 0.005 + 0.01*root }, Luminance: b.output.Space.Luminance()}
	}
	return g, newRendering(g, c, b, nil)
}

// keptCodes is an imgio.RowWriter.
type keptCodes struct{ all []uint16 }

func (k *keptCodes) WriteRow(rgb []uint16) error { k.all = append(k.all, rgb...); return nil }
func (k *keptCodes) Close() error                { return nil }

// sceneCodes are what fill has a developer make of a scene.
func sceneCodes(c *model.Convention, sharp bool, fill func(d *developer) error) ([]uint16, error) {
	g, stages := sceneRendering(c, sharp)
	out := &keptCodes{}
	d := newDeveloper(g, stages, out, outBatches, &pictureRows{}, nil)
	defer d.abandon()
	if err := fill(d); err != nil {
		return nil, err
	}
	if err := d.finish(); err != nil {
		return nil, err
	}
	return out.all, nil
}

// scenePixels is what a device makes of a scene, in codes of 16 bits.
func scenePixels(sharp bool) *fuse.Picture {
	r := scenePicture
	return &fuse.Picture{X0: r.X0, Y0: r.Y0, X1: r.X1, Y1: r.Y1, Sharpen: sharp}
}

// pictureJob is the job of a check of opt.Picture, of a network that gives light as it is.
func pictureJob(info *clrt.DeviceInfo, opt exec.Options) (*exec.Job, error) {
	m, err := kernelcheck.Unchanged(3)
	if err != nil {
		return nil, err
	}
	return exec.Prepare(m, sceneH, sceneW, info, opt)
}

// deviceCodes are a device's codes of opt.Picture, those of 8 bits times 257. The engine that made them
// must then find a sample that is no number.
func deviceCodes(ctx context.Context, cl *clrt.Context, info *clrt.DeviceInfo, opt exec.Options, light *exec.Planes) ([]uint16, error) {
	job, err := pictureJob(info, opt)
	if err != nil {
		return nil, err
	}
	e, err := job.Open(cl)
	if err != nil {
		return nil, err
	}
	run := func(light *exec.Planes) ([]uint16, error) {
		return sceneCodes(&e.Model.Convention, opt.Picture.Sharpen, func(d *developer) error {
			return e.Run(ctx, exec.PlanesSource{Planes: light}, newPixelSink(d, opt.Picture), nil)
		})
	}
	codes, err := run(light)
	if err == nil {
		_, found := run(spoiltLight(light))
		err = checkNotFinite(found)
	}
	return codes, errors.Join(err, e.Close())
}

// Where spoiltLight has the sample that is no number, in the picture.
const spoiltRow, spoiltColumn = 31, 66

func spoiltLight(light *exec.Planes) *exec.Planes {
	p := &exec.Planes{Shape: light.Shape, Data: slices.Clone(light.Data)}
	p.Data[(sceneH+spoiltRow+scenePicture.Y0)*sceneW+spoiltColumn+scenePicture.X0] = float32(math.NaN())
	return p
}

// checkNotFinite wants the error of a run with spoiltLight to say where that sample is.
func checkNotFinite(err error) error {
	bad := (*exec.NotFiniteError)(nil)
	switch {
	case errors.As(err, &bad) && bad.Row == spoiltRow && bad.Column == spoiltColumn:
		return nil
	case err == nil || bad != nil:
		return fmt.Errorf("a sample that is no number at row %d, column %d is not found there: %v", spoiltRow, spoiltColumn, err)
	}
	return err
}

func hostCodes(light *exec.Planes, sharp bool) ([]uint16, error) {
	m, err := kernelcheck.Unchanged(light.C)
	if err != nil {
		return nil, err
	}
	return sceneCodes(&m.Convention, sharp, func(d *developer) error {
		rows, err := d.Rows(0, light.H)
		if err != nil {
			return err
		}
		for y := range light.H {
			planes := make([][]float32, light.C)
			for k := range planes {
				planes[k] = light.Data[(k*light.H+y)*light.W:][:light.W]
			}
			rows.Row(y, planes)
		}
		return rows.End()
	})
}
