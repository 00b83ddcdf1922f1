package main

import (
	"fmt"
	"io"

	"enhance/internal/printable"
	"enhance/pipeline"
)

// photoLines prints several photos: a line for each with its time and peak, a line for
// each device and model before the first photo that they develop, and at the end each
// note once, with the photos that it is about. -v prints a paragraph for each photo
// instead, and --json has all of it.
type photoLines struct {
	headed map[string]bool     // devices and models that were printed
	noted  map[string][]string // photos by note
	order  []string            // notes as they came
}

func newPhotoLines() *photoLines {
	return &photoLines{headed: map[string]bool{}, noted: map[string][]string{}}
}

// head prints the device and the model unless it did before.
func (b *photoLines) head(w io.Writer, r *pipeline.Report) {
	device := fmt.Sprintf("%-8s%s (%s)\n", "device", deviceName(&r.Device), r.Device.Why)
	with := fmt.Sprintf("%-8s%s, %s\n", "model", r.Model.String(), precisionLine(&r.Plan))
	if b.headed[device+with] {
		return
	}
	b.headed[device+with] = true
	fmt.Fprint(w, device, with)
}

// done prints the line of a photo.
func (b *photoLines) done(w io.Writer, r *pipeline.Report) {
	b.head(w, r)
	s := &r.Seconds
	item(w, "photo", "%s: %.2f s, %s, to %s", printable.Text(r.Input), s.Total-s.Wait, peakLine(r), printable.Text(r.Output.Path))
	b.notes(r)
}

// notes keeps those of a photo for the end.
func (b *photoLines) notes(r *pipeline.Report) {
	for _, text := range r.Warnings {
		text = printable.Line(text)
		if b.noted[text] == nil {
			b.order = append(b.order, text)
		}
		b.noted[text] = append(b.noted[text], printable.Text(r.Input))
	}
}

// end prints the notes.
func (b *photoLines) end(w io.Writer) {
	for _, text := range b.order {
		of := b.noted[text][0]
		if n := len(b.noted[text]); n > 1 {
			of = fmt.Sprintf("of %d photos", n)
		}
		item(w, "note", "%s: %s", of, text)
	}
}
