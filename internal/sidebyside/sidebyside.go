// Package sidebyside takes two pictures of one size, row by row, and keeps what a person
// wants to see of them: both made small, the places at full size where they differ most,
// histograms, and colour differences.
//
// A [Meter] holds as many rows as a crop is high, two small pictures and a crop for each
// twelfth of the picture, however large it is ([Bytes]).
package sidebyside

import (
	"fmt"
	"image"
	"slices"
)

// Config says what is kept.
type Config struct {
	Width, Height int
	// Alone says that there is one picture only, the second: crops and differences are left out.
	Alone bool
	// Side bounds the longer side of the small pictures.
	Side int
	// Crops is how many there are at most, and CropSide their width and height.
	Crops, CropSide int
	// DeltaE has colour differences measured, which takes several times as long as the rest.
	DeltaE bool
}

// Result is what was kept. Pictures are 8-bit sRGB.
type Result struct {
	Width, Height int         // of the pictures
	Before, After *image.RGBA // made small; Before is nil if there is none
	Crops         []Crop      // where the pictures differ most first
	// Histograms of the 8-bit codes of red, green and blue; that of Before is 0 if there is none.
	HistogramBefore, Histogram Histogram
	DeltaE                     *DeltaE // nil unless asked for
}

// Crop is a part of both pictures at full size.
type Crop struct {
	X, Y          int // its first pixel
	Before, After *image.RGBA
	Difference    float64 // the mean of the samples' absolute differences, in 8-bit codes
}

// Histogram counts pixels by colour and 8-bit code.
type Histogram [3][256]int64

// Meter takes the rows. It is not safe for concurrent use.
type Meter struct {
	cfg    Config
	y      int
	sides  [2]*side // before and after
	cells  cells
	deltaE *deltaE
}

// side is one of the two pictures.
type side struct {
	small     *Small
	codes     []byte // a row
	histogram Histogram
}

// New starts a comparison.
func New(cfg Config) (*Meter, error) {
	if cfg.Width < 1 || cfg.Height < 1 || cfg.Side < 1 || cfg.Crops < 0 || cfg.Crops > 0 && cfg.CropSide < 1 {
		return nil, fmt.Errorf("sidebyside: %dx%d pixels within %d, %d crops of %d: none may be below 1", cfg.Width, cfg.Height, cfg.Side, cfg.Crops, cfg.CropSide)
	}
	m := &Meter{cfg: cfg}
	for i := range m.sides {
		if i == 0 && cfg.Alone {
			continue
		}
		s, err := newSide(cfg)
		if err != nil {
			return nil, err
		}
		m.sides[i] = s
	}
	if cfg.Crops > 0 && !cfg.Alone {
		m.cells = newCells(cfg)
	}
	if cfg.DeltaE && !cfg.Alone {
		m.deltaE = newDeltaE(cfg.Width)
	}
	return m, nil
}

func newSide(cfg Config) (*side, error) {
	small, err := NewSmall(cfg.Width, cfg.Height, cfg.Side)
	return &side{small: small, codes: make([]byte, 3*cfg.Width)}, err
}

// Bytes is what a Meter holds, and its result.
func Bytes(cfg Config) int64 {
	one := smallBytes(cfg.Width, cfg.Height, cfg.Side) + 3*int64(cfg.Width)
	if cfg.Alone {
		return one
	}
	n := 2 * one
	if cfg.Crops > 0 {
		n += 2*3*int64(cfg.Width)*int64(min(cfg.CropSide, cfg.Height)) + regions*2*4*int64(cfg.CropSide)*int64(cfg.CropSide)
	}
	if cfg.DeltaE {
		n += 4*int64(cfg.Width) + 8*deltaEBins
	}
	return n
}

// Add takes the next row of both pictures: Width pixels of R, G and B, 65535 being full
// scale. before is not looked at if there is none.
func (m *Meter) Add(before, after []uint16) error {
	if m.y == m.cfg.Height {
		return fmt.Errorf("sidebyside: more than %d rows", m.cfg.Height)
	}
	for i, row := range [2][]uint16{before, after} {
		if m.sides[i] == nil {
			continue
		}
		if len(row) != 3*m.cfg.Width {
			return fmt.Errorf("sidebyside: row %d has %d samples, not 3·%d", m.y, len(row), m.cfg.Width)
		}
		if err := m.sides[i].add(row); err != nil {
			return err
		}
	}
	m.y++
	if m.cells.best != nil {
		m.cells.add(m.sides[0].codes, m.sides[1].codes)
	}
	if m.deltaE != nil {
		m.deltaE.add(before, after)
	}
	return nil
}

