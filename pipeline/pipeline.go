// Package pipeline is the library's front door: it makes a finished picture of a
// camera RAW photo.
//
//	report, err := pipeline.Enhance(ctx, pipeline.Options{
//		Job: pipeline.Job{Input: "photo.dng", Output: pipeline.Output{Path: "out.png"}},
//	})
//
// [Enhance] makes one picture. A [Session] keeps the device, its context, the model
// and, for photos of one size, the compiled and allocated engine, and makes many; a
// [Batch] has several under way at a time. All return a [Report]: facts that were
// measured or read, none guessed. [Classify] says what kind of error one is.
//
// Decoding, the network and developing overlap: the engine asks for input rows in
// one goroutine and delivers output rows in another. The result's bytes depend on
// the photo, the options, the device and its driver, never on the memory budget,
// the number of cores or timing.
//
// The files, in the order in which a photo comes to them:
//
//	options.go, session.go, run.go           what is asked for; the order of things
//	geometry.go, levels.go, whitelevel.go, readahead.go, source.go   the photo's samples to the network's rows
//	defects.go                               which samples are repaired
//	balance.go, whitebalance.go, tone.go, sample.go, noise.go   what is decided from the photo
//	precision.go, selfcheck.go, tuning.go, tuningsave.go   how to compute
//	device.go, budget.go, plan.go, replan.go, budgeterror.go, hostmem.go, fithost.go   with which memory
//	computation.go, tensor.go                the network's run, over photos and tensors
//	develop.go, rendering.go, sharpening.go, lens.go, resizing.go, output.go   the network's rows to a file
//	linear.go, classical.go                  photos that no network is run on
//	network.go, sidecar.go, fit.go, apply.go   ONNX files, and their networks over pictures
//	reference.go, report.go, errors.go       what came of it
//	explain.go, describe.go, plantable.go    plans, shown
//	batch.go, sharing.go, predict.go, devicequeue.go, memorylimiter.go   many photos
package pipeline

import "context"

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
