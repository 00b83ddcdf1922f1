package demosaic

import "enhance/raw/mosaic"

// Tiles are made one by one, so that what a tile needs stays in a core's cache.
const (
	tileRows = 64
	tileCols = 120 // about: a multiple of the pattern's columns
)

// window is how far errors are summed up around a pixel, in rows and columns.
const window = 3

// kernel are the weights of the window's rows and columns: a Gaussian.
var kernel = [2*window + 1]float32{0.0565, 0.1275, 0.2048, 0.2224, 0.2048, 0.1275, 0.0565}

// tileShape says how a tile's samples lie in memory: row by row, and in a row first
// those of the pattern's first column, then those of its second. Pixels that share a
// filter are neighbours then.
type tileShape struct {
	period int // columns of the pattern
	far    int // of the filters
	cols   int // of the tile, a multiple of period
	before int // columns before the tile, a multiple of period
	extra  int // periods before and after the tile for which errors are measured
	each   int // samples of a row with the same filter
	stride int // samples of a row
}

func newTileShape(period, far int) tileShape {
	up := func(n int) int { return (n + period - 1) / period }
	s := tileShape{period: period, far: far, cols: up(tileCols) * period, extra: up(window)}
	s.before = up(s.extra*period+far) * period
	s.each = (s.cols+2*s.before)/period + lanes
	s.stride = s.each * period
	return s
}

// lanes is how many pixels of a row are computed at a time.
const lanes = 4

// margin is how many rows before and after the tile's it needs.
func (s *tileShape) margin() int { return s.far + window }

// at is where column x of the tile lies in a row.
func (s *tileShape) at(x int) int { return (x+s.before)%s.period*s.each + (x+s.before)/s.period }

// filter makes the filter of pixels in a column of the pattern.
func (s *tileShape) filter(column int, ts []tap) filter {
	var f filter
	for _, t := range ts {
		f.offsets = append(f.offsets, int32(t.dy*s.stride+s.at(column+t.dx)-s.at(column)))
		f.weights = append(f.weights, float32(t.weight))
	}
	return f
}

func (s *tileShape) samples() int { return (tileRows + 2*s.margin()) * s.stride }

// wide is how many columns errors are measured for.
func (s *tileShape) wide() int { return s.cols + 2*s.extra*s.period + lanes*s.period }

func (s *tileShape) errors() int { return (tileRows + 2*window) * s.wide() }

// bytes is what a tile holds.
func (s *tileShape) bytes(classes int) int64 {
	return 4 * int64(s.samples()+classes*(s.errors()+tileRows*s.cols)+s.wide()+2*s.cols)
}

// tile is a part of a mosaic on its way to colours.
type tile struct {
	tileShape
	y0, x0, rows int
	mosaic       []float32
	errs         [][]float32 // by class: squared errors around the tile
	weights      [][]float32 // by class: of its estimates, in the tile
	line         []float32
	sums         [2][]float32
}

func (s *tileShape) newTile(classes int) *tile {
	t := &tile{tileShape: *s, mosaic: make([]float32, s.samples()), line: make([]float32, s.wide())}
	for range classes {
		t.errs = append(t.errs, make([]float32, s.errors()))
		t.weights = append(t.weights, make([]float32, tileRows*s.cols))
	}
	t.sums = [2][]float32{make([]float32, s.cols), make([]float32, s.cols)}
	return t
}

// inside is the nearest row or column of n that has the same filters as one beyond
// them: whole periods away.
func inside(at, n, period int) int {
	if at < 0 {
		return (at%period + period) % period
	}
	if at >= n {
		at -= (at - n + period) / period * period
	}
	return at
}

// load copies the tile's samples and those around it. Beyond the mosaic it repeats the
// outermost period.
func (t *tile) load(p mosaic.Pattern, s *Strip) {
	m := t.margin()
	for r := -m; r < t.rows+m; r++ {
		y := inside(t.y0+r, s.Height, p.Rows())
		src := s.Samples[(y-s.First)*s.Width:][:s.Width]
		dst := t.mosaic[(r+m)*t.stride:][:t.stride]
		for q := range t.period {
			part := dst[q*t.each:][:t.each]
			x := t.x0 - t.before + q
			for i := range part {
				if uint(x) < uint(len(src)) {
					part[i] = src[x]
				} else {
					part[i] = src[inside(x, s.Width, t.period)]
				}
				x += t.period
			}
		}
	}
}

