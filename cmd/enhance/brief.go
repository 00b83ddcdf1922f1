package main

import (
	"fmt"
	"io"
	"path/filepath"

	"enhance/pipeline"
)

// brief says of each of several photos its name, time and peak in a line, the device
// and the model where they are not those of the photos before, and at the end the
// notes, each once, with the photos that it is true of. -v says all of it with each
// photo, and --json has it. Photos speak in their order, one at a time.
type brief struct {
	headed map[string]bool     // devices and models that were named
	noted  map[string][]string // photos by note
	order  []string            // notes as they came
}

func newBrief() *brief { return &brief{headed: map[string]bool{}, noted: map[string][]string{}} }

// head names the device and the model unless it did before.
func (b *brief) head(w io.Writer, r *pipeline.Report) {
	device := fmt.Sprintf("%-8s%s (%s)\n", "device", deviceName(&r.Device), r.Device.Why)
	with := fmt.Sprintf("%-8s%s, %s\n", "model", r.Model.Name, precisionLine(&r.Plan))
	if b.headed[device+with] {
		return
	}
	b.headed[device+with] = true
	fmt.Fprint(w, device, with)
}

// done says what became of a photo.
func (b *brief) done(w io.Writer, r *pipeline.Report) {
	b.head(w, r)
	s := &r.Seconds
	fmt.Fprintf(w, "%-8s%s: %.2f s, %s, to %s\n", "photo", r.Input, s.Total-s.Wait, briefPeak(r), r.Output.Path)
	b.notes(r)
}

// notes takes those of a photo.
func (b *brief) notes(r *pipeline.Report) {
	for _, text := range r.Warnings {
		text = oneLine(text)
		if b.noted[text] == nil {
			b.order = append(b.order, text)
		}
		b.noted[text] = append(b.noted[text], filepath.Base(r.Input))
	}
}

// end makes the notes.
func (b *brief) end(w io.Writer) {
	for _, text := range b.order {
		of := b.noted[text][0]
		if n := len(b.noted[text]); n > 1 {
			of = fmt.Sprintf("of %d photos", n)
		}
		fmt.Fprintf(w, "%-8s%s: %s\n", "note", of, text)
	}
}

// briefPeak is a photo's peak, or what was planned where nothing is measured.
func briefPeak(r *pipeline.Report) string {
	m := &r.Memory
	if !m.Measured {
		return fmt.Sprintf("about %s of activations in the host's memory", pipeline.Bytes(r.Plan.Peak))
	}
	s := "peak " + pipeline.Bytes(m.Peak)
	if r.Plan.Budget > 0 {
		s += " of " + pipeline.Bytes(r.Plan.Budget)
	}
	if !m.AsPlanned {
		s += fmt.Sprintf(", NOT as planned (%d bytes, planned %d)", m.Peak, r.Plan.Peak)
	}
	return s
}
