package exec

// Sources are the texts of a job's programs.
func (j *Job) Sources() []string {
	sources, _ := j.sources()
	return sources
}

// CountNonFinite counts the samples that are not finite as Time does.
func CountNonFinite(planes [][]float32) int64 {
	s := &finiteSink{}
	s.count(planes)
	return s.bad.Load()
}
