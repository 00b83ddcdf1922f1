package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"enhance/internal/bytesize"
	"enhance/internal/printable"
	"enhance/pipeline/facts"
)

var explainCommand = &command{name: "explain", summary: "print the plan of a photo, layer by layer",
	usage: []string{"explain PHOTO [-m MODEL]", "explain --size WxH [-m MODEL]"}, run: runExplain, files: true,
	about: `Prints every step of the plan: its size and where its result goes, its algorithm and the reason for
it, its share of the work, and its scratch memory. It computes and allocates nothing
but, with --precision auto, the patch that decides.`}

func runExplain(c *call) error {
	w, h, photo, done, err := c.photoOrSize()
	if err != nil {
		return err
	}
	defer done()
	c.set.PlanOnly = c.set.Profile != "" && c.device == ""
	s, err := c.newSession(false)
	if err != nil {
		return err
	}
	defer s.Close()
	var x *facts.Explanation
	if c.size != "" {
		x, err = s.ExplainSize(h, w)
	} else {
		x, err = s.ExplainPhoto(photo)
	}
	if err != nil {
		return ofPhoto(photo.Input, err)
	}
	return c.report(x, func(w io.Writer) error { return writeExplanation(w, x) })
}

func writeExplanation(w io.Writer, x *facts.Explanation) error {
	item(w, "input", "%s, padded to %s packed samples", printable.Text(x.Input), sizeOf(x.Plan.Packed))
	writeNetwork(w, &x.Device, x.Model.String(), &x.Plan)
	item(w, "tuning", "%s", tuningLine(&x.Plan))
	fmt.Fprintf(w, "%-8speak %s of device memory\n\n", "memory", bytesize.Text(x.Plan.Peak))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "step\tkind\tchannels\tk\tplane\tGFLOP\tshare\tscratch\tresult\talgorithm")
	whys, order := map[string]string{}, []string{}
	for i := range x.Steps {
		s := &x.Steps[i]
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%dx%d\t%s\t%s\t%s\t%s\t%s\n", s.Name, s.Kind, s.Channels(), side(s.Kernel), s.W, s.H,
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
		fmt.Fprintf(w, "%-24s %3d %-13s %5.1f %% of the work\n", a.Algo, a.Steps, plural(a.Steps, "convolution")+",", 100*a.Share)
	}
	return nil
}

// plural is a word for n things.
func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// algoOf names a step's algorithm with the number of the reason, which is printed once
// below the table.
func algoOf(s *facts.Step, whys map[string]string, order *[]string) string {
	if s.Algo == "" {
		return "-"
	}
	if whys[s.Why] == "" {
		whys[s.Why] = fmt.Sprint(len(whys) + 1)
		*order = append(*order, s.Why)
	}
	return fmt.Sprintf("%s (%s)", s.Algo, whys[s.Why])
}

// sizeOf prints rows and columns as columns x rows, the order of every size that the
// command prints or reads.
func sizeOf(rowsColumns [2]int) string { return fmt.Sprintf("%dx%d", rowsColumns[1], rowsColumns[0]) }

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

func shareOf(s *facts.Step) string {
	if s.FLOPs == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*s.Share)
}

func scratchOf(n int64) string {
	if n == 0 {
		return "-"
	}
	return bytesize.Text(n)
}
