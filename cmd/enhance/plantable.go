package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"enhance/internal/printable"
	"enhance/memplan"
	"enhance/pipeline/facts"
)

var planTableCommand = &command{name: "plan-table", summary: "print memory and time of a photo under many budgets",
	usage: []string{"plan-table PHOTO [-m MODEL] [--measure]", "plan-table --size WxH [-m MODEL] [--device-profile NAME]"}, run: runPlanTable, files: true,
	about: `Prints a Markdown table of budgets: 64M to 4G, 0 (no limit), and the smallest that
works. A row has the peak of device memory, the strategy, launches, transfers, host
memory, and three predicted times: of the kernels, of the transfers, and
of the whole run, which overlaps them. Budgets with the same plan share a row.

With --measure, enhance develops the photo within each budget and prints the time
without preparation and compilation. A first run does not count.`}

func runPlanTable(c *call) error {
	w, h, photo, done, err := c.photoOrSize()
	switch {
	case err != nil:
		return err
	case c.size != "" && c.measure:
		return usagef("plan-table: --measure needs a photo, not --size")
	}
	defer done()
	c.set.PlanOnly = c.set.Profile != "" && c.device == "" && !c.measure
	s, err := c.newSession(false)
	if err != nil {
		return err
	}
	ctx, stop := interruptible(c.env, s.Abandon)
	defer stop()
	defer s.Close()
	var t *facts.PlanTable
	if c.size != "" {
		t, err = s.PlanTableSize(h, w)
	} else {
		t, err = s.PlanTable(ctx, photo, c.measure)
	}
	if err != nil {
		return ofPhoto(photo.Input, err)
	}
	return c.report(t, func(w io.Writer) error { return writePlanTable(w, t, c.measure) })
}

func writePlanTable(w io.Writer, t *facts.PlanTable, measured bool) error {
	fmt.Fprintf(w, "%s, padded to %s packed samples, %s on %s\n\n", printable.Text(t.Input), sizeOf(t.Packed), printable.Text(t.Model.String()), deviceName(&t.Device))
	var b strings.Builder
	tw := tabwriter.NewWriter(&b, 0, 0, 1, ' ', tabwriter.AlignRight)
	head, rule := "|\t`--mem` |\tpeak |\tstrategy |\tlaunches |\tuploaded |\tdownloaded |\tin host memory |\tkernels s |\ttransfers s |\tpredicted s |\t", "|\t---: |\t---: |\t:--- |\t---: |\t---: |\t---: |\t---: |\t---: |\t---: |\t---: |\t"
	if measured {
		head, rule = head+"measured s |\t", rule+"---: |\t"
	}
	fmt.Fprintf(tw, "%s\n%s\n", head, rule)
	for i := 0; i < len(t.Rows); i++ {
		r, name := &t.Rows[i], budgetName(&t.Rows[i])
		first := i
		for i+1 < len(t.Rows) && r.SamePlan(&t.Rows[i+1]) {
			i++
		}
		switch {
		case i > first && t.Rows[i].Budget == 0:
			name += " and more"
		case i > first:
			name += " to " + budgetName(&t.Rows[i])
		}
		if why := whyNot(r); why != "" {
			fmt.Fprintf(tw, "|\t%s |\t- |\t%s |\t- |\t- |\t- |\t- |\t- |\t- |\t- |\t", name, why)
			if measured {
				fmt.Fprint(tw, "- |\t")
			}
			fmt.Fprintln(tw)
			continue
		}
		fmt.Fprintf(tw, "|\t%s |\t%s |\t%s |\t%d |\t%s |\t%s |\t%s |\t%s |\t%s |\t%s |\t", name, short(r.Peak), strategyOf(r), r.Launches,
			short(r.Upload), short(r.Download), short(r.HostBytes), significant(r.Work), significant(r.Link), significant(r.Predicted))
		if measured {
			fmt.Fprintf(tw, "%s |\t", significant(r.Measured))
		}
		fmt.Fprintln(tw)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, strings.ReplaceAll("\n"+b.String(), "\n ", "\n")[1:])
	return err
}

// whyNot says why a photo is not developed within a row's budget, "" if it is.
func whyNot(r *facts.TableRow) string {
	switch {
	case r.TooSmall:
		return "too small"
	case r.HostTooSmall:
		return "needs " + short(r.HostNeed) + " of host memory"
	}
	return ""
}

// budgetName is what --mem takes.
func budgetName(r *facts.TableRow) string {
	b := r.Budget
	switch {
	case r.Smallest:
		return fmt.Sprint(b)
	case b > 0 && b%(1<<30) == 0:
		return fmt.Sprintf("%dG", b>>30)
	case b > 0 && b%(1<<20) == 0:
		return fmt.Sprintf("%dM", b>>20)
	}
	return fmt.Sprint(b)
}

func strategyOf(r *facts.TableRow) string {
	p := &r.Plan
	switch {
	case r.Full != nil && len(r.Full.Sections) == len(r.Full.Program.Steps), p.Strategy == memplan.StripsAtEnds:
		return p.Strategy
	case len(r.Full.Sections) > 1:
		return fmt.Sprintf("%d %s, %s", len(r.Full.Sections), p.Strategy, upToRows(p.Rows))
	}
	return fmt.Sprintf("%s, %s", p.Strategy, strings.TrimPrefix(upToRows(p.Rows), "up to "))
}
