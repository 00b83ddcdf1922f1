package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"enhance/pipeline"
)

func init() {
	register(&command{name: "plan-table", summary: "peak memory and time of a photo within budgets from 64M to none", run: runPlanTable})
}

const planTableHelp = `enhance plan-table photo.dng [-m MODEL] [--measure]
enhance plan-table --size HxW [-m MODEL] [--device-profile NAME]

Prints a table (Markdown) of budgets, 64M to 4G, none, and the smallest that works:
the peak of device memory, the strategy, launches, transfers, host memory, and three
predictions: what the kernels take (work), what the bytes take over the link, and the
whole run, which overlaps them. Budgets that lead to one plan share a line. With
--measure the photo is developed within each budget, and thrown away, and its time
printed too, without preparing and compiling: one run more, the first, does not count.
`

func runPlanTable(e *env, args []string) int {
	n, size, measure, samples := &netFlags{}, "", false, rawFlags{}
	f := newFlags("plan-table")
	f.StringVar(&size, "size", "", sizeUsage)
	f.BoolVar(&measure, "measure", false, "develop the photo within each budget")
	n.declareModel(f)
	n.declareDevice(f)
	withoutHost(f)
	n.declareProfile(f)
	f.MarkHidden("mem")
	samples.declare(f)
	n.declareReport(f)
	if code, done := e.begin(n, f, args, planTableHelp); done {
		return code
	}
	h, w, photo, err := photoOrSize(f, size, &samples)
	switch {
	case err != nil:
	case size != "" && measure:
		err = usagef("plan-table: --measure needs a photo")
	case n.mem != "":
		err = usagef("plan-table: --mem has no place here: the table is of budgets")
	}
	if err != nil {
		return e.fail(err, "")
	}
	n.set.PlanOnly = n.set.Profile != nil && n.set.Device == "" && !measure
	tellTuning(&n.set, e.stderr, false, false)
	e.compileApart(&n.set)
	s, err := pipeline.NewSession(n.set)
	if err != nil {
		return e.fail(err, "")
	}
	ctx, stop := interruptible(e, s.Abandon)
	defer stop()
	defer s.Close()
	var t *pipeline.PlanTable
	if size != "" {
		t, err = s.PlanTableSize(h, w)
	} else {
		t, err = s.PlanTable(ctx, photo, measure)
	}
	if err != nil {
		return e.fail(err, f.Arg(0))
	}
	if n.json {
		return e.putJSON(t)
	}
	if err := writePlanTable(e.stdout, t, measure); err != nil {
		return e.fail(err, "")
	}
	return exitOK
}

func writePlanTable(w io.Writer, t *pipeline.PlanTable, measured bool) error {
	fmt.Fprintf(w, "%s, %dx%d packed, %s on %s\n\n", t.Input, t.Packed[0], t.Packed[1], t.Model.Name, deviceName(&t.Device))
	var b strings.Builder
	tw := tabwriter.NewWriter(&b, 0, 0, 1, ' ', tabwriter.AlignRight)
	head, rule := "|\t`--mem` |\tpeak |\tstrategy |\tlaunches |\tup |\tdown |\tin host memory |\twork s |\tlink s |\tpredicted s |\t", "|\t---: |\t---: |\t:--- |\t---: |\t---: |\t---: |\t---: |\t---: |\t---: |\t---: |\t"
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
		if i > first {
			name += " to " + budgetName(&t.Rows[i])
		}
		if r.TooSmall {
			fmt.Fprintf(tw, "|\t%s |\t- |\ttoo small |\t- |\t- |\t- |\t- |\t- |\t- |\t- |\t", name)
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

// budgetName is what --mem takes.
func budgetName(r *pipeline.TableRow) string {
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

func strategyOf(r *pipeline.TableRow) string {
	p := &r.PlanFacts
	switch {
	case r.Full != nil && len(r.Full.Sections) == len(r.Full.Program.Steps):
		return p.Strategy
	case len(r.Full.Sections) > 1:
		return fmt.Sprintf("%d %s, %s", len(r.Full.Sections), p.Strategy, upToRows(p.Rows))
	}
	return fmt.Sprintf("%s, %s", p.Strategy, strings.TrimPrefix(upToRows(p.Rows), "up to "))
}
