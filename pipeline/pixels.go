package pipeline

import (
	"enhance/internal/exec"
	"enhance/internal/fuse"
	"enhance/model"
	"enhance/pipeline/look"
)

// A device makes the picture's codes by itself where the stages are those of the default
// tone alone: highlights, tone, sharpening and codes. Kernels do what the stages of rendering
// do, from the same tables; codes of 16 bits differ by one at most here and there. Whatever
// else a job asks for is done on the host, to the network's rows.

// devicePicture says what picture a device would make, nil if the host does.
func (in *input) devicePicture(c *model.Convention, j *Job) *fuse.Picture {
	switch {
	case in.classical || c.Output != model.OutputCameraGamma || j.Tone != look.ToneDefault && j.Tone != look.ToneNatural:
		return nil
	case j.Output.Format == DNG || j.Output.Bits == 32:
		return nil
	case j.CameraProfile != nil || j.ProfileLook == look.LookProfile:
		return nil
	case in.photo != nil && in.photo.Lens() != nil && j.Lens.Applied(false):
		return nil
	}
	out := in.geo.out
	return &fuse.Picture{X0: out.X0, Y0: out.Y0, X1: out.X1, Y1: out.Y1, Sharpen: j.Sharpen.Amount() > 0}
}

// makes reports whether the stages are those of p.
func (s *rendering) makes(p *fuse.Picture) bool {
	return p != nil && s.plain && p.Sharpen == (s.sharp != nil)
}

// pixelSink takes a picture's codes from the device: an exec.PixelSink.
type pixelSink struct{ *developer }

// Tables implements exec.PixelSink.
func (s pixelSink) Tables() (*exec.PictureTables, error) {
	r := s.rendering
	t := &exec.PictureTables{Tone: r.tone.Tables(), Codes: r.transfer.Tables()}
	t.Light = func(k int) (at, rise float32) { return s.light[k].at, s.light[k].rise }
	t.Clip, t.Inverse, t.White = r.highlights.Levels()
	if r.sharp != nil {
		t.Amount, t.Variances = r.sharp.Amount(), r.sharp.Variances()
	}
	return t, nil
}

// Rows implements exec.Sink.
func (s pixelSink) Rows(y0, y1 int) (exec.Rows, error) {
	if err := s.failure(); err != nil {
		return nil, err
	}
	s.develop.begin()
	return &pixelRows{developer: s.developer, y0: y0, n: y1 - y0, codes: s.codesOf(y1 - y0), endStage: s.stages.Begin("develop")}, nil
}

// pixelRows are rows of codes that come from the device: exec.PixelRows.
type pixelRows struct {
	*developer
	y0, n    int
	codes    []uint16
	endStage func()
}

// Row is not called: Pixels is.
func (r *pixelRows) Row(int, [][]float32) {}

func (r *pixelRows) Pixels(y int, codes []uint16) {
	copy(r.codes[r.stride*(y-r.y0):][:r.stride], codes)
}

func (r *pixelRows) End() error {
	r.endStage()
	r.develop.end()
	r.queue <- batchOfRows{r.n, r.codes}
	return nil
}

var (
	_ exec.PixelSink = pixelSink{}
	_ exec.PixelRows = (*pixelRows)(nil)
)