// DeltaERow has the colour differences of the row that was added last, if they are measured.
func (m *Meter) DeltaERow() []float32 { return m.deltaE.row }

// Result is what was kept, when all rows are there.
func (m *Meter) Result() (*Result, error) {
	if m.y < m.cfg.Height {
		return nil, fmt.Errorf("sidebyside: %d rows of %d", m.y, m.cfg.Height)
	}
	r := &Result{Width: m.cfg.Width, Height: m.cfg.Height}
	if s := m.sides[0]; s != nil {
		r.Before, r.HistogramBefore = s.small.Picture, s.histogram
	}
	r.After, r.Histogram = m.sides[1].small.Picture, m.sides[1].histogram
	r.Crops = m.cells.most(m.cfg.Crops)
	if m.deltaE != nil {
		r.DeltaE = m.deltaE.result()
	}
	return r, nil
}

func (s *side) add(row []uint16) error {
	for i, v := range row {
		code := to8(v)
		s.codes[i] = code
		s.histogram[i%3][code]++
	}
	return s.small.WriteRow(row)
}

// to8 is the nearest of 256 levels.
func to8(v uint16) byte { return byte((uint32(v)*255 + 32767) / 65535) }

// Regions of the picture: each gives the crop of its cell that differs most, so that crops are
// not all of one place.
const (
	regionsAcross = 4
	regionsDown   = 3
	regions       = regionsAcross * regionsDown
)

// cells are squares of the picture.
type cells struct {
	cfg          Config
	w, h, across int
	rows         int       // of the current row of cells that are there
	strips       [2][]byte // those rows, of both pictures
	done         int       // rows of cells
	best         []*Crop   // by region
}

func newCells(cfg Config) cells {
	c := cells{cfg: cfg, w: min(cfg.CropSide, cfg.Width), h: min(cfg.CropSide, cfg.Height), best: make([]*Crop, regions)}
	c.across = cfg.Width / c.w
	for i := range c.strips {
		c.strips[i] = make([]byte, 3*cfg.Width*c.h)
	}
	return c
}

// add takes a row of 8-bit codes.
func (c *cells) add(before, after []byte) {
	copy(c.strips[0][3*c.cfg.Width*c.rows:], before)
	copy(c.strips[1][3*c.cfg.Width*c.rows:], after)
	if c.rows++; c.rows < c.h {
		return
	}
	for i := range c.across {
		c.look(i)
	}
	c.rows = 0
	c.done++
}

// look keeps cell i of the current row if its region has none that differs more.
func (c *cells) look(i int) {
	x, y, stride := i*c.w, c.done*c.h, 3*c.cfg.Width
	sum := int64(0)
	for row := range c.h {
		a, b := c.strips[0][row*stride+3*x:][:3*c.w], c.strips[1][row*stride+3*x:][:3*c.w]
		for k := range a {
			d := int64(a[k]) - int64(b[k])
			sum += max(d, -d)
		}
	}
	difference := float64(sum) / float64(3*c.w*c.h)
	region := &c.best[(y+c.h/2)*regionsDown/c.cfg.Height*regionsAcross+(x+c.w/2)*regionsAcross/c.cfg.Width]
	if difference == 0 || *region != nil && (*region).Difference >= difference {
		return
	}
	*region = &Crop{X: x, Y: y, Difference: difference, Before: c.cut(0, x), After: c.cut(1, x)}
}

// cut copies a cell of the current row of cells.
func (c *cells) cut(which, x int) *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, c.w, c.h))
	for row := range c.h {
		line := c.strips[which][3*(row*c.cfg.Width+x):][:3*c.w]
		for k := range c.w {
			px := m.Pix[row*m.Stride+4*k:][:4:4]
			px[0], px[1], px[2], px[3] = line[3*k], line[3*k+1], line[3*k+2], 255
		}
	}
	return m
}

// most are the n crops that differ most.
func (c *cells) most(n int) (all []Crop) {
	for _, b := range c.best {
		if b != nil {
			all = append(all, *b)
		}
	}
	slices.SortStableFunc(all, func(a, b Crop) int {
		switch {
		case a.Difference > b.Difference:
			return -1
		case a.Difference < b.Difference:
			return 1
		}
		return 0
	})
	return all[:min(n, len(all))]
}
