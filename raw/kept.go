package raw

// KeepDecoded makes the photo keep the samples that it decodes, in full, if reading a few
// rows of every part of it decodes most of it anyway; so no row is decoded twice. It
// reports whether that is so. Repairs of defects come after, and are made again whenever
// rows are read.
func (p *Photo) KeepDecoded() bool {
	if p.rows == nil || p.kept == nil {
		return false
	}
	p.kept.on = true
	return true
}

// KeptBytes is what KeepDecoded holds; 0 if it was not called, or has nothing to keep.
func (p *Photo) KeptBytes() int64 {
	if p.kept == nil || !p.kept.on {
		return 0
	}
	return 2 * int64(p.meta.Width) * int64(p.meta.Height)
}

// keptRows keeps the rows that are decoded, from the first on.
type keptRows struct {
	next          rowSource
	width, height int
	on            bool
	samples       []uint16
	decoded       int // rows
}

// togetherKept is how many rows are decoded at a time.
const togetherKept = 64

// ReadRows implements rowSource.
func (k *keptRows) ReadRows(y0, n int, dst []uint16) error {
	if !k.on {
		return k.next.ReadRows(y0, n, dst)
	}
	if k.samples == nil {
		k.samples = make([]uint16, k.width*k.height)
	}
	for k.decoded < y0+n {
		some := min(togetherKept, k.height-k.decoded)
		if err := k.next.ReadRows(k.decoded, some, k.samples[k.decoded*k.width:][:some*k.width]); err != nil {
			return err
		}
		k.decoded += some
	}
	copy(dst, k.samples[y0*k.width:][:n*k.width])
	return nil
}
