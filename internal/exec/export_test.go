package exec

// Sources are the texts of a job's programs.
func (j *Job) Sources() []string {
	sources, _ := j.sources()
	return sources
}
