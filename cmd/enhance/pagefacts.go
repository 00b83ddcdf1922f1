package main

import (
	"fmt"
	"strings"

	"enhance/internal/bytesize"
	"enhance/internal/htmlreport"
	"enhance/internal/printable"
	"enhance/pipeline"
)

// describePhoto fills in what a page says of a photo.
func describePhoto(p *htmlreport.Photo, r *pipeline.Report) {
	p.Before, p.After = "bilinear", "enhance"
	subtitle := []string{cameraName(&r.Photo)}
	if r.Photo.DateTime != "" {
		subtitle = append(subtitle, printable.Text(r.Photo.DateTime))
	}
	if r.Output.Width > 0 {
		subtitle = append(subtitle, fmt.Sprintf("%d × %d", r.Output.Width, r.Output.Height))
	}
	p.Subtitle = strings.Join(subtitle, " · ")
	for _, text := range r.Warnings {
		p.Notes = append(p.Notes, printable.Line(text))
	}
	if p.Failure == "" || r.Reference != nil {
		p.Figures = figures(r)
		p.Times = times(r)
	}
	p.Facts = append(p.Facts, photoGroup(r), renderingGroup(r), computationGroup(r))
	if g := memoryGroup(r); len(g.Facts) > 0 {
		p.Facts = append(p.Facts, g)
	}
	if q := r.Reference; q != nil {
		p.Facts = append(p.Facts, htmlreport.Group{Title: "Distance to the reference", Facts: []htmlreport.Fact{
			{Name: "Reference", Value: printable.Text(q.Path)}, {Name: "Samples compared", Value: q.Domain + ", tone " + q.Tone},
			{Name: "CPSNR", Value: psnrValue(q.CPSNR)},
			{Name: "PSNR of red, green, blue", Value: fmt.Sprintf("%s, %s, %s dB", decibels(q.PSNR[0]), decibels(q.PSNR[1]), decibels(q.PSNR[2]))},
			{Name: "SSIM", Value: fmt.Sprintf("%.4f, luma %.4f", q.SSIM, q.SSIMLuma)}}})
	}
}

// figures are the numbers that are shown large.
func figures(r *pipeline.Report) (all []htmlreport.Fact) {
	add := func(name, value string) { all = append(all, htmlreport.Fact{Name: name, Value: value}) }
	if q := r.Reference; q != nil {
		add("CPSNR", psnrValue(q.CPSNR))
		add("SSIM", fmt.Sprintf("%.4f", q.SSIM))
	}
	add("Time", fmt.Sprintf("%.2f s", r.Seconds.Total-r.Seconds.Wait))
	if m := &r.Memory; m.Measured {
		add("Device memory", bytesize.Text(m.Peak))
	}
	if d := r.Defects; d != nil && d.Count > 0 {
		add("Defects repaired", fmt.Sprint(d.Count))
	}
	return all
}

func times(r *pipeline.Report) *htmlreport.Times {
	s, t := &r.Seconds, &htmlreport.Times{}
	for _, one := range []htmlreport.Span{{Name: "plan", Seconds: s.Plan}, {Name: "wait", Seconds: s.Wait}, {Name: "prepare", Seconds: s.Prepare},
		{Name: "run", Seconds: s.Run}, {Name: "finish", Seconds: s.Finish}} {
		if one.Seconds >= 0.0005 {
			t.Stages = append(t.Stages, one)
		}
	}
	for _, one := range []htmlreport.Span{{Name: "decode", Seconds: s.Decode}, {Name: "pack", Seconds: s.Pack},
		{Name: "develop", Seconds: s.Develop}, {Name: "encode", Seconds: s.Encode}} {
		if one.Seconds >= 0.0005 {
			t.Busy = append(t.Busy, one)
		}
	}
	return t
}

// grouper collects facts, leaving out empty ones.
type grouper struct{ htmlreport.Group }

func (g *grouper) add(name, value string) {
	if value != "" {
		g.Facts = append(g.Facts, htmlreport.Fact{Name: name, Value: value})
	}
}

func photoGroup(r *pipeline.Report) htmlreport.Group {
	p, g := &r.Photo, grouper{htmlreport.Group{Title: "Photo"}}
	g.add("File", printable.Text(r.Input))
	g.add("Camera", cameraName(p))
	g.add("Taken", printable.Text(p.DateTime))
	g.add("Format", printable.Text(p.Format))
	g.add("Size", photoSize(p)+orientation(p.Orientation))
	g.add("Filters", filterArray(p.CFA, p.Sensor))
	g.add("Black, white", levels(p.Black)+", "+levels(p.White[:]))
	return g.Group
}