// measure fills errs for the tile and window rows and columns around it.
func (t *tile) measure(d *Demosaicer) {
	rows, wide := d.pattern.Rows(), t.wide()
	blocks := t.cols/t.period + 2*t.extra
	for k, set := range d.sets {
		for r := -window; r < t.rows+window; r++ {
			y := (t.y0 + r + window*rows) % rows
			line := t.errs[k][(r+window)*wide:][:wide]
			base := (r + t.margin()) * t.stride
			for q := range t.period {
				f := &set[y*t.period+q].check
				at := base + t.at(q-t.extra*t.period)
				for i := 0; i < blocks; i += lanes {
					v := f.apply(t.mosaic, at+i)
					own := (*[lanes]float32)(t.mosaic[at+i:])
					to := line[q+i*t.period:]
					for j := range v {
						e := v[j] - own[j]
						to[j*t.period] = float32(e * e)
					}
				}
			}
		}
	}
}

// apply computes the filter for neighbours that share it.
func (f *filter) apply(samples []float32, at int) (sum [lanes]float32) {
	var a, b, c, d float32
	weights := f.weights[:len(f.offsets)]
	for i, off := range f.offsets {
		w, s := weights[i], (*[lanes]float32)(samples[at+int(off):])
		a += float32(w * s[0])
		b += float32(w * s[1])
		c += float32(w * s[2])
		d += float32(w * s[3])
	}
	return [lanes]float32{a, b, c, d}
}

// noError keeps the weights of flat places finite.
const noError = 1e-6

// weigh sums the errors up in windows and makes weights of the sums.
func (t *tile) weigh() {
	wide, left := t.wide(), t.extra*t.period
	for k, errs := range t.errs {
		for r := range t.rows {
			for x := range t.line {
				t.line[x] = 0
			}
			for i, w := range kernel {
				src := errs[(r+i)*wide:][:wide]
				dst := t.line[:len(src)]
				for x, v := range src {
					dst[x] += float32(w * v)
				}
			}
			dst := t.weights[k][r*t.cols:][:t.cols]
			for x := range dst {
				var sum float32
				for i, v := range (*[len(kernel)]float32)(t.line[x+left-window:]) {
					sum += float32(kernel[i] * v)
				}
				v := 1 / (sum + noError)
				dst[x] = v * v * v
			}
		}
	}
	t.normalise()
}

// normalise makes the weights of a pixel add up to 1.
func (t *tile) normalise() {
	for x := range t.rows * t.cols {
		var sum float32
		for _, w := range t.weights {
			sum += w[x]
		}
		scale := 1 / sum
		for _, w := range t.weights {
			w[x] *= scale
		}
	}
}

// estimate writes the tile's rows to dst, whose first row is the tile's first.
func (t *tile) estimate(d *Demosaicer, s *Strip, dst []float32) {
	n := min(t.cols, s.Width-t.x0)
	blocks := t.cols / t.period
	for r := range t.rows {
		base := (r + t.margin()) * t.stride
		out := func(c mosaic.Colour) []float32 { return dst[(3*r+int(c))*s.Width+t.x0:][:n] }
		for q := range t.period {
			phase := (t.y0+r)%d.pattern.Rows()*t.period + q
			own := d.sets[0][phase].own
			at := base + t.at(q)
			line := out(own)
			for x, i := q, at; x < n; x, i = x+t.period, i+1 {
				line[x] = t.mosaic[i]
			}
			t.sum(d, phase, r, q, at, blocks)
			for k, c := range others(own) {
				line, sums := out(c), t.sums[k]
				for x, i := q, 0; x < n; x, i = x+t.period, i+1 {
					line[x] = sums[i]
				}
			}
		}
	}
}

// sum fills sums for the pixels of row r that share a phase.
func (t *tile) sum(d *Demosaicer, phase, r, q, at, blocks int) {
	for i := 0; i < blocks; i += lanes {
		var sums [2][lanes]float32
		for k, set := range d.sets {
			weights := t.weights[k][r*t.cols+q+i*t.period:]
			for m := range sums {
				v := set[phase].missing[m].apply(t.mosaic, at+i)
				for j := range min(lanes, blocks-i) {
					sums[m][j] += float32(weights[j*t.period] * v[j])
				}
			}
		}
		for m := range sums {
			copy(t.sums[m][i:], sums[m][:])
		}
	}
}
