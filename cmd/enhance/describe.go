package main

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"enhance/clrt"
	"enhance/pipeline"
)

// writePlanned says what was decided, before the work.
func writePlanned(w io.Writer, r *pipeline.Report, verbose bool) {
	item := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-8s%s\n", name, fmt.Sprintf(format, args...))
	}
	p := &r.Photo
	camera := strings.TrimSpace(p.Model)
	if !strings.HasPrefix(camera, p.Make) {
		camera = strings.TrimSpace(p.Make + " " + camera)
	}
	if camera == "" {
		camera = "unknown camera"
	}
	item("photo", "%s: %s, %s", filepath.Base(r.Input), camera, p.Format)
	item("", "%s, %s, black %s, white %s%s", photoSize(p), p.CFA, levels(p.Black), levels(p.White[:]), orientation(p.Orientation))
	item("", "%s", colourLine(&r.Colour))
	if r.Noise != nil {
		item("noise", "%s", noiseLine(r.Noise))
	}
	item("device", "%s (%s)", deviceName(&r.Device), r.Device.Why)
	item("model", "%s, %s", r.Model.Name, precisionLine(&r.Plan))
	item("plan", "%s", planLine(&r.Plan))
	if t := tuningLine(&r.Plan); t != "" {
		item("", "%s", t)
	}
	item("", "%s", budgetLine(r))
	writeMoves(w, r)
	if r.Output.Path != "" || !r.DryRun {
		name := r.Output.Path
		if name == "" {
			name = "standard output"
		}
		item("output", "%s: %s, %d bits, %dx%d", name, r.Output.Format, r.Output.Bits, r.Output.Width, r.Output.Height)
	}
	for _, text := range r.Warnings {
		item("note", "%s", oneLine(text))
	}
	writeSections(w, r)
	if verbose {
		writeVerbose(w, r)
	}
}

// writeVerbose adds what only a study needs.
func writeVerbose(w io.Writer, r *pipeline.Report) {
	for i, row := range r.Colour.Matrix {
		name := ""
		if i == 0 {
			name = "matrix"
		}
		fmt.Fprintf(w, "%-8s%9.5f %9.5f %9.5f\n", name, row[0], row[1], row[2])
	}
	if d := r.Device.Info; d != nil {
		fmt.Fprintf(w, "%-8s%s, driver %s, %d compute units, %s global, %s a buffer, %s local\n", "", d.Version, d.DriverVersion,
			d.ComputeUnits, pipeline.Bytes(d.GlobalMem), pipeline.Bytes(d.MaxAlloc), pipeline.Bytes(d.LocalMem))
	}
	if p := r.Plan.Full; p != nil { // enhance explain prints it step by step
		buffer := func(n int64, purpose string) {
			if n > 0 {
				fmt.Fprintf(w, "%-8s%12d bytes of %s\n", "buffer", n, purpose)
			}
		}
		for _, n := range p.Arenas {
			buffer(n, "activations")
		}
		for _, f := range p.Fixed {
			buffer(f.Bytes, f.Purpose)
		}
		buffer(p.Resident, "weights")
		buffer(p.Loaded, "weights of a section at a time")
		buffer(p.Scratch, "scratch")
	}
}

// photoSize is the size of the picture, and of what it is cut from if that is more.
func photoSize(p *pipeline.PhotoFacts) string {
	w, h := p.Crop[2]-p.Crop[0], p.Crop[3]-p.Crop[1]
	if w == p.Width && h == p.Height {
		return fmt.Sprintf("%dx%d", w, h)
	}
	return fmt.Sprintf("%dx%d of %dx%d", w, h, p.Width, p.Height)
}

func levels(v []float32) string {
	v = slices.Compact(slices.Clone(v))
	if len(v) > 4 {
		return fmt.Sprintf("%s to %s", number(float64(slices.Min(v))), number(float64(slices.Max(v))))
	}
	var s []string
	for _, x := range v {
		s = append(s, number(float64(x)))
	}
	return strings.Join(s, "/")
}

func orientation(o int) string {
	if o <= 1 {
		return ""
	}
	return fmt.Sprintf(", orientation %d", o)
}

func colourLine(c *pipeline.ColourFacts) string {
	s := "white balance " + c.WhiteBalance
	if c.Gains != ([3]float64{}) {
		s += fmt.Sprintf(" (gains %s, %s, %s)", number(c.Gains[0]), number(c.Gains[1]), number(c.Gains[2]))
	}
	if c.Temperature > 0 {
		s += fmt.Sprintf(", about %.0f K", c.Temperature)
	}
	s += fmt.Sprintf(", exposure %+.2f EV", c.EV)
	switch {
	case c.AutoExposure:
		s += " (auto)"
	case c.BaselineEV != 0:
		s += fmt.Sprintf(" (%+.2f of them the camera's baseline)", c.BaselineEV)
	}
	return s
}

// noiseLine says where the noise level comes from, and what it is.
func noiseLine(n *pipeline.NoiseFacts) string {
	s := map[string]string{"none": "taken as none", "given": "given", "file": "from the file", "estimated": "estimated from the photo"}[n.Source]
	if n.Source == "none" {
		return s
	}
	var levels []string
	for c, l := range n.Levels {
		levels = append(levels, fmt.Sprintf("%c %.3g·v + %.2g", "RGB"[c], l.S, l.O))
	}
	return fmt.Sprintf("%s: variance %s; strength %s", s, strings.Join(levels, ", "), number(n.Denoise))
}

