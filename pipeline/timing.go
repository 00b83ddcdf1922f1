package pipeline

import (
	"context"
	"errors"

	"enhance/internal/devices"
	"enhance/internal/exec"
	"enhance/pipeline/facts"
)

// Time runs the session's network on made-up samples, once without counting and then repeat
// times: those of a mosaic of so many rows and columns whose red sample is at (0,0), or of a
// picture if the network is one for pictures. A session that is profiled takes one run more.
// The session has no further use: its model's parameters may be gone.
func (s *Session) Time(ctx context.Context, rows, cols, repeat int) (*facts.Timing, error) {
	dev := s.device.choice.Device
	if dev == nil {
		return nil, &devices.Error{Selector: s.set.Device, Problem: "benchmarks need an OpenCL device"}
	}
	h, w, picture, err := s.fitPicture(rows, cols)
	if !picture {
		h, w = s.model.Convention.PaddedSides((rows+1)/2, (cols+1)/2)
	}
	s.choices.samples, s.choices.picture = false, nil // made-up planes
	if err == nil {
		err = s.ready(ctx, nil)
	}
	if err == nil {
		_, err = s.planPrecisely(ctx, s.model, h, w, s.allowed())
	}
	if err != nil {
		return nil, withoutPhoto(err, h, w)
	}
	opt := s.engineOptions(s.allowed())
	if err := errors.Join(s.runner.closeEngine(), s.device.close()); err != nil { // the runs have contexts of their own
		return nil, err
	}
	return exec.Time(ctx, dev, s.model, s.networkName(), h, w, opt, repeat)
}
