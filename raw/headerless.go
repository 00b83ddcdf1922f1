package raw

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
	"unsafe"

	"enhance/internal/workers"
	"enhance/raw/mosaic"
	"enhance/raw/tiff"
)

// headerless is a dump of little-endian 16-bit samples, row after row.
type headerless struct {
	r     io.ReaderAt
	width int
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
	const together = 1 << 18 // samples that are read at a time
	at, dst := int64(y0)*int64(h.width), dst[:n*h.width]
	parts := (len(dst) + together - 1) / together
	errs := make([]error, parts)
	workers.Each(workers.Count(parts, 100*time.Microsecond), parts, func(_, i int) {
		part := dst[i*together : min((i+1)*together, len(dst))]
		b := unsafe.Slice((*byte)(unsafe.Pointer(&part[0])), 2*len(part))
		if errs[i] = tiff.ReadFull(h.r, b, 2*(at+int64(i)*together)); binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
			return
		}
		for k := range part { // a big-endian machine
			part[k] = part[k]<<8 | part[k]>>8
		}
	})
	for _, err := range errs {
		if err != nil {
			return fmt.Errorf("raw: %w", err)
		}
	}
	return nil
}
