package pipeline

import (
	"enhance/clrt"
	"enhance/internal/exec"
)

// Context is the OpenCL context, nil before the first run and on the host executor.
func (s *Session) Context() *clrt.Context { return s.device.cl }

// OpenWith makes the session open engines with do, which may refuse to.
func OpenWith(s *Session, do func(*exec.Job, *clrt.Context) (*exec.Engine, error)) {
	s.runner.openJob = func(j *exec.Job, cl *clrt.Context, ready func() error) (*exec.Engine, error) {
		if ready != nil {
			if err := ready(); err != nil {
				return nil, err
			}
		}
		return do(j, cl)
	}
}

// Live is what a batch holds on its devices, in bytes.
func Live(b *Batch) (n int64) {
	for _, s := range b.sessions {
		n += s.device.cl.Live()
	}
	return n
}

// BoundHost bounds the host's memory of a session that knows what the process held
// before, which another session would find changed.
func BoundHost(s *Session, bytes int64) { s.set.HostMemory = Limit(bytes) }

// HostHas makes a session believe that so many more bytes are available.
func HostHas(s *Session, bytes int64) { s.host.available = func() (int64, bool) { return bytes, true } }

// TableRows is how many rows a table of plans has: one for each budget and one for the smallest.
var TableRows = len(tableBudgets) + 1

// Generation and Software are what results of this build are known by.
var Generation, Software = generation, software
