package main

import (
	"io"
	"sync"
)

// ordered prints about several photos that are under way in the order of the photos:
// text about the first that is not done is printed at once, text about later ones waits
// for its turn.
type ordered struct {
	before func() // called before anything is written

	mu      sync.Mutex
	first   int // the photo whose text is printed at once
	waiting map[int][]waitingText
}

// waitingText is some text and where it goes.
type waitingText struct {
	to   io.Writer
	text []byte
}

func newOrdered(before func()) *ordered {
	return &ordered{before: before, waiting: map[int][]waitingText{}}
}

// orderedWriter writes about one photo to one writer.
type orderedWriter struct {
	all *ordered
	i   int
	to  io.Writer
}

// of is the way to w for text about photo i.
func (o *ordered) of(i int, w io.Writer) io.Writer { return &orderedWriter{o, i, w} }

func (w *orderedWriter) Write(p []byte) (int, error) {
	w.all.mu.Lock()
	defer w.all.mu.Unlock()
	if w.i > w.all.first {
		w.all.waiting[w.i] = append(w.all.waiting[w.i], waitingText{w.to, append([]byte(nil), p...)})
		return len(p), nil
	}
	w.all.before()
	return w.to.Write(p)
}

// done gives the turn to the photo after i.
func (o *ordered) done(i int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.first = i + 1
	for _, t := range o.waiting[o.first] {
		o.before()
		t.to.Write(t.text)
	}
	delete(o.waiting, o.first)
}