func deviceName(d *pipeline.DeviceFacts) string {
	name := d.Name
	if d.Index >= 0 {
		name = fmt.Sprintf("%d: %s", d.Index, d.Name)
		if d.Profile != "" {
			name += ", within the limits of " + d.Profile
		}
	}
	return name
}

// precisionLine is the precision, and why where the program chose.
func precisionLine(p *pipeline.PlanFacts) string {
	if p.PrecisionWhy == "" {
		return p.Precision
	}
	return fmt.Sprintf("%s (%s)", p.Precision, p.PrecisionWhy)
}

// tuningLine says where the choice of algorithms came from, "" if there was none.
func tuningLine(p *pipeline.PlanFacts) string {
	if t := p.Tuning.String(); t != "" {
		return "algorithms: " + t
	}
	return ""
}

func planLine(p *pipeline.PlanFacts) string {
	s := p.Strategy
	if p.Full == nil {
		return s
	}
	if p.Sections > 1 && p.Sections < p.Launches {
		s += fmt.Sprintf(", %d sections", p.Sections)
	}
	if p.Ticks > p.Sections {
		s += fmt.Sprintf(", %d strips of %s, overlap kept in rings", p.Ticks, upToRows(p.Rows))
	}
	s += fmt.Sprintf(", %d launches, %.2f TFLOP", p.Launches, float64(p.FLOPs)/1e12)
	if p.HostBytes > 0 {
		s += fmt.Sprintf(", %s spilled to the host", pipeline.Bytes(p.HostBytes))
	}
	return s
}

// upToRows is the height of strips, the last of which may be lower.
func upToRows(n int) string {
	if n == 1 {
		return "1 row"
	}
	return fmt.Sprintf("up to %d rows", n)
}

func budgetLine(r *pipeline.Report) string {
	p := &r.Plan
	if p.Full == nil {
		return fmt.Sprintf("about %s of activations in the host's memory (%s)", pipeline.Bytes(p.Peak), p.BudgetWhy)
	}
	if p.Budget == 0 {
		return fmt.Sprintf("predicted peak %s (%s)", pipeline.Bytes(p.Peak), p.BudgetWhy)
	}
	return fmt.Sprintf("predicted peak %s of %s (%s)", pipeline.Bytes(p.Peak), pipeline.Bytes(p.Budget), p.BudgetWhy)
}

// writeDone says what happened, after the work, but for the warnings already said.
func writeDone(w io.Writer, r *pipeline.Report, said map[string]bool) {
	s := &r.Seconds
	wait := ""
	if s.Wait >= 0.005 { // for photos before
		wait = fmt.Sprintf("wait %.2f, ", s.Wait)
	}
	fmt.Fprintf(w, "%-8s%.2f s: %splan %.2f, prepare %.2f, run %.2f, finish %.2f (busy inside: decode %.2f, develop %.2f, encode %.2f)\n",
		"time", s.Total, wait, s.Plan, s.Prepare, s.Run, s.Finish, s.Decode, s.Develop, s.Encode)
	if m := &r.Memory; m.Measured {
		kind := "device"
		if r.Device.Info != nil && r.Device.Info.Type == clrt.GPU {
			kind = "GPU"
		}
		agree := "as planned"
		if !m.AsPlanned {
			agree = fmt.Sprintf("NOT as planned (%d bytes, planned %d)", m.Peak, r.Plan.Peak)
		}
		of := ", no budget set"
		if r.Plan.Budget > 0 {
			of = " of " + pipeline.Bytes(r.Plan.Budget) + " budget"
		}
		fmt.Fprintf(w, "%-8speak %s memory %s%s, %s%s\n", "memory", kind, pipeline.Bytes(m.Peak), of, agree, hostPeak(&r.Host))
	} else if h := hostPeak(&r.Host); h != "" {
		fmt.Fprintf(w, "%-8s%s\n", "memory", strings.TrimPrefix(h, "; "))
	}
	if q := r.Reference; q != nil {
		fmt.Fprintf(w, "%-8sCPSNR %s dB (R %s, G %s, B %s), SSIM %.4f, luma %.4f; whole picture, %s, against %s\n", "quality",
			decibels(q.CPSNR), decibels(q.PSNR[0]), decibels(q.PSNR[1]), decibels(q.PSNR[2]), q.SSIM, q.SSIMLuma, q.Domain, q.Path)
	}
	for _, text := range r.Warnings {
		if !said[text] {
			fmt.Fprintf(w, "%-8s%s\n", "note", oneLine(text))
		}
	}
}

// hostPeak is what the process came to hold, "" if the system does not say.
func hostPeak(h *pipeline.HostFacts) string {
	if h.PeakRSS == 0 {
		return ""
	}
	s := "; host " + pipeline.Bytes(h.PeakRSS)
	if h.Budget > 0 {
		s += " of " + pipeline.Bytes(h.Budget)
	}
	return s
}

func decibels(d pipeline.Decibels) string {
	if math.IsInf(float64(d), 1) {
		return "infinite"
	}
	return fmt.Sprintf("%.2f", float64(d))
}
