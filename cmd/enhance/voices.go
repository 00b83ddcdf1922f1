package main

import (
	"io"
	"sync"
)

// voices keeps what is said about photos apart and in their order, though several
// are under way: the first that is not done speaks, the others wait.
type voices struct {
	before func() // called before anything is written

	mu      sync.Mutex
	head    int
	waiting map[int][]said
}

// said is some text and where it goes.
type said struct {
	to   io.Writer
	text []byte
}

func newVoices(before func()) *voices {
	return &voices{before: before, waiting: map[int][]said{}}
}

// voice is one photo's way to one writer.
type voice struct {
	all *voices
	i   int
	to  io.Writer
}

// of is photo i's way to w.
func (v *voices) of(i int, w io.Writer) io.Writer { return &voice{v, i, w} }

func (v *voice) Write(p []byte) (int, error) {
	v.all.mu.Lock()
	defer v.all.mu.Unlock()
	if v.i > v.all.head {
		v.all.waiting[v.i] = append(v.all.waiting[v.i], said{v.to, append([]byte(nil), p...)})
		return len(p), nil
	}
	v.all.before()
	return v.to.Write(p)
}

// done lets the photo behind i speak.
func (v *voices) done(i int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.head = i + 1
	for _, s := range v.waiting[v.head] {
		v.before()
		s.to.Write(s.text)
	}
	delete(v.waiting, v.head)
}
