package quality

import (
	"errors"
	"fmt"
	"math"
)

// ErrSize is reported for pictures, rows or borders that do not fit together.
var ErrSize = errors.New("sizes do not match")

// Domain selects how samples are compared.
type Domain uint8

const (
	Domain8     Domain = iota // rounded to 0..255, peak 255
	DomainFloat               // not rounded, 0..1, peak 1
)

func (d Domain) String() string {
	if d == DomainFloat {
		return "float"
	}
	return "8-bit"
}

func (d Domain) peak() float64 {
	if d == DomainFloat {
		return 1
	}
	return 255
}

// Config says what is compared.
type Config struct {
	Width, Height int
	Border        int // pixels left out on every side
	Domain        Domain
	SSIM          bool // SSIM costs some forty times as much as PSNR
}

// Result is the comparison of two pictures.
type Result struct {
	Domain Domain
	Pixels int64      // compared, border excluded
	MSE    [3]float64 // in squares of the domain's unit
	PSNR   [3]float64 // dB; R, G, B
	CPSNR  float64    // dB, squared errors pooled

	// SSIM is defined for every size: where the picture without border is narrower
	// or lower than 11, the window is cut to the largest odd number that fits and
	// its weights are scaled to sum to 1. For 1×1 only the luminance term is left.
	// All zero unless Config.SSIM.
	SSIM     [3]float64 // R, G, B
	SSIMMean float64    // of the three
	SSIMLuma float64
}

// Meter compares two pictures row by row. It is not safe for concurrent use.
type Meter struct {
	cfg  Config
	rows int
	sum  [3]float64
	a, b []float64 // one row of samples in units of the domain
	ssim []*ssim   // R, G, B, luma; empty if not asked for
}

// New starts a comparison. ErrSize is reported for a picture without pixels
// inside the border.
func New(cfg Config) (*Meter, error) {
	if cfg.Width < 1 || cfg.Height < 1 || cfg.Border < 0 ||
		cfg.Border > (cfg.Width-1)/2 || cfg.Border > (cfg.Height-1)/2 {
		return nil, fmt.Errorf("compare pictures of %dx%d without a border of %d: %w: no pixel is left",
			cfg.Width, cfg.Height, cfg.Border, ErrSize)
	}
	m := &Meter{cfg: cfg, a: make([]float64, 3*cfg.Width), b: make([]float64, 3*cfg.Width)}
	if cfg.SSIM {
		w, h := cfg.Width-2*cfg.Border, cfg.Height-2*cfg.Border
		for range 4 {
			m.ssim = append(m.ssim, newSSIM(w, h, cfg.Domain.peak()))
		}
	}
	return m, nil
}

// AddRow16 compares the next row of 16-bit samples, 65535 being the peak. Both
// rows hold Width pixels of R, G, B; else ErrSize is reported.
func (m *Meter) AddRow16(a, b []uint16) error {
	if err := m.check(len(a), len(b)); err != nil {
		return err
	}
	for i := range a {
		m.a[i], m.b[i] = m.from16(a[i]), m.from16(b[i])
	}
	m.add()
	return nil
}

// AddRowFloat is AddRow16 for samples of 0..1. Domain8 clips them to that range,
// NaN to 0; DomainFloat takes them as they are.
func (m *Meter) AddRowFloat(a, b []float32) error {
	if err := m.check(len(a), len(b)); err != nil {
		return err
	}
	for i := range a {
		m.a[i], m.b[i] = m.fromFloat(a[i]), m.fromFloat(b[i])
	}
	m.add()
	return nil
}

func (m *Meter) from16(v uint16) float64 {
	if m.cfg.Domain == DomainFloat {
		return float64(v) / 65535
	}
	return float64((uint32(v)*255 + 32767) / 65535) // nearest; halves cannot occur
}

func (m *Meter) fromFloat(v float32) float64 {
	x := float64(v)
	if m.cfg.Domain == DomainFloat {
		return x
	}
	if !(x > 0) {
		return 0
	}
	return math.Floor(float64(math.Min(x, 1)*255) + 0.5)
}

func (m *Meter) check(a, b int) error {
	switch {
	case m.rows == m.cfg.Height:
		return fmt.Errorf("compare pictures: %w: more than %d rows", ErrSize, m.cfg.Height)
	case a != 3*m.cfg.Width || b != 3*m.cfg.Width:
		return fmt.Errorf("compare row %d: %w: %d and %d samples, not 3·%d", m.rows, ErrSize, a, b, m.cfg.Width)
	}
	return nil
}

// add takes the row in m.a and m.b.
func (m *Meter) add() {
	y, edge := m.rows, m.cfg.Border
	m.rows++
	if y < edge || y >= m.cfg.Height-edge {
		return
	}
	a, b := m.a[3*edge:len(m.a)-3*edge], m.b[3*edge:len(m.b)-3*edge]
	// A row's errors are added up before they join the picture's, so that no sum
	// has more terms than it has digits for.
	var row [3]float64
	for i := 0; i < len(a); i += 3 {
		for c := range row {
			d := a[i+c] - b[i+c]
			row[c] += float64(d * d) // no fused multiply-add: every machine rounds alike
		}
	}
	for c := range row {
		m.sum[c] += row[c]
	}
	if m.cfg.SSIM {
		addAll(m.ssim, a, b)
	}
}

// Result returns the figures; ErrSize if rows are missing.
func (m *Meter) Result() (Result, error) {
	if m.rows < m.cfg.Height {
		return Result{}, fmt.Errorf("compare pictures: %w: %d rows of %d", ErrSize, m.rows, m.cfg.Height)
	}
	w, h := m.cfg.Width-2*m.cfg.Border, m.cfg.Height-2*m.cfg.Border
	r := Result{Domain: m.cfg.Domain, Pixels: int64(w) * int64(h)}
	pooled := 0.0
	for c, s := range m.sum {
		r.MSE[c] = s / float64(r.Pixels)
		r.PSNR[c] = psnr(r.MSE[c], m.cfg.Domain.peak())
		pooled += r.MSE[c] / 3
	}
	r.CPSNR = psnr(pooled, m.cfg.Domain.peak())
	if m.cfg.SSIM {
		for c := range r.SSIM {
			r.SSIM[c] = m.ssim[c].mean()
			r.SSIMMean += r.SSIM[c] / 3
		}
		r.SSIMLuma = m.ssim[3].mean()
	}
	return r, nil
}

// psnr of 0 is +Inf.
func psnr(mse, peak float64) float64 { return 10 * math.Log10(peak*peak/mse) }
