package conv

import (
	"errors"
	"fmt"

	"enhance/clrt"
)

// Codes with which a driver says that it cannot do what a kernel asks for.
var refusals = map[int32]bool{
	-3: true, -11: true, -15: true, -17: true, -43: true, -44: true, -45: true, // compiler, build, compile, link, options, program, executable
	-5: true, -54: true, -55: true, // out of resources, size of a work-group, of a work-item
}

// UnlessRefused is nil if err says that a device or its compiler cannot do what was tried, and
// err, as that of what, otherwise.
func UnlessRefused(what string, err error) error {
	var cl *clrt.Error
	if err == nil || errors.As(err, &cl) && refusals[cl.Code] {
		return nil
	}
	var build *clrt.BuildError
	if errors.As(err, &build) && cl == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
