// Package pipeline is the library's front door: it makes a finished picture of a
// camera RAW photo.
//
//	report, err := pipeline.Enhance(ctx, pipeline.Options{
//		Job: pipeline.Job{Input: "photo.dng", Output: pipeline.Output{Path: "out.png"}},
//	})
//
// [Enhance] makes one picture. A [Session] keeps the device, the model and, for photos of
// one size, the compiled network, and makes many; a [Batch] has several under way at a
// time. All return a [Report]; package facts has its parts, and package look the choices of
// light and colour. [Classify] says what kind of error one is.
//
// The bytes of a picture depend on the photo, the options, the device and its driver,
// never on the memory budget, the number of cores or timing.
package pipeline

import (
	"context"

	"enhance/pipeline/facts"
)

// Report is what is known about the making of a picture.
type Report = facts.Report

// Enhance makes one picture. For errors see [Classify]. The report is not nil
// when the error came after the photo was opened, and then says how far it got.
func Enhance(ctx context.Context, o Options) (*Report, error) {
	s, err := NewSession(o.Settings)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.Enhance(ctx, o.Job)
}
