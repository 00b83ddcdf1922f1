package facts

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// WriteTable prints the profile for people: the steps, the longest first, then
// the kernels behind them, the queues, the host, and how all adds up to the wall
// clock. With several runs times are of all together.
func (r *Profile) WriteTable(w io.Writer) error {
	e := &errWriter{w: w}
	fmt.Fprintf(e, "profile of %d %s on %s\n\n", r.Runs, plural(r.Runs, "run"), r.Device)
	r.writeSteps(e)
	fmt.Fprintln(e)
	r.writeKernels(e)
	fmt.Fprintln(e)
	r.writeQueues(e)
	fmt.Fprintln(e)
	if len(r.Host) > 0 {
		r.writeHost(e)
		fmt.Fprintln(e)
	}
	r.writeTotals(e)
	return e.err
}

// errWriter keeps the first error.
type errWriter struct {
	w   io.Writer
	err error
}

func (e *errWriter) Write(p []byte) (int, error) {
	if e.err == nil {
		_, e.err = e.w.Write(p)
	}
	return len(p), e.err
}

func table(w io.Writer) *tabwriter.Writer {
	return tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
}

func (r *Profile) writeSteps(w io.Writer) {
	t := table(w)
	fmt.Fprint(t, "ms\t%\tlaunches\tgaps ms\tGFLOP/s\tGB/s\troof %\tbound\t step\n")
	for _, s := range r.Steps {
		name := " " + s.Name + " (" + s.Kind
		if s.Algo != "" {
			name += ", " + s.Algo
		}
		fmt.Fprintf(t, "%.3f\t%.1f\t%d\t%.3f\t%s\t%s\t%s\t%s\t%s)\n", s.Seconds*1e3, percent(s.Seconds, r.Kernels), s.Launches, s.Gaps*1e3,
			rate(float64(s.FLOPs), s.Seconds), rate(float64(s.Bytes), s.Seconds), share(s.Roof), or(s.Bound), name)
	}
	roof := 0.0
	for _, s := range r.Steps {
		roof += s.Roof * s.Seconds
	}
	if r.Kernels > 0 {
		roof /= r.Kernels
	}
	fmt.Fprintf(t, "%.3f\t%.1f\t%d\t%.3f\t%s\t%s\t%s\t\t total of %d steps\n", r.Kernels*1e3, percent(r.Kernels, r.Kernels), r.Launches, r.stepGaps()*1e3,
		rate(float64(r.FLOPs), r.Kernels), rate(float64(r.Bytes), r.Kernels), share(roof), len(r.Steps))
	t.Flush()
	if r.Launches > r.Planned {
		fmt.Fprintf(w, "%d launches of kernels, %d of steps as plans count them: some steps are several kernels\n", r.Launches, r.Planned)
	}
	if slices.ContainsFunc(r.Steps, func(s StepProfile) bool { return s.Roof > 1 }) {
		fmt.Fprintln(w, "roof above 100 %: fewer multiplications than by the definition (Winograd), or rows that were still in a cache")
	}
}

// stepGaps are the gaps before kernels; gaps before copies are not among them.
func (r *Profile) stepGaps() float64 {
	sum := 0.0
	for _, s := range r.Steps {
		sum += s.Gaps
	}
	return sum
}

func (r *Profile) writeKernels(w io.Writer) {
	t := table(w)
	fmt.Fprint(t, "ms\t%\tlaunches\tµs each\t kernel\n")
	for _, k := range r.SumKernels() {
		fmt.Fprintf(t, "%.3f\t%.1f\t%d\t%.1f\t %s\n", k.Seconds*1e3, percent(k.Seconds, r.Kernels), k.Launches, k.Seconds*1e6/float64(k.Launches), k.Name)
	}
	t.Flush()
}

func (r *Profile) writeQueues(w io.Writer) {
	t := table(w)
	fmt.Fprint(t, "ms\tcommands\tMB\tGB/s\t queue\n")
	for _, q := range r.Queues {
		for _, k := range q.Kinds {
			bytes, speed := "", ""
			if k.Bytes > 0 {
				bytes, speed = fmt.Sprintf("%.1f", float64(k.Bytes)/1e6), rate(float64(k.Bytes), k.Seconds)
			}
			fmt.Fprintf(t, "%.3f\t%d\t%s\t%s\t %s: %s\n", k.Seconds*1e3, k.Count, bytes, speed, q.Name, k.Kind)
		}
	}
	t.Flush()
}

func (r *Profile) writeHost(w io.Writer) {
	t := table(w)
	fmt.Fprint(t, "ms\ttimes\t on the host\n")
	for _, s := range r.Host {
		fmt.Fprintf(t, "%.3f\t%d\t %s\n", s.Seconds*1e3, s.Count, s.Name)
	}
	t.Flush()
}

func (r *Profile) writeTotals(w io.Writer) {
	t := table(w)
	for _, v := range []struct {
		seconds float64
		what    string
	}{
		{r.Kernels, "kernels"}, {r.Copies, "copies and fills in the kernels' queue"},
		{r.Gaps, "gaps: the queue had nothing to do"}, {r.Edges, "before the first command and after the last"},
	} {
		fmt.Fprintf(t, "%.3f\t%.1f\t %s\n", v.seconds*1e3, percent(v.seconds, r.Wall), v.what)
	}
	fmt.Fprintf(t, "%.3f\t%.1f\t wall clock\n", r.Wall*1e3, percent(r.Wall, r.Wall))
	t.Flush()
	if p := r.Peaks; p != nil {
		fmt.Fprintf(w, "peaks: %s, %.0f GB/s\n", p.Units, p.Bytes/1e9)
	}
}

// SumKernels sums kernels over the steps, the longest first.
func (r *Profile) SumKernels() []KernelProfile {
	var all []KernelProfile
	at := map[string]int{}
	for _, s := range r.Steps {
		for _, k := range s.Kernels {
			i, ok := at[k.Name]
			if !ok {
				i = len(all)
				at[k.Name], all = i, append(all, KernelProfile{Name: k.Name})
			}
			all[i].Launches += k.Launches
			all[i].Seconds += k.Seconds
		}
	}
	slices.SortStableFunc(all, func(a, b KernelProfile) int { return cmp.Compare(b.Seconds, a.Seconds) })
	return all
}

func percent(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * part / whole
}

// rate prints 10^9 a second.
func rate(n, seconds float64) string {
	if n == 0 || seconds == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", n/seconds/1e9)
}

func share(v float64) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", 100*v)
}

func or(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}
