package raw

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"enhance/raw/mosaic"
	"enhance/raw/tiff"
)

// headerless is a dump of little-endian 16-bit samples, row after row.
type headerless struct {
	r     io.ReaderAt
	width int
	buf   []byte
}

func (p *Photo) openHeaderless(r io.ReaderAt, size int64, w, h int) error {
	if want := 2 * float64(w) * float64(h); want != float64(size) {
		if kind := kindOf(r, size); kind != "" {
			return &OptionError{Option: "raw-size", Problem: fmt.Sprintf("the file is a %s, which states its size itself: leave the option out", kind)}
		}
		return &OptionError{Option: "raw-size", Problem: fmt.Sprintf(
			"a headerless photo of %dx%d samples has %.0f bytes, this file has %d%s", w, h, want, size, fitting(size, w, h))}
	}
	p.rows = &headerless{r: r, width: w}
	p.meta = plainMeta(w, h)
	p.meta.Format = "headerless 16-bit"
	return nil
}

// plainMeta is what is known of samples without any description.
func plainMeta(w, h int) Meta {
	m := Meta{Width: w, Height: h, Crop: mosaic.Rect{X1: w, Y1: h}, BitDepth: 16, Orientation: 1,
		AnalogBalance: [3]float64{1, 1, 1}}
	m.SetBlack(0)
	m.SetWhite(math.MaxUint16)
	m.WhiteUnsure = true
	return m
}

// fitting names sizes of photo-like shape that the file's size allows, those
// nearest in shape to w x h first.
func fitting(size int64, w, h int) string {
	if size%2 != 0 {
		return ": an odd number, so its samples do not have 16 bits"
	}
	n := size / 2
	type fit struct{ w, h int64 }
	var fits []fit
	for a := int64(math.Sqrt(float64(n))); a >= 1 && n/a <= 2*a; a-- {
		if n%a == 0 {
			fits = append(fits, fit{n / a, a}, fit{a, n / a})
		}
	}
	if len(fits) == 0 {
		return ": no photo-like size fits; is there a header, or another sample format?"
	}
	shape := math.Log(float64(w) / float64(h))
	far := func(f fit) float64 { return math.Abs(math.Log(float64(f.w)/float64(f.h)) - shape) }
	slices.SortStableFunc(fits, func(a, b fit) int { return cmp.Compare(far(a), far(b)) })
	var names []string
	for _, f := range slices.Compact(fits)[:min(4, len(slices.Compact(fits)))] {
		names = append(names, fmt.Sprintf("%dx%d", f.w, f.h))
	}
	return "; sizes that fit: " + strings.Join(names, ", ")
}

// ReadRows implements rowSource.
func (h *headerless) ReadRows(y0, n int, dst []uint16) error {
	rows := max(1, (1<<20)/(2*h.width))
	for y := 0; y < n; y += rows {
		k := min(rows, n-y) * h.width
		if cap(h.buf) < 2*k {
			h.buf = make([]byte, 2*k)
		}
		b := h.buf[:2*k]
		if err := tiff.ReadFull(h.r, b, 2*int64(y0+y)*int64(h.width)); err != nil {
			return fmt.Errorf("raw: %w", err)
		}
		out := dst[y*h.width:][:k]
		for i := range out {
			out[i] = binary.LittleEndian.Uint16(b[2*i:])
		}
	}
	return nil
}
