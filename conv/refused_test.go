package conv_test

import (
	"errors"
	"fmt"
	"testing"

	"enhance/clrt"
	"enhance/conv"
)

func TestUnlessRefused(t *testing.T) {
	for err, refused := range map[error]bool{
		&clrt.Error{Call: "clBuildProgram", Code: -11}:                        true,
		&clrt.BuildError{Err: &clrt.Error{Call: "clBuildProgram", Code: -11}}: true,
		fmt.Errorf("launch: %w", &clrt.Error{Call: "clEnqueue", Code: -5}):    true,
		&clrt.Error{Call: "clCreateKernel", Code: -36}:                        false,
		&clrt.BuildError{Err: &clrt.Error{Call: "clBuildProgram", Code: -6}}:  false,
		&clrt.Error{Call: "clEnqueueReadBuffer", Code: -4}:                    false,
		errors.New("no error of OpenCL"):                                      false,
	} {
		if got := conv.UnlessRefused("asking", err); (got == nil) != refused || got != nil && !errors.Is(got, err) {
			t.Errorf("%v: %v, refused %v", err, got, refused)
		}
	}
	if err := conv.UnlessRefused("asking", nil); err != nil {
		t.Error(err)
	}
}
