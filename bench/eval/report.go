package eval

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"

	"enhance/pipeline/facts"
)

// Report is the outcome of Run. Published figures mean nothing without their
// domain, phase and border: they are all here.
type Report struct {
	Photos   int            `json:"photos"`
	Domain   string         `json:"domain"` // of the mosaics
	Sigma    float64        `json:"sigma"`  // of 255
	Sensor   *Sensor        `json:"sensor,omitempty"`
	CFA      string         `json:"cfa"`
	Border   int            `json:"border"`   // pixels on every side that were left out
	Compared string         `json:"compared"` // domain of the comparison
	Seed     uint64         `json:"seed"`
	Denoise  *float64       `json:"denoise,omitempty"`
	Methods  []MethodResult `json:"methods"`
}

// Scores are the figures of a comparison: decibels, and SSIM's mean of R, G, B and
// of luma.
type Scores struct {
	CPSNR    facts.Decibels    `json:"cpsnr"` // null: equal
	PSNR     [3]facts.Decibels `json:"psnr"`
	SSIM     float64           `json:"ssim"`
	SSIMLuma float64           `json:"ssim_luma"`
}

// PhotoResult are one photo's figures.
type PhotoResult struct {
	Photo  string `json:"photo"`
	Width  int    `json:"width"`
	Height int    `json:"height"`
	Scores
}

// MethodResult is what a method comes to.
type MethodResult struct {
	Method    string `json:"method"`
	Device    string `json:"device,omitempty"`
	Precision string `json:"precision,omitempty"`
	// Mean is the mean of the photos' figures, decibels included.
	Mean Scores `json:"mean"`
	// Worst and Best are the photos of the least and the most CPSNR.
	Worst  PhotoResult   `json:"worst"`
	Best   PhotoResult   `json:"best"`
	Photos []PhotoResult `json:"photos"`
}

// sum fills Mean, Worst and Best from Photos.
func (r *MethodResult) sum() {
	n := float64(len(r.Photos))
	m := &r.Mean
	for i, p := range r.Photos {
		m.CPSNR += p.CPSNR / facts.Decibels(n)
		for c := range m.PSNR {
			m.PSNR[c] += p.PSNR[c] / facts.Decibels(n)
		}
		m.SSIM += p.SSIM / n
		m.SSIMLuma += p.SSIMLuma / n
		if i == 0 || p.CPSNR < r.Worst.CPSNR {
			r.Worst = p
		}
		if i == 0 || p.CPSNR > r.Best.CPSNR {
			r.Best = p
		}
	}
}

// WriteText writes the report as a table with a line for each method, in dB.
func (r *Report) WriteText(w io.Writer) error {
	photos := "photos"
	if r.Photos == 1 {
		photos = "photo"
	}
	fmt.Fprintf(w, "%d %s; mosaics of %s; CFA %s; seed %d\n", r.Photos, photos, r.Domain, r.CFA, r.Seed) // Flush returns the first error
	fmt.Fprintf(w, "compared as sRGB, %s, without a border of %d pixels; means over photos, dB\n\n", r.Compared, r.Border)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "method\tCPSNR\tR\tG\tB\tSSIM\tworst\tphoto\tbest\tphoto\t")
	for i := range r.Methods {
		m := &r.Methods[i]
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%.4f\t%s\t%s\t%s\t%s\t\n", m.Method, dB(m.Mean.CPSNR),
			dB(m.Mean.PSNR[0]), dB(m.Mean.PSNR[1]), dB(m.Mean.PSNR[2]), m.Mean.SSIM, dB(m.Worst.CPSNR), m.Worst.Photo, dB(m.Best.CPSNR), m.Best.Photo)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for i := range r.Methods {
		if m := &r.Methods[i]; m.Device != "" {
			if _, err := fmt.Fprintf(w, "\n%s: %s, %s", m.Method, m.Device, m.Precision); err != nil {
				return err
			}
		}
	}
	_, err := fmt.Fprintln(w)
	return err
}

func dB(d facts.Decibels) string {
	if math.IsInf(float64(d), 1) {
		return "equal"
	}
	return fmt.Sprintf("%.2f", float64(d))
}