func renderingGroup(r *pipeline.Report) htmlreport.Group {
	c, g := &r.Colour, grouper{htmlreport.Group{Title: "Rendering"}}
	g.add("Tone", c.Tone)
	if c.Tone != "" {
		ev := fmt.Sprintf("%+.2f EV", c.EV)
		if c.AutoExposure {
			ev += ", automatic"
		}
		g.add("Exposure", ev)
	}
	g.add("White balance", c.WhiteBalance)
	if c.Gains != ([3]float64{}) {
		g.add("Gains", fmt.Sprintf("%s, %s, %s", number(c.Gains[0]), number(c.Gains[1]), number(c.Gains[2])))
	}
	if c.Temperature > 0 {
		g.add("Light", fmt.Sprintf("%.0f K, tint %+.0f", c.Temperature, c.Tint))
	}
	if c.Sharpen > 0 {
		g.add("Sharpening", number(c.Sharpen))
	}
	if r.Noise != nil {
		g.add("Noise", noiseLine(r.Noise))
	}
	g.add("Output", outputName(&r.Output))
	g.add("Samples", fmt.Sprintf("%s, %d bits%s", r.Output.Format, r.Output.Bits, strings.TrimSuffix(", "+r.Output.Profile, ", ")))
	return g.Group
}

func computationGroup(r *pipeline.Report) htmlreport.Group {
	p, g := &r.Plan, grouper{htmlreport.Group{Title: "Computation"}}
	if r.WithoutNetwork() {
		g.add("Network", "none")
		return g.Group
	}
	g.add("Network", printable.Text(r.Model.String()))
	g.add("Precision", precisionLine(p))
	g.add("Device", deviceName(&r.Device))
	g.add("Chosen", printable.Text(r.Device.Why))
	if p.Strategy != "" {
		g.add("Plan", planLine(p))
		g.add("Work", fmt.Sprintf("%.3g TFLOP", float64(p.FLOPs)/1e12))
	}
	g.add("Algorithms", p.Tuning.String())
	return g.Group
}

func memoryGroup(r *pipeline.Report) htmlreport.Group {
	p, h, g := &r.Plan, &r.Host, grouper{htmlreport.Group{Title: "Memory"}}
	if p.Peak > 0 {
		g.add("Device, planned", fmt.Sprintf("%s (%d bytes)", bytesize.Text(p.Peak), p.Peak))
	}
	if m := &r.Memory; m.Measured {
		agrees := "as planned"
		if !m.AsPlanned {
			agrees = "NOT as planned"
		}
		g.add("Device, measured", fmt.Sprintf("%s (%d bytes), %s", bytesize.Text(m.Peak), m.Peak, agrees))
	}
	if p.Budget > 0 {
		g.add("Device, budget", bytesize.Text(p.Budget)+", "+p.BudgetWhy)
	}
	if h.Need > 0 {
		g.add("Host, planned", bytesize.Text(h.Need))
	}
	if h.PeakRSS > 0 {
		g.add("Host, measured", bytesize.Text(h.PeakRSS)+" at most")
	}
	return g.Group
}

// memoryCurves are the device's memory and the process's over the run.
func memoryCurves(r *pipeline.Report) (all []htmlreport.Curve) {
	device := htmlreport.Curve{Title: "Device memory", Seconds: r.Seen.Seconds}
	host := htmlreport.Curve{Title: "Memory of the process", Seconds: r.Seen.Seconds}
	used, known := false, false
	for _, s := range r.Seen.Memory {
		device.Samples = append(device.Samples, htmlreport.Sample{Seconds: s.Seconds, Bytes: s.Device})
		host.Samples = append(host.Samples, htmlreport.Sample{Seconds: s.Seconds, Bytes: s.Host})
		used, known = used || s.Device > 0, known || s.Host > 0
	}
	if used {
		device.Lines = []htmlreport.Line{{Name: "planned peak", Bytes: r.Plan.Peak}}
		if b := r.Plan.Budget; b > 0 && b < 3*r.Plan.Peak { // a line far above would flatten the curve
			device.Lines = append(device.Lines, htmlreport.Line{Name: "budget", Bytes: b})
		}
		all = append(all, device)
	}
	if known {
		host.Lines = []htmlreport.Line{{Name: "planned", Bytes: r.Host.Need}}
		if b := r.Host.Budget; b > 0 && b < 3*r.Host.Need {
			host.Lines = append(host.Lines, htmlreport.Line{Name: "budget", Bytes: b})
		}
		all = append(all, host)
	}
	return all
}
