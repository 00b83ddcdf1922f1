package pipeline

import (
	"bytes"

	"enhance/internal/imgio"
	"enhance/raw"
	"enhance/raw/dng"
)

// maxPreview is the longest side of a DNG file's preview.
const maxPreview = 1024

// previewQuality is the JPEG quality of previews; 4:2:0, as the file's tags say.
const previewQuality = 85

// preview makes a small picture of the camera light that goes into a DNG file: the means of
// squares, rendered as a finished picture would be by default but for sharpening and lens
// corrections. It is not turned: the file's orientation is for it too.
type preview struct {
	w, h    int
	factor  int
	crop    raw.Rect   // of the rows that come
	y       int        // rows taken
	sums    [3][]int64 // of the square's rows so far, by column
	scale   [3]float32 // from a sum to a network's sample
	planes  [][]float32
	dev     *developer
	out     bytes.Buffer
	stopped bool
}

// newPreview opens the preview of the crop of the rows to come.
func (r *run) newPreview(crop raw.Rect) (*preview, error) {
	long := max(crop.Width(), crop.Height())
	p := &preview{crop: crop, factor: max(2, (long+maxPreview-1)/maxPreview)}
	p.w, p.h = max(1, crop.Width()/p.factor), max(1, crop.Height()/p.factor)
	b := r.decisions.preview
	for c, g := range b.networkGains() {
		p.sums[c] = make([]int64, p.w)
		p.planes = append(p.planes, make([]float32, p.w))
		p.scale[c] = float32(g / dng.LinearWhite)
	}
	enc, err := imgio.NewJPEG(&p.out, imgio.Header{Width: p.w, Height: p.h, Bits: 8}, previewQuality, imgio.Subsampling420)
	if err != nil {
		return nil, err
	}
	all := raw.Rect{X1: p.w, Y1: p.h}
	geo := geometry{region: all, view: all, out: all}
	p.dev = newDeveloper(geo, newRendering(geo, &linearConvention, b, nil), enc, outBatches, &pictureRows{}, r.session.stages())
	return p, nil
}

// add takes a row of the file.
func (p *preview) add(rgb []uint16) error {
	y := p.y - p.crop.Y0
	p.y++
	if y < 0 || y >= p.crop.Height() || y/p.factor >= p.h {
		return nil
	}
	shown := rgb[3*p.crop.X0 : 3*p.crop.X1]
	for c, sums := range p.sums {
		for x := range sums {
			square := shown[3*x*p.factor : min(3*(x+1)*p.factor, len(shown))]
			for k := c; k < len(square); k += 3 {
				sums[x] += int64(square[k])
			}
		}
	}
	if (y+1)%p.factor != 0 && y+1 < p.crop.Height() {
		return nil
	}
	n := float32(min(p.factor, p.crop.Width()) * (y%p.factor + 1))
	for c, sums := range p.sums {
		for x, sum := range sums {
			p.planes[c][x] = float32(sum) / n * p.scale[c]
			sums[x] = 0
		}
	}
	row := y / p.factor
	rows, err := p.dev.Rows(row, row+1)
	if err != nil {
		return err
	}
	rows.Row(row, p.planes)
	return rows.End()
}

// finish returns the JPEG.
func (p *preview) finish() ([]byte, error) {
	p.stopped = true
	if err := p.dev.finish(); err != nil {
		return nil, err
	}
	return p.out.Bytes(), nil
}

// abandon ends a preview that is not finished.
func (p *preview) abandon() {
	if !p.stopped {
		p.stopped = true
		p.dev.abandon()
	}
}

// previewBytes is more than a preview holds.
func previewBytes() int64 {
	return 3*4*(4+2*outRows+64)*maxPreview + outBatches*outRows*3*2*maxPreview + 2*6*maxPreview*maxPreview
}
