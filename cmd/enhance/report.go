package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"enhance/clrt"
	"enhance/internal/bytesize"
	"enhance/internal/printable"
	"enhance/memplan"
	"enhance/pipeline"
	"enhance/pipeline/facts"
	"enhance/raw/mosaic"
)

// item prints a line: what it is about, and what is said of it.
func item(w io.Writer, name, format string, args ...any) {
	fmt.Fprintf(w, "%-8s%s\n", name, fmt.Sprintf(format, args...))
}

// writeNetwork prints on what, by which network and by which plan is computed.
func writeNetwork(w io.Writer, d *facts.Device, model string, p *facts.Plan) {
	item(w, "device", "%s (%s)", deviceName(d), d.Why)
	item(w, "model", "%s, %s", printable.Text(model), precisionLine(p))
	item(w, "plan", "%s", planLine(p))
}

func writeNotes(w io.Writer, warnings []string) {
	for _, text := range warnings {
		item(w, "note", "%s", printable.Line(text))
	}
}

// writeExactPeak prints the peak of device memory to the byte, if it was measured.
func writeExactPeak(w io.Writer, m *facts.Memory, p *facts.Plan) {
	agree := "as planned"
	if !m.AsPlanned {
		agree = fmt.Sprintf("NOT as planned (%d bytes)", p.Peak)
	}
	if m.Measured {
		item(w, "memory", "peak device memory %s (%d bytes), %s", bytesize.Text(m.Peak), m.Peak, agree)
	}
}

// writePlannedShort prints the photo and the device, before the work.
func writePlannedShort(w io.Writer, r *pipeline.Report) {
	item(w, "photo", "%s: %s, %s", printable.Text(r.Input), cameraName(&r.Photo), photoSize(&r.Photo))
	item(w, "device", "%s (%s)", deviceName(&r.Device), r.Device.Why)
	writeNotes(w, r.Warnings)
}

// writeDoneShort prints the output, the time and the peak, after the work, and the
// warnings that were not printed before.
func writeDoneShort(w io.Writer, r *pipeline.Report, printed map[string]bool) {
	item(w, "output", "%s%s", outputName(&r.Output), otherSize(r))
	item(w, "time", "%.2f s%s", r.Seconds.Total, started(&r.Seconds))
	item(w, "memory", "%s", peakLine(r))
	writeDefects(w, r)
	writeComparison(w, r)
	writeWarnings(w, r, printed)
}

// otherSize is the picture's size if it is not the photo's, whichever side is up.
func otherSize(r *pipeline.Report) string {
	o, c := &r.Output, &r.Photo.Crop
	w, h := c[2]-c[0], c[3]-c[1]
	if o.Width == w && o.Height == h || o.Width == h && o.Height == w {
		return ""
	}
	return fmt.Sprintf(", %dx%d", o.Width, o.Height)
}

// started says how long the program took before a process's first photo, where a person would notice.
func started(s *facts.Seconds) string {
	if s.Start < 0.05 {
		return ""
	}
	return fmt.Sprintf(", after %.2f s to start", s.Start)
}

// writeDefects says how many defective pixels were repaired, and how many of a list were not, if any were.
func writeDefects(w io.Writer, r *pipeline.Report) {
	d := r.Defects
	if d == nil || d.Count == 0 && d.Left == 0 {
		return
	}
	left := ""
	if d.Left > 0 {
		left = fmt.Sprintf("; %d of the list stay: too few good ones are near", d.Left)
	}
	item(w, "defects", "%d %s repaired%s", d.Count, plural(int(d.Count), "defective pixel"), left)
}

// peakLine is a photo's peak, or its plan's where nothing is measured.
func peakLine(r *pipeline.Report) string {
	m := &r.Memory
	if r.WithoutNetwork() {
		return "none on the device"
	}
	if !m.Measured {
		return fmt.Sprintf("about %s of activations in the host's memory", bytesize.Text(r.Plan.Peak))
	}
	s := "peak " + bytesize.Text(m.Peak)
	if r.Plan.Budget > 0 {
		s += " of " + bytesize.Text(r.Plan.Budget)
	}
	if !m.AsPlanned {
		s += fmt.Sprintf(", NOT as planned (%d bytes, planned %d)", m.Peak, r.Plan.Peak)
	}
	return s
}

