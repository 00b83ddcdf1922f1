package pipeline

import (
	"strconv"
	"strings"

	"enhance/internal/imgio"
	"enhance/internal/resize"
)

// Resize bounds the size of the upright picture, which keeps its proportions and never
// grows. The zero value leaves it as it is.
type Resize struct{ Width, Height int }

// UnmarshalText reads "WxH", or one number for both.
func (s *Resize) UnmarshalText(text []byte) error {
	fields := strings.Split(string(text), "x")
	if len(fields) == 1 {
		fields = append(fields, fields[0])
	}
	var sides []int
	for _, f := range fields {
		v, err := strconv.Atoi(f)
		if err != nil || v < 1 || v > 1<<30 {
			return optionErrorf("resize", "%q: want WxH or one number, in pixels", text)
		}
		sides = append(sides, v)
	}
	if len(sides) != 2 {
		return optionErrorf("resize", "%q: want WxH or one number, in pixels", text)
	}
	s.Width, s.Height = sides[0], sides[1]
	return nil
}

// writtenSize is the size of the picture that is written, as stored and upright: with
// square pixels, and within the job's bounds.
func (r *run) writtenSize() (w, h, uprightW, uprightH int) {
	w, h = r.geo.out.Width(), r.geo.out.Height()
	if r.job.Output.Format == DNG { // tags say that pixels are not square
		uprightW, uprightH = imgio.OrientedSize(w, h, r.meta.Orientation)
		return w, h, uprightW, uprightH
	}
	w, h = r.meta.SquareSize(w, h)
	uprightW, uprightH = imgio.OrientedSize(w, h, r.meta.Orientation)
	if s := r.job.Output.Resize; s != (Resize{}) {
		uprightW, uprightH = resize.Fit(uprightW, uprightH, s.Width, s.Height)
		w, h = imgio.OrientedSize(uprightW, uprightH, r.meta.Orientation)
	}
	return w, h, uprightW, uprightH
}

// resized puts the resizer before the encoder, if the picture is to have another size than
// the network's.
func (r *run) resized(enc imgio.RowWriter, err error) (imgio.RowWriter, error) {
	w, h := r.geo.out.Width(), r.geo.out.Height()
	ow, oh, _, _ := r.writtenSize()
	if err != nil || ow == w && oh == h {
		return enc, err
	}
	if r.job.Output.Bits == 32 {
		return resize.NewFloats(enc, r.job.Output.Profile.encoding().Transfer, w, h, ow, oh)
	}
	return resize.New(enc, r.job.Output.Profile.encoding().Transfer, w, h, ow, oh)
}

// resizerBytes is what the resizer holds.
func (r *run) resizerBytes() int64 {
	w, h := r.geo.out.Width(), r.geo.out.Height()
	ow, oh, _, _ := r.writtenSize()
	if ow == w && oh == h {
		return 0
	}
	return resize.Bytes(w, h, ow, oh)
}
