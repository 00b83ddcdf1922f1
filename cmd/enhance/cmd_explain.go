package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"enhance/exec"
	"enhance/pipeline"
)

func init() {
	register(&command{name: "explain", summary: "how a network would run on a photo: algorithm, place and cost of every layer", run: runExplain})
}

const explainHelp = `enhance explain photo.dng [-m MODEL]
enhance explain --size HxW [-m MODEL]

Prints every step of the plan: what it reads and makes, the algorithm and why, its
share of the work, its scratch memory, and where its result lives. Nothing is
computed or allocated, but with --precision auto the patch that decides.
`

func runExplain(e *env, args []string) int {
	n, size, samples := &netFlags{}, "", rawFlags{}
	f := newFlags("explain")
	f.StringVar(&size, "size", "", sizeUsage)
	n.declareModel(f)
	n.declareDevice(f)
	withoutHost(f)
	n.declareProfile(f)
	samples.declare(f)
	n.declareReport(f)
	if code, done := e.begin(n, f, args, explainHelp); done {
		return code
	}
	h, w, photo, err := photoOrSize(f, size, &samples)
	if err != nil {
		return e.fail(err, "")
	}
	n.set.PlanOnly = n.set.Profile != nil && n.set.Device == ""
	tellTuning(&n.set, e.stderr, false, false)
	e.compileApart(&n.set)
	s, err := pipeline.NewSession(n.set)
	if err != nil {
		return e.fail(err, "")
	}
	defer s.Close()
	var x *pipeline.Explanation
	if size != "" {
		x, err = s.ExplainSize(h, w)
	} else {
		x, err = s.ExplainPhoto(photo)
	}
	if err != nil {
		return e.fail(err, f.Arg(0))
	}
	if n.json {
		return e.putJSON(x)
	}
	if err := writeExplanation(e.stdout, x); err != nil {
		return e.fail(err, "")
	}
	return exitOK
}

func writeExplanation(w io.Writer, x *pipeline.Explanation) error {
	fmt.Fprintf(w, "%-8s%s: %dx%d packed\n", "input", x.Input, x.Plan.Packed[0], x.Plan.Packed[1])
	fmt.Fprintf(w, "%-8s%s (%s)\n", "device", deviceName(&x.Device), x.Device.Why)
	fmt.Fprintf(w, "%-8s%s, %s\n", "model", x.Model.Name, precisionLine(&x.Plan))
	fmt.Fprintf(w, "%-8s%s\n", "plan", planLine(&x.Plan))
	fmt.Fprintf(w, "%-8s%s\n", "", tuningLine(&x.Plan))
	fmt.Fprintf(w, "%-8speak %s of device memory\n\n", "", pipeline.Bytes(x.Plan.Peak))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "step\tkind\tchannels\tk\tplane\tGFLOP\tshare\tscratch\tresult\talgorithm")
	whys, order := map[string]string{}, []string{}
	for i := range x.Steps {
		s := &x.Steps[i]
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%dx%d\t%s\t%s\t%s\t%s\t%s\n", s.Name, s.Kind, s.Channels(), side(s.Kernel), s.H, s.W,
			gigaOf(s.FLOPs), shareOf(s), scratchOf(s.Scratch), s.Output, algoOf(s, whys, &order))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for _, why := range order {
		fmt.Fprintf(w, "(%s) %s\n", whys[why], why)
	}
	for _, a := range x.Algos {
		fmt.Fprintf(w, "%-24s %3d convolutions, %5.1f %% of the work\n", a.Algo, a.Steps, 100*a.Share)
	}
	return nil
}

// algoOf names a step's algorithm with a letter for the reason, which is printed
// once below the table.
func algoOf(s *exec.StepFacts, whys map[string]string, order *[]string) string {
	if s.Algo == "" {
		return "-"
	}
	if whys[s.Why] == "" {
		whys[s.Why] = fmt.Sprint(len(whys) + 1)
		*order = append(*order, s.Why)
	}
	return fmt.Sprintf("%s (%s)", s.Algo, whys[s.Why])
}

func side(k int) string {
	if k == 0 {
		return "-"
	}
	return fmt.Sprint(k)
}

func gigaOf(flops int64) string {
	if flops == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", float64(flops)/1e9)
}

func shareOf(s *exec.StepFacts) string {
	if s.FLOPs == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*s.Share)
}

func scratchOf(n int64) string {
	if n == 0 {
		return "-"
	}
	return pipeline.Bytes(n)
}
