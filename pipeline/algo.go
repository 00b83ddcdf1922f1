package pipeline

import (
	"errors"

	"enhance/exec"
	"enhance/model"
)

// chooseAlgos reads the choice of algorithms of the settings.
func (s *Session) chooseAlgos() (err error) {
	if s.set.Algo == "" {
		s.set.Algo = exec.Auto
	}
	if s.algo, err = exec.ParseAlgos(s.set.Algo); err != nil {
		return optionErrorf("algo", "%v", err)
	}
	if s.info == nil && s.set.Algo != exec.Auto {
		return optionErrorf("algo", "the host executor has one algorithm: choose an OpenCL device, or leave it out")
	}
	return nil
}

// prepare plans a run of m, which is the session's model or part of it, within
// budget bytes.
func (s *Session) prepare(m *model.Model, h, w int, budget int64) (*exec.Job, error) {
	job, err := exec.Prepare(m, h, w, s.info, s.engineOptions(budget))
	var cannot *exec.AlgoError
	if errors.As(err, &cannot) {
		return nil, optionErrorf("algo", "%v", err)
	}
	if err != nil {
		return nil, err
	}
	if m == s.model { // part of a network need not have every layer that is named
		if err := exec.MatchAlgos(s.set.Algo, job.Program); err != nil {
			return nil, optionErrorf("algo", "%v", err)
		}
	}
	return job, nil
}

func (s *Session) engineOptions(budget int64) exec.Options {
	return exec.Options{
		Precision: s.set.Precision, Budget: budget, Algo: s.algo,
		Rows: s.set.StripRows, WholePlanes: s.set.WholePlanes,
	}
}

// EngineOptions are what the session would give exec.Prepare for a mosaic of so
// many rows and columns whose red sample is at (0,0), with the padded packed
// sides. For benchmarks.
func (s *Session) EngineOptions(rows, cols int) (o exec.Options, h, w int) {
	h, w = s.model.Convention.PaddedSides((rows+1)/2, (cols+1)/2)
	return s.engineOptions(s.budget), h, w
}
