package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"enhance/internal/bytesize"
	"enhance/pipeline"
)

// writeMoves prints what a dry run's plan moves, and what the host would hold.
func writeMoves(w io.Writer, r *pipeline.Report) {
	p := &r.Plan
	if !r.DryRun || p.Full == nil {
		return
	}
	item(w, "traffic", "%s uploaded, %s downloaded, %.1f %% of the work done twice",
		bytesize.Text(p.Upload), bytesize.Text(p.Download), 100*float64(p.Recomputed)/float64(max(p.FLOPs, 1)))
	item(w, "time", "about %s s: kernels %s s, transfers %s s", significant(p.Predicted), significant(p.Work), significant(p.Link))
	fmt.Fprintf(w, "%-8sabout %s planned", "host", bytesize.Text(r.Host.Need))
	for i, u := range r.Host.Planned {
		fmt.Fprintf(w, "%s %s %s", []string{":", ","}[min(i, 1)], bytesize.Text(u.Bytes), u.Purpose)
	}
	fmt.Fprintln(w)
}

// writeSections prints the table of a dry run's sections.
func writeSections(w io.Writer, r *pipeline.Report) {
	p := &r.Plan
	if !r.DryRun || p.Full == nil {
		return
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "section\trows\tstrips\tlaunches\tGFLOP\trings\tkept\tuploaded\tdownloaded\tweights\t  algorithms\t  steps")
	for i := range p.Table {
		f := &p.Table[i]
		fmt.Fprintf(t, "%d\t%d\t%d\t%d\t%.2f\t%s\t%s\t%s\t%s\t%s\t  %s\t  %s\n", i, f.Rows, f.Strips, f.Launches, float64(f.FLOPs)/1e9,
			short(f.Rings), short(f.Kept), short(f.Upload), short(f.Download), short(f.Weights), orDash(strings.Join(f.Algos, ",")), f.Span())
	}
	t.Flush()
	fmt.Fprintln(w, "\nrings    rows that steps of the section hand on; gone when it ends\nkept     whole tensors on the device that other sections made or will read\nweights  loaded for the section alone")
}

// short prints bytes in a table, "-" for none.
func short(n int64) string {
	if n == 0 {
		return "-"
	}
	return strings.ReplaceAll(bytesize.Text(n), " ", "\u00a0")
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// significant prints a time with three digits.
func significant(seconds float64) string { return fmt.Sprintf("%.3g", seconds) }
