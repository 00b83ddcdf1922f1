package trace

import (
	"slices"
	"sync"
	"time"
)

// Stages times what the host does, by the name of the stage. Stages of several
// photos or goroutines may run at the same time: each then has a track of its own.
// A nil Stages costs nothing and measures nothing.
type Stages struct {
	mu      sync.Mutex
	tr      *Writer
	process int
	sums    []StageTime
	tracks  []stageTrack // by line, from 1
}

// StageTime is a stage's sum.
type StageTime struct {
	Name    string  `json:"name"`
	Count   int     `json:"count"`
	Seconds float64 `json:"seconds"`
}

// stageTrack is a line of the timeline.
type stageTrack struct {
	stage string
	busy  bool
}

// NewStages makes a process of timeline tr (nil: none) for the host's stages.
func NewStages(tr *Writer, process int, name string) *Stages {
	tr.Process(process, name)
	return &Stages{tr: tr, process: process}
}

var nothing = func() {}

// Begin starts a stage; the function it returns ends it.
func (s *Stages) Begin(name string) (end func()) {
	if s == nil {
		return nothing
	}
	line := s.take(name)
	start := time.Now()
	return func() {
		end := time.Now()
		s.tr.Span(Track{s.process, line}, name, "host", start, end)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.tracks[line-1].busy = false
		i := slices.IndexFunc(s.sums, func(t StageTime) bool { return t.Name == name })
		s.sums[i].Count++
		s.sums[i].Seconds += end.Sub(start).Seconds()
	}
}

// take finds or makes a free track of a stage.
func (s *Stages) take(name string) (line int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.ContainsFunc(s.sums, func(t StageTime) bool { return t.Name == name }) {
		s.sums = append(s.sums, StageTime{Name: name})
	}
	for i := range s.tracks {
		if t := &s.tracks[i]; t.stage == name && !t.busy {
			t.busy = true
			return i + 1
		}
	}
	s.tracks = append(s.tracks, stageTrack{name, true})
	s.tr.Name(Track{s.process, len(s.tracks)}, name)
	return len(s.tracks)
}

// Sums returns the stages in order of their first begin.
func (s *Stages) Sums() []StageTime {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sums)
}
