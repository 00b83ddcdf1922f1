package pipeline

import (
	"context"

	"enhance/clrt"
)

// WarmUp runs the session's network once, on a patch. Its kernels are then in the program's cache, and what
// a driver makes of them at their first launch in the driver's own: a process that runs it while another
// gets ready saves that one the work (see Settings.AwaitKernels). It does so for CPUs, whose drivers compile
// kernels one by one; contexts on a GPU take longer to open the more processes open them.
func (s *Session) WarmUp(ctx context.Context) error {
	if d := s.device.choice.Device; d == nil || d.Info().Type != clrt.CPU {
		return nil
	}
	if err := s.ready(ctx, nil); err != nil {
		return err
	}
	_, err := s.tryPrecision(ctx, s.precision())
	return err
}
