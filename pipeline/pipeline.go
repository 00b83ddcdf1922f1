// Package pipeline is the library's front door: it makes a finished picture of a
// camera RAW photo.
//
//	report, err := pipeline.Enhance(ctx, pipeline.Options{
//		Job: pipeline.Job{Input: "photo.dng", Output: pipeline.Output{Path: "out.png"}},
//	})
//
// [Enhance] makes one picture. A [Session] keeps the device, its context, the
// model and, for photos of one size, the compiled and allocated engine, and makes
// many; a [Batch] has several under way at a time. All return a [Report]: facts that were measured or read, none guessed.
//
// The way of a photo through the files:
//
//	options.go    what can be asked for
//	session.go    a photo from opening to its report; run.go: the order of things
//	geometry.go   which samples the network sees, and where the picture is in its output
//	levels.go     stored integers to network samples, by table
//	ahead.go      decoding before the rows are asked for
//	source.go     packed rows for the network
//	balance.go    white balance and exposure, given, recorded or estimated
//	noise.go      noise levels, given or recorded; noise_estimate.go: from the photo
//	develop.go    network rows to sRGB rows; lens.go: corrections of the lens
//	linear.go     photos that need no network
//	output.go     rows to a file that appears whole or not at all
//	reference.go  comparison with a reference picture
//	report.go     what was done; errors.go: what went wrong, in classes
//
// What it is computed with:
//
//	select.go       which device, and why; device.go: the device and its context
//	memory.go       numbers of bytes; budget.go: what plans may hold of the device
//	plan.go         a network's plan; computation.go: planned and run, on the device or the host
//	budgeterror.go  what a budget that is too small is told
//	replan.go       what a device with less memory than it says is
//	hostmem.go      what is held in the host's memory; available.go: what there is
//	precision.go    how exactly to compute; selfcheck.go: auto, by a patch
//	tuning.go       algorithms and rates measured on the device; tuningkeep.go: kept as they come
//
// Many photos, and other uses:
//
//	batch.go      many photos, on several devices; sharing.go: which makes which photo;
//	              predict.go: how long one takes
//	turns.go      who has the device; ledger.go: who has the host's memory
//	tensor.go     the network on bare tensors; tensorio.go: files of them
//	explain.go    why every step runs as it does; describe.go: the plan in words
//	              and as a drawing; plantable.go: what budgets make of a photo
//
// Decoding, the network and developing overlap: the engine asks for input rows in
// one goroutine and delivers output rows in another. The result's bytes depend on
// the photo, the options, the device and its driver, never on the memory budget,
// the number of cores or timing.
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
