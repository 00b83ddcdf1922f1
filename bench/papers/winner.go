package papers

import (
	"fmt"
	"io"
	"text/tabwriter"

	"enhance/internal/tune"
)

// judge names the winner of a case as tuning would choose it, by speed weighed
// with error, so that what is fast for being inexact does not win. What the host takes part in has
// another clock and is left out.
func (r *ConvRow) judge(precision string) {
	best := 0.0
	for _, m := range r.Results {
		if m.Refused != "" || m.GFLOPs <= 0 || m.Clock == hostClock {
			continue
		}
		if s := tune.Score(1/m.GFLOPs, m.RelError, precision, r.Shape()); s > best {
			r.Winner, best = m.Algo, s
		}
	}
}

// result finds an algorithm's measurement, nil if there is none.
func (r *ConvRow) result(algo string) *Measurement {
	for i := range r.Results {
		if r.Results[i].Algo == algo {
			return &r.Results[i]
		}
	}
	return nil
}

// writeWinners says for each case which algorithm won, what it reached of its
// unit's peak, and how the automatic choice compares.
func (r *ConvReport) writeWinners(w io.Writer) error {
	if len(r.Rows) > 0 && r.Rows[0].Automatic == "" { // no run chooses among these
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "case\tC,H,W,k,K\twinner\tGFLOP/s\tof peak\tautomatic choice\ttimes slower\t")
	for i := range r.Rows {
		row := &r.Rows[i]
		m := row.result(row.Winner)
		if m == nil {
			fmt.Fprintf(t, "%s\t%s\tnone\t-\t-\t%s\t-\t\n", row.Name, row.Case, row.Automatic)
			continue
		}
		share := percent(m.PeakShare)
		if _, unit := r.Peaks.Of(m.Algo); m.PeakShare > 0 {
			share += " " + unit
		}
		slower := "-"
		if a := row.result(row.Automatic); a != nil && a.GFLOPs > 0 {
			slower = fmt.Sprintf("%.2f", m.GFLOPs/a.GFLOPs)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%.1f\t%s\t%s\t%s\t\n", row.Name, row.Case, m.Algo, m.GFLOPs, share, row.Automatic, slower)
	}
	fmt.Fprintln(t)
	return t.Flush()
}
