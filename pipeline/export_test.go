package pipeline

import (
	"enhance/clrt"
	"enhance/exec"
)

// OpenWith makes the session open engines with do, which may refuse to.
func OpenWith(s *Session, do func(*exec.Job, *clrt.Context) (*exec.Engine, error)) { s.openJob = do }
