package ops

import (
	"enhance/clrt"
	"enhance/conv"
)

// kernels are those of a program, by name, and the queue that they run in.
type kernels struct {
	caps conv.Caps
	q    *clrt.Queue
	all  map[string]*clrt.Kernel
}

// takeKernels takes kernels from a program.
func takeKernels(p *clrt.Program, q *clrt.Queue, c conv.Caps, names ...string) (kernels, error) {
	s := kernels{caps: c, q: q, all: map[string]*clrt.Kernel{}}
	for _, name := range names {
		k, err := p.Kernel(name)
		if err != nil {
			s.release()
			return kernels{}, err
		}
		s.all[name] = k
	}
	return s, nil
}

func (s *kernels) release() {
	for _, k := range s.all {
		k.Close()
	}
}
