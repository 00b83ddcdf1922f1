package pipeline

import (
	"enhance/internal/exec"
	"enhance/internal/fuse"
	"enhance/internal/imgio"
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
	return &fuse.Picture{X0: out.X0, Y0: out.Y0, X1: out.X1, Y1: out.Y1, Sharpen: j.Sharpen.Amount() > 0, Bytes: in.wantsBytes(j)}
}

// wantsBytes reports whether nobody looks at codes of 16 bits before they are rounded to the
// file's 8.
func (in *input) wantsBytes(j *Job) bool {
	if j.Output.Bits == 16 || j.Output.Resize != (Resize{}) || j.Reference != "" || j.Show.Side > 0 {
		return false
	}
	w, h := in.geo.out.Width(), in.geo.out.Height()
	sw, sh := in.meta.SquareSize(w, h)
	return sw == w && sh == h
}

// makes reports whether the stages are those of p.
func (s *rendering) makes(p *fuse.Picture) bool {
	return p != nil && s.plain && p.Sharpen == (s.sharp != nil)
}

// pixelSink takes a picture's codes from the device: an exec.PixelSink.
type pixelSink struct{ *developer }

// newPixelSink makes the sink of p, which the developer must be for.
func newPixelSink(d *developer, p *fuse.Picture) pixelSink {
	if p.Bytes {
		d.stored = imgio.TakeBytes(d.next)
	}
	return pixelSink{d}
}

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
	r := &pixelRows{developer: s.developer, y0: y0, batch: batchOfRows{rows: y1 - y0}, endStage: s.stages.Begin("develop")}
	if s.stored != nil {
		r.batch.bytes = s.bytesOf(y1 - y0)
	} else {
		r.batch.codes = s.codesOf(y1 - y0)
	}
	return r, nil
}

// pixelRows are rows of codes that come from the device: exec.PixelRows.
type pixelRows struct {
	*developer
	y0       int
	batch    batchOfRows
	endStage func()
}

// Row is not called: Pixels or Bytes is.
func (r *pixelRows) Row(int, [][]float32) {}

func (r *pixelRows) Pixels(y int, codes []uint16) {
	copy(r.batch.codes[r.stride*(y-r.y0):][:r.stride], codes)
}

func (r *pixelRows) Bytes(y int, codes []byte) {
	copy(r.batch.bytes[r.stride*(y-r.y0):][:r.stride], codes)
}

func (r *pixelRows) End() error {
	r.endStage()
	r.develop.end()
	r.queue <- r.batch
	return nil
}

var (
	_ exec.PixelSink = pixelSink{}
	_ exec.PixelRows = (*pixelRows)(nil)
)
