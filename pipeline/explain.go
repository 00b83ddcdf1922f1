package pipeline

import (
	"context"
	"fmt"

	"enhance/pipeline/facts"
	"enhance/raw"
)

// ExplainPhoto explains the run that Enhance would do for a photo. Only the
// photo's headers are read.
func (s *Session) ExplainPhoto(j Job) (*facts.Explanation, error) {
	if err := forRAW(s.model, s.modelName); err != nil {
		return nil, err
	}
	photo, err := openPhoto(&j)
	if err != nil {
		return nil, &FileError{Path: j.Input, Err: err}
	}
	defer photo.Close()
	if s, err = s.planned(photo.Meta(), &j.Look); err != nil {
		return nil, &FileError{Path: j.Input, Err: err}
	}
	g := layout(photo.Meta(), &s.model.Convention)
	in := &input{photo: photo, meta: photo.Meta(), geo: g}
	s.choices.samples, s.choices.picture = in.samplesServe(&s.model.Convention), in.devicePicture(&s.model.Convention, &j)
	return s.explain(j.Input, g.h, g.w)
}

// ExplainSize explains the run for a mosaic of so many rows and columns whose
// red sample is at (0,0), or for a picture if the network is one for pictures.
func (s *Session) ExplainSize(rows, cols int) (*facts.Explanation, error) {
	input := fmt.Sprintf("picture %dx%d", cols, rows)
	h, w, picture, err := s.fitPicture(rows, cols)
	if err != nil {
		return nil, err
	}
	if !picture {
		input = fmt.Sprintf("mosaic %dx%d", cols, rows)
		h, w = s.model.Convention.PaddedSides((rows+1)/2, (cols+1)/2)
	}
	s.choices.samples, s.choices.picture = !picture, nil
	if !picture {
		s.imagine(context.Background(), &Job{}, nil, mosaicOf(rows, cols))
	}
	x, err := s.explain(input, h, w)
	return x, withoutPhoto(err, h, w)
}

func (s *Session) explain(input string, h, w int) (*facts.Explanation, error) {
	if s.device.info == nil {
		return nil, &raw.OptionError{Option: "device", Problem: "the host executor runs layer by layer in one way: there is nothing to explain; choose an OpenCL device"}
	}
	ctx := context.Background()
	if err := s.ready(ctx, nil); err != nil {
		return nil, s.patchTooLarge(err, s.model, h, w)
	}
	job, err := s.planPrecisely(ctx, s.model, h, w, s.allowed())
	if err != nil {
		return nil, err
	}
	x := &facts.Explanation{Input: input, Steps: job.Explain()}
	x.Model, x.Device = s.facts()
	x.Plan = facts.Plan{PrecisionWhy: s.precisionWhy(), Packed: [2]int{h, w}}
	notePlan(&x.Plan, job)
	x.Algos = facts.SumAlgos(x.Steps)
	return x, nil
}
