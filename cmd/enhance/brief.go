package main

import (
	"fmt"
	"io"
	"path/filepath"

	"enhance/pipeline"
)

// brief says of each of several photos its name, time and peak in a line, and
// what is new in another: the device and the model where they are not those of the
// photos before, and notes that were not made yet. -v says all of it, and --json has
// it. Photos speak in their order, one at a time.
type brief struct {
	headed map[string]bool // devices and models that were named
	noted  map[string]int  // photos by note
	order  []string        // notes as they came
}

func newBrief() *brief { return &brief{headed: map[string]bool{}, noted: map[string]int{}} }

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
	b.notes(w, r)
}

// notes makes those that were not made yet.
func (b *brief) notes(w io.Writer, r *pipeline.Report) {
	name := filepath.Base(r.Input)
	for _, text := range r.Warnings {
		if text = oneLine(text); b.noted[text] == 0 {
			fmt.Fprintf(w, "%-8s%s: %s\n", "note", name, text)
			b.order = append(b.order, text)
		}
		b.noted[text]++
	}
}

// end says of how many photos the notes are true.
func (b *brief) end(w io.Writer) {
	for _, text := range b.order {
		if n := b.noted[text]; n > 1 {
			fmt.Fprintf(w, "%-8sof %d photos: %s\n", "note", n, text)
		}
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
