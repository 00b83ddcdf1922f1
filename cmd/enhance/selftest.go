package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"enhance/clrt"
	"enhance/internal/devices"
	"enhance/internal/kernelcheck"
	"enhance/internal/planar"
	"enhance/internal/printable"
	"enhance/model"
	"enhance/pipeline"
)

var selftestCommand = &command{name: "selftest", minor: true, summary: "test a device's kernels against their definition",
	usage: []string{"selftest [-g DEVICE] [-m MODEL] [--json]"}, run: runSelftest,
	about: `Runs every kernel that the device would use for the model, in every precision that it
offers, on small inputs of odd sizes, and compares the results with the definition in
float64. Each runs under five plans (whole planes, strips, least memory), which must give
the same bytes. Kernels that take a photo's samples and make its picture are compared with
what the host makes, under one plan. If a kernel is wrong, the status is 5. Attach the JSON report to a report
of a bug. Choices that enhance tune made are not tested here: it checks them itself.`}

// selftestReport is the result with what else identifies the case.
type selftestReport struct {
	Version  string `json:"version"`
	Platform string `json:"platform"`
	Model    string `json:"model"`
	// CodesUntested says that the model has convolutions of codes of 8 bits: these are not tested.
	CodesUntested bool `json:"codes_untested,omitempty"`
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
	o := kernelcheck.Options{Device: choice.Device, Model: m, More: photoChecks}
	begun := ""
	o.Begin = func(done, total int, kernel, precision string) {
		begun = fmt.Sprintf("%s in %s", kernel, precision)
		if c.terminal != nil && c.json {
			fmt.Fprintf(c.terminal, "\r\x1b[K%d of %d: %s", done+1, total, begun)
		}
	}
	info, _ := debug.ReadBuildInfo()
	r := selftestReport{Version: versionOf(info), Platform: runtime.GOOS + "/" + runtime.GOARCH, Model: c.modelName(), CodesUntested: m.Graph.HasCodes()}
	if !c.json { // as it comes: a kernel that crashes or hangs is the one after the last
		if err := r.head(c.text(), choice.Device); err != nil {
			return err
		}
		o.Done = func(k *kernelcheck.Kernel) { writeKernel(c.text(), k) }
	}
	r.Report, err = kernelcheck.Run(ctx, o)
	if c.terminal != nil && c.json {
		fmt.Fprint(c.terminal, "\r\x1b[K")
	}
	if ctx.Err() != nil && begun != "" {
		item(c.stderr, "note", "testing %s was interrupted", begun)
	}
	if err != nil {
		return err
	}
	if err := c.report(&r, r.writeVerdict); err != nil || r.Wrong == 0 {
		return err
	}
	return &devices.Error{Selector: c.set.Device, Problem: fmt.Sprintf("%d of %d kernels are wrong on %s: -g selects another device, -g host computes without one",
		r.Wrong, len(r.Kernels), r.Device)}
}

// photoChecks test what a photo needs beside its network.
var photoChecks = []kernelcheck.Check{
	{Kernel: "stored samples", Run: func(ctx context.Context, cl *clrt.Context, info *clrt.DeviceInfo, p planar.Precision) (float64, error) {
		return 0, kernelcheck.Samples(ctx, cl, info, p)
	}},
	{Kernel: "picture", Allowed: 1. / 65535, Run: func(ctx context.Context, cl *clrt.Context, info *clrt.DeviceInfo, p planar.Precision) (float64, error) {
		apart, err := pipeline.CheckPictures(ctx, cl, info, p)
		return float64(apart) / 65535, err
	}},
}

// modelName is the model that was asked for, or the default.
func (c *call) modelName() string {
	if c.set.Model == "" {
		return model.Default
	}
	return c.set.Model
}

// head says what is tested.
func (r *selftestReport) head(w io.Writer, d *clrt.Device) error {
	item(w, "enhance", "%s, %s", r.Version, r.Platform)
	if d == nil {
		item(w, "device", "host executor")
	} else {
		i := d.Info()
		fmt.Fprintf(w, "%-8s%s\n%8s%s, driver %s\n", "device", printable.Text(d.String()), "", printable.Text(i.Version), printable.Text(i.DriverVersion))
	}
	fmt.Fprintf(w, "%-8s%s\n\n", "model", printable.Text(r.Model))
	_, err := fmt.Fprintf(w, "%-28s %-9s %-9s %-9s %5s  %9s  %10s  %s\n", "kernel", "precision", "error", "allowed", "plans", "opening", "running", "verdict")
	return err
}

// writeKernel prints the verdict on a kernel.
func writeKernel(w io.Writer, k *kernelcheck.Kernel) {
	verdict := "right"
	if k.Problem != "" {
		verdict = "WRONG: " + printable.Line(k.Problem)
	}
	fmt.Fprintf(w, "%-28s %-9s %-9.1e %-9.1e %5d  %7.2f s  %7.2f ms  %s\n", k.Name, k.Precision, k.Error, k.Allowed, k.Plans, k.Opening, k.Running*1e3, verdict)
}

func (r *selftestReport) writeVerdict(w io.Writer) error {
	verdict := fmt.Sprintf("all %d kernels are right", len(r.Kernels))
	if r.Wrong > 0 {
		verdict = fmt.Sprintf("%d of %d kernels are WRONG", r.Wrong, len(r.Kernels))
	}
	if r.CodesUntested {
		verdict += "; the model's convolutions of codes of 8 bits are not among them"
	}
	_, err := fmt.Fprintf(w, "\n%-8s%s, tested in %.1f s\n", "verdict", verdict, r.Seconds)
	return err
}
