package papers

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"enhance/bench"
)

// Show says what a column of a paper's table holds.
type Show string

const (
	Time          Show = "ms"                // the median
	Spread        Show = "ms ± deviation"    // the mean and the standard deviation of the runs
	TransferTimes Show = "ms with transfers" // the same of runs with transfers
	Memory        Show = "scratch"           // scratch memory of the device
)

// Column is a column of the table as the paper has it: a way under the name of what
// the paper compares.
type Column struct {
	Title string `json:"title"`
	Way   string `json:"way"` // DirectWay stands for the device's direct algorithm
	Show  Show   `json:"show"`
}

// DirectWay stands for the direct algorithm of the device's kind in columns.
const DirectWay = "direct"

func uiColumns() []Column {
	return []Column{
		{"naive CPU", HostLoops.Name(), Spread},
		{"optimised CPU", HostGEMM.Name(), Spread},
		{"OpenCL", "direct-packed", Spread},
		{"OpenCL", "direct-packed", TransferTimes},
		{"ours", DirectWay, Spread},
		{"ours", DirectWay, TransferTimes},
	}
}

func politoColumns() []Column {
	return []Column{
		{"full", DirectWay, Time},
		{"ConvMM", HostIm2col.Name(), Time},
		{"CPU only", HostGEMM.Name(), Time},
		{"GPU only", "im2col-gemm", Time},
	}
}

// resolve gives columns the device's direct algorithm for DirectWay.
func resolve(cols []Column, direct string) []Column {
	cols = append([]Column(nil), cols...)
	for i := range cols {
		if cols[i].Way == DirectWay {
			cols[i].Way = direct
		}
	}
	return cols
}

// writeColumns writes the paper's table, a line for each case; ~ marks times of a part
// of the plane, - what was not measured.
func (r *ConvReport) writeColumns(w io.Writer) error {
	if len(r.Columns) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	heads := []func(Column) string{func(c Column) string { return c.Title }, func(c Column) string { return c.Way }, func(c Column) string { return string(c.Show) }}
	for i, head := range heads {
		label := [...]string{"the paper's table\t\t", "\t\t", "case\tC,H,W,k,K\t"}[i]
		fmt.Fprint(t, label)
		for _, c := range r.Columns {
			fmt.Fprintf(t, "%s\t", head(c))
		}
		fmt.Fprintln(t)
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		fmt.Fprintf(t, "%s\t%s\t", row.Name, row.Case)
		for _, c := range r.Columns {
			fmt.Fprintf(t, "%s\t", c.cell(row))
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

// cell is what the column has for a case.
func (c Column) cell(row *ConvRow) string {
	m := row.result(c.Way)
	if m == nil || m.Refused != "" {
		return "-"
	}
	part, whole := "", 1.0
	if m.Rows < row.H {
		part, whole = "~", float64(row.H)/float64(m.Rows)
	}
	runs := slices.Clone(m.Runs)
	switch c.Show {
	case Memory:
		return bench.FormatBytes(m.Scratch)
	case Time:
		return fmt.Sprintf("%s%.3f", part, m.Seconds*whole*1e3)
	case TransferTimes:
		runs = slices.Clone(m.TransferRuns)
	}
	for i := range runs {
		runs[i] *= whole
	}
	return part + spread(runs)
}

// spread is the mean and the standard deviation of runs in milliseconds.
func spread(runs []float64) string {
	if len(runs) == 0 {
		return "-"
	}
	mean, dev := deviation(runs)
	return fmt.Sprintf("%.3f ± %.3f", mean*1e3, dev*1e3)
}