// writePlanned prints every decision, before the work.
func writePlanned(w io.Writer, r *pipeline.Report, verbose bool) {
	p := &r.Photo
	item(w, "photo", "%s: %s, %s", printable.Text(r.Input), cameraName(p), p.Format)
	item(w, "sensor", "%s, %s, black %s, white %s%s", photoSize(p), filterArray(p.CFA, p.Sensor), levels(p.Black), levels(p.White[:]), orientation(p.Orientation))
	item(w, "colour", "%s", colourLine(&r.Colour))
	if r.Noise != nil {
		item(w, "noise", "%s", noiseLine(r.Noise))
	}
	item(w, "device", "%s (%s)", deviceName(&r.Device), r.Device.Why)
	model := r.Model.String() + ", " + precisionLine(&r.Plan)
	if r.WithoutNetwork() {
		model = "none"
	}
	item(w, "model", "%s", model)
	item(w, "plan", "%s", planLine(&r.Plan))
	if t := tuningLine(&r.Plan); t != "" {
		item(w, "tuning", "%s", t)
	}
	item(w, "budget", "%s", budgetLine(r))
	writeMoves(w, r)
	if r.Output.Path != "" || !r.DryRun {
		item(w, "output", "%s: %s, %d bits, %dx%d, %s", outputName(&r.Output), r.Output.Format, r.Output.Bits, r.Output.Width, r.Output.Height, r.Output.Profile)
	}
	writeNotes(w, r.Warnings)
	writeSections(w, r)
	if verbose {
		writeVerbose(w, r)
	}
}

// filterArray names a sensor's filters: "RGGB", "X-Trans (xtrans)", "monochrome".
func filterArray(cfa, sensor string) string {
	switch sensor {
	case "", mosaic.RGGB.Kind():
		return cfa
	case mosaic.Mono.Kind():
		return sensor
	}
	return fmt.Sprintf("%s (%s)", sensor, cfa)
}

// cameraName is the maker and model, each once.
func cameraName(p *facts.Photo) string {
	name := strings.TrimSpace(p.Model)
	if !strings.HasPrefix(name, p.Make) {
		name = strings.TrimSpace(p.Make + " " + name)
	}
	if name == "" {
		return "unknown camera"
	}
	return printable.Text(name)
}

// outputName is where the picture goes.
func outputName(o *facts.Output) string {
	if o.Path == "" {
		return "standard output"
	}
	return printable.Text(o.Path)
}

