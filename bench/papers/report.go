package papers

import (
	"fmt"
	"io"
	"text/tabwriter"

	"enhance/bench"
	"enhance/clrt"
	"enhance/internal/peak"
)

// ConvReport is a suite as measured.
type ConvReport struct {
	Suite     string           `json:"suite"`
	Scale     int              `json:"scale"` // the planes' sides were divided by it
	Precision string           `json:"precision"`
	Device    *clrt.DeviceInfo `json:"device"`
	Peaks     peak.Units       `json:"peaks"`
	Rows      []ConvRow        `json:"rows"`
	Columns   []Column         `json:"columns,omitempty"` // of the table as the paper has it
	Ratios    []Ratio          `json:"ratios"`
}

// Algos lists the algorithms in the order in which they were measured.
func (r *ConvReport) Algos() []string {
	var names []string
	seen := map[string]bool{}
	for _, row := range r.Rows {
		for _, m := range row.Results {
			if !seen[m.Algo] {
				seen[m.Algo] = true
				names = append(names, m.Algo)
			}
		}
	}
	return names
}

// Nothing says why nothing was measured, "" if something was.
func (r *ConvReport) Nothing() (why string) {
	for _, row := range r.Rows {
		for _, m := range row.Results {
			if m.Refused == "" {
				return ""
			}
			if why == "" {
				why = fmt.Sprintf("%s on case %s: %s", m.Algo, row.Name, m.Refused)
			}
		}
	}
	return why
}

// WriteText writes a table with a line for each case and algorithm, then the
// winners and the ratios. A refused case has "-"; ~ marks rates measured on part of a plane.
func (r *ConvReport) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "suite %s, planes 1/%d, %s, on %s", r.Suite, r.Scale, r.Precision, r.Device.Name)
	if s := r.Peaks.String(); s != "" {
		fmt.Fprintf(w, ", measured peaks: %s", s)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "\n\ncase\tC,H,W,k,K\talgorithm\tms\tGFLOP/s\tpeak\trel. error\tscratch\t")
	transfers := r.transfers()
	if transfers {
		fmt.Fprint(t, "ms with transfers\tGFLOP/s\t")
	}
	fmt.Fprintln(t)
	for i := range r.Rows {
		r.Rows[i].write(t, transfers)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if err := r.writeColumns(w); err != nil {
		return err
	}
	if err := r.writeWinners(w); err != nil {
		return err
	}
	return writeRatios(w, r.Ratios)
}

func (r *ConvReport) transfers() bool {
	for _, row := range r.Rows {
		for _, m := range row.Results {
			if m.TransferSeconds > 0 {
				return true
			}
		}
	}
	return false
}

func (r *ConvRow) write(t io.Writer, transfers bool) {
	for i, m := range r.Results {
		name, shape := "", ""
		if i == 0 {
			name, shape = r.Name, r.Case.String()
		}
		if m.Refused != "" {
			fmt.Fprintf(t, "%s\t%s\t%s\t-\t-\t-\t-\t-\t", name, shape, m.Algo)
			if transfers {
				fmt.Fprint(t, "-\t-\t")
			}
			fmt.Fprintln(t)
			continue
		}
		part, mark := "", ""
		if m.Rows < r.H {
			part = "~"
		}
		if m.Algo == r.Winner {
			mark = " *"
		}
		ms := m.Seconds * 1e3 * float64(r.H) / float64(m.Rows)
		fmt.Fprintf(t, "%s\t%s\t%s%s\t%s%.3f\t%s%.1f\t%s\t%.2g\t%s\t", name, shape, m.Algo, mark, part, ms, part, m.GFLOPs, percent(m.PeakShare), m.RelError, bench.FormatBytes(m.Scratch))
		if transfers && m.TransferSeconds == 0 {
			fmt.Fprint(t, "-\t-\t")
		} else if transfers {
			fmt.Fprintf(t, "%.3f\t%.1f\t", m.TransferSeconds*1e3, m.TransferGFLOPs)
		}
		fmt.Fprintln(t)
	}
}

func writeRatios(w io.Writer, ratios []Ratio) error {
	if len(ratios) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "algorithm\ttimes as fast as\tgeometric mean\tleast\tmost\tcases\t")
	for _, x := range ratios {
		fmt.Fprintf(t, "%s\t%s\t%.2f\t%.2f\t%.2f\t%d\t\n", x.Algo, x.Baseline, x.Mean, x.Least, x.Most, x.Cases)
	}
	return t.Flush()
}

// Chart is the suite's rates, a group of bars for each case.
func (r *ConvReport) Chart() *Chart {
	c := &Chart{
		Title:  fmt.Sprintf("%s, %s, planes 1/%d: %s", r.Suite, r.Precision, r.Scale, r.Device.Name),
		YLabel: "GFLOP/s (two per multiply-add of the direct definition)",
		XLabel: "case: C,H,W,k,K",
		Series: r.Algos(),
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		c.Groups = append(c.Groups, row.Case.String())
		var v []float64
		for _, algo := range c.Series {
			v = append(v, row.speed(algo))
		}
		c.Values = append(c.Values, v)
	}
	return c
}

func percent(v float64) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*v)
}
