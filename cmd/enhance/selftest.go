package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"text/tabwriter"

	"enhance/internal/devices"
	"enhance/internal/kernelcheck"
	"enhance/internal/printable"
	"enhance/model"
)

var selftestCommand = &command{name: "selftest", summary: "test a device's kernels against their definition",
	usage: []string{"selftest [-g DEVICE] [-m MODEL] [--json]"}, run: runSelftest,
	about: `Runs every kernel that the device would use for the model, in every precision that it
offers, on small inputs of odd sizes, and compares the results with the definition in
float64. Each runs under five plans (whole planes, strips, least memory), which must give
the same bytes. If a kernel is wrong, the status is 5. Attach the JSON report to a report
of a bug. Choices that enhance tune made are not tested here: it checks them itself.`}

// selftestReport is the result with what else identifies the case.
type selftestReport struct {
	Version  string `json:"version"`
	Platform string `json:"platform"`
	Model    string `json:"model"`
	*kernelcheck.Report
}

func runSelftest(c *call) error {
	if err := c.wantNoArguments(); err != nil {
		return err
	}
	m, err := model.LoadLevel(c.set.Model, c.levelOrAny())
	if err != nil {
		return err
	}
	choice, err := devices.Choose(c.set.Device)
	if err != nil {
		return err
	}
	ctx, stop := interruptible(c.env, func() {})
	defer stop()
	o := kernelcheck.Options{Device: choice.Device, Model: m}
	if c.terminal != nil {
		o.Progress = func(done, total int, kernel string) {
			fmt.Fprintf(c.terminal, "\r\x1b[K%d of %d: %s", done+1, total, kernel)
		}
	}
	found, err := kernelcheck.Run(ctx, o)
	if c.terminal != nil {
		fmt.Fprint(c.terminal, "\r\x1b[K")
	}
	if err != nil {
		return err
	}
	info, _ := debug.ReadBuildInfo()
	r := selftestReport{versionOf(info), runtime.GOOS + "/" + runtime.GOARCH, c.modelName(), found}
	if err := c.report(r, func(w io.Writer) error { return writeSelftest(w, &r) }); err != nil || found.Wrong == 0 {
		return err
	}
	return &devices.Error{Selector: c.set.Device, Problem: fmt.Sprintf("%d of %d kernels are wrong on %s: -g selects another device, -g host computes without one",
		found.Wrong, len(found.Kernels), found.Device)}
}

// modelName is the model that was asked for, or the default.
func (c *call) modelName() string {
	if c.set.Model == "" {
		return model.Default
	}
	return c.set.Model
}

func writeSelftest(w io.Writer, r *selftestReport) error {
	fmt.Fprintf(w, "%-8s%s, %s\n%-8s%s\n", "enhance", r.Version, r.Platform, "device", printable.Text(r.Device))
	if i := r.Info; i != nil {
		fmt.Fprintf(w, "%-8s%s, driver %s\n", "", printable.Text(i.Version), printable.Text(i.DriverVersion))
	}
	fmt.Fprintf(w, "%-8s%s\n\n", "model", printable.Text(r.Model))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "kernel\tprecision\terror\tallowed\tplans\topening\trunning\tverdict")
	for _, k := range r.Kernels {
		verdict := "right"
		if k.Problem != "" {
			verdict = "WRONG: " + printable.Line(k.Problem)
		}
		fmt.Fprintf(t, "%s\t%s\t%.1e\t%.1e\t%d\t%.2f s\t%.2f ms\t%s\n", k.Name, k.Precision, k.Error, k.Allowed, k.Plans, k.Opening, k.Running*1e3, verdict)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	verdict := fmt.Sprintf("all %d kernels are right", len(r.Kernels))
	if r.Wrong > 0 {
		verdict = fmt.Sprintf("%d of %d kernels are WRONG", r.Wrong, len(r.Kernels))
	}
	_, err := fmt.Fprintf(w, "\n%-8s%s, tested in %.1f s\n", "verdict", verdict, r.Seconds)
	return err
}