// writeVerbose adds the numbers of the colour matrix, the device and the buffers.
func writeVerbose(w io.Writer, r *pipeline.Report) {
	for i, row := range r.Colour.Matrix {
		name := ""
		if i == 0 {
			name = "matrix"
		}
		item(w, name, "%9.5f %9.5f %9.5f", row[0], row[1], row[2])
	}
	if d := r.Device.Info; d != nil {
		item(w, "driver", "%s, %s, %d compute units, %s global, %s a buffer, %s local",
			d.Version, d.DriverVersion, d.ComputeUnits, bytesize.Text(d.GlobalMem), bytesize.Text(d.MaxAlloc), bytesize.Text(d.LocalMem))
	}
	if p := r.Plan.Full; p != nil { // enhance explain prints it step by step
		buffer := func(n int64, purpose string) {
			if n > 0 {
				item(w, "buffer", "%12d bytes of %s", n, purpose)
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
func photoSize(p *facts.Photo) string {
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

func colourLine(c *facts.Colour) string {
	s := "white balance " + c.WhiteBalance
	if c.Gains != ([3]float64{}) {
		s += fmt.Sprintf(" (gains %s, %s, %s)", number(c.Gains[0]), number(c.Gains[1]), number(c.Gains[2]))
	}
	if c.Temperature > 0 {
		s += fmt.Sprintf(", about %.0f K, tint %+.0f", c.Temperature, c.Tint)
	}
	s += fmt.Sprintf(", tone %s, exposure %+.2f EV", c.Tone, c.EV)
	switch {
	case c.AutoExposure:
		s += " (auto)"
	case c.BaselineEV != 0:
		s += fmt.Sprintf(" (%+.2f of them the camera's baseline)", c.BaselineEV)
	}
	if c.CameraProfile != "" {
		s += ", camera profile " + printable.Text(c.CameraProfile)
	}
	return s
}

// noiseLine is the noise level and its source.
func noiseLine(n *facts.Noise) string {
	s := map[string]string{"none": "taken as 0", "given": "given", "file": "from the file", "estimated": "estimated from the photo"}[n.Source]
	if n.Source == "none" {
		return s
	}
	var levels []string
	for c, l := range n.Levels {
		levels = append(levels, fmt.Sprintf("%c %.3g·v + %.2g", "RGB"[c], l.S, l.O))
	}
	left := ""
	if n.Left != nil {
		left = fmt.Sprintf(", which leaves %.2g of the deviation on smooth grey surfaces", *n.Left)
	}
	return fmt.Sprintf("%s: variance %s; strength %s%s", s, strings.Join(levels, ", "), number(n.Denoise), left)
}

func deviceName(d *facts.Device) string {
	name := d.Name
	if d.Index >= 0 {
		name = fmt.Sprintf("%d: %s", d.Index, d.Name)
		if d.Profile != "" {
			name += ", within the limits of " + d.Profile
		}
	}
	return printable.Text(name)
}

// precisionLine is the precision, with the reason if the program chose it.
func precisionLine(p *facts.Plan) string {
	if p.PrecisionWhy == "" {
		return p.Precision
	}
	return fmt.Sprintf("%s (%s)", p.Precision, p.PrecisionWhy)
}

// tuningLine is where the choice of algorithms came from, "" if there was none.
func tuningLine(p *facts.Plan) string {
	if t := p.Tuning.String(); t != "" {
		return "algorithms are " + t
	}
	return ""
}

func planLine(p *facts.Plan) string {
	s := p.Strategy
	if p.Full == nil {
		return s
	}
	ends := p.Strategy == memplan.StripsAtEnds
	if p.Sections > 1 && p.Sections < p.Launches && !ends {
		s = fmt.Sprintf("%d %s", p.Sections, s)
	}
	if p.Strips > p.Sections && !ends {
		s += fmt.Sprintf(", %d strips of %s, overlapping rows kept on the device", p.Strips, upToRows(p.Rows))
	}
	s += fmt.Sprintf(", %d launches, %.2f TFLOP", p.Launches, float64(p.FLOPs)/1e12)
	if waits := p.HostBytes + p.Full.LoadedBytes(); p.Full.Unified && waits > 0 {
		s += fmt.Sprintf(", %s of the shared memory for the device, %s for what waits with the host", bytesize.Text(p.Peak), bytesize.Text(waits))
	} else if p.HostBytes > 0 {
		s += fmt.Sprintf(", %s spilled to the host", bytesize.Text(p.HostBytes))
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
	if r.WithoutNetwork() {
		return "nothing on the device"
	}
	if p.Full == nil {
		return fmt.Sprintf("about %s of activations in the host's memory (%s)", bytesize.Text(p.Peak), p.BudgetWhy)
	}
	if p.Budget == 0 {
		return fmt.Sprintf("predicted peak %s (%s)", bytesize.Text(p.Peak), p.BudgetWhy)
	}
	return fmt.Sprintf("predicted peak %s of %s (%s)", bytesize.Text(p.Peak), bytesize.Text(p.Budget), p.BudgetWhy)
}

// writeDone prints every measurement, after the work, and the warnings that were not
// printed before.
func writeDone(w io.Writer, r *pipeline.Report, printed map[string]bool) {
	s := &r.Seconds
	wait := ""
	if s.Wait >= 0.005 { // for photos before
		wait = fmt.Sprintf("wait %.2f, ", s.Wait)
	}
	if s.Start >= 0.005 {
		wait = fmt.Sprintf("start %.2f before, ", s.Start) + wait
	}
	item(w, "time", "%.2f s: %splan %.2f, prepare %.2f, run %.2f, finish %.2f (busy inside: decode %.2f, develop %.2f, encode %.2f)",
		s.Total, wait, s.Plan, s.Prepare, s.Run, s.Finish, s.Decode, s.Develop, s.Encode)
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
			of = " of " + bytesize.Text(r.Plan.Budget) + " budget"
		}
		item(w, "memory", "peak %s memory %s%s, %s%s", kind, bytesize.Text(m.Peak), of, agree, hostPeak(&r.Host))
	} else if h := hostPeak(&r.Host); h != "" {
		item(w, "memory", "%s", strings.TrimPrefix(h, "; "))
	}
	writeDefects(w, r)
	writeComparison(w, r)
	writeWarnings(w, r, printed)
}

// writeComparison prints the distance to --reference.
func writeComparison(w io.Writer, r *pipeline.Report) {
	if q := r.Reference; q != nil {
		item(w, "quality", "CPSNR %s dB (R %s, G %s, B %s), SSIM %.4f, luma %.4f; whole picture, %s, tone %s, against %s",
			decibels(q.CPSNR), decibels(q.PSNR[0]), decibels(q.PSNR[1]), decibels(q.PSNR[2]), q.SSIM, q.SSIMLuma, q.Domain, q.Tone, printable.Text(q.Path))
	}
}

// writeWarnings prints the warnings that were not printed before.
func writeWarnings(w io.Writer, r *pipeline.Report, printed map[string]bool) {
	for _, text := range r.Warnings {
		if !printed[text] {
			item(w, "note", "%s", printable.Line(text))
		}
	}
}

// hostPeak is the peak of the process, "" if the system does not report it.
func hostPeak(h *facts.Host) string {
	if h.PeakRSS == 0 {
		return ""
	}
	s := "; host " + bytesize.Text(h.PeakRSS)
	if h.Budget > 0 {
		s += " of " + bytesize.Text(h.Budget)
	}
	return s
}

func decibels(d facts.Decibels) string {
	if math.IsInf(float64(d), 1) {
		return "infinite"
	}
	return fmt.Sprintf("%.2f", float64(d))
}

// number prints a float with at most four decimals.
func number(v float64) string {
	return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.4f", v), "0"), ".")
}
