// Package trace writes timelines in the Trace Event Format, which chrome://tracing
// and ui.perfetto.dev show: complete events ("ph":"X") on named tracks.
//
// Events are written as they come and nothing is kept, so that a timeline of any
// length takes no memory. They need not come in order of time: viewers sort.
//
// Format: "Trace Event Format", Google, the JSON object form.
package trace

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"
)

// Writer writes one timeline. A nil Writer takes everything and writes nothing.
// Its methods may be called from any goroutine.
type Writer struct {
	mu     sync.Mutex
	w      *bufio.Writer
	origin time.Time
	line   []byte
	events int64
	err    error
	closed bool
}

// Arg is a fact that a viewer shows of a span.
type Arg struct {
	Name  string
	Value any // what encoding/json takes
}

// Track is where a span is drawn: a line of a process. Processes are devices and
// the host here.
type Track struct{ Process, Line int }

// New starts a timeline whose time 0 is now.
func New(w io.Writer) *Writer {
	t := &Writer{w: bufio.NewWriterSize(w, 64<<10), origin: time.Now()}
	_, t.err = t.w.WriteString("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")
	return t
}

// Process names a process of the timeline; they are drawn in order of number.
func (t *Writer) Process(n int, name string) {
	t.meta("process_name", Track{n, 0}, "name", name)
	t.meta("process_sort_index", Track{n, 0}, "sort_index", n)
}

// Name names a track; those of a process are drawn in order of number.
func (t *Writer) Name(at Track, name string) {
	t.meta("thread_name", at, "name", name)
	t.meta("thread_sort_index", at, "sort_index", at.Line)
}

func (t *Writer) meta(kind string, at Track, key string, value any) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.line = append(t.line[:0], `{"ph":"M","name":`...)
	t.text(kind)
	t.place(at)
	t.args([]Arg{{key, value}})
	t.put()
}

// Span draws what lasted from start to end.
func (t *Writer) Span(at Track, name, category string, start, end time.Time, args ...Arg) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.line = append(t.line[:0], `{"ph":"X","name":`...)
	t.text(name)
	t.line = append(t.line, `,"cat":`...)
	t.text(category)
	t.place(at)
	t.line = append(t.line, `,"ts":`...)
	t.micros(start.Sub(t.origin))
	t.line = append(t.line, `,"dur":`...)
	t.micros(max(0, end.Sub(start)))
	if len(args) > 0 {
		t.args(args)
	}
	t.put()
}

// micros appends a time in the format's unit, to the ns.
func (t *Writer) micros(d time.Duration) {
	t.line = strconv.AppendFloat(t.line, float64(d)/1e3, 'f', 3, 64)
}

func (t *Writer) place(at Track) {
	t.line = append(t.line, `,"pid":`...)
	t.line = strconv.AppendInt(t.line, int64(at.Process), 10)
	t.line = append(t.line, `,"tid":`...)
	t.line = strconv.AppendInt(t.line, int64(at.Line), 10)
}

func (t *Writer) args(args []Arg) {
	t.line = append(t.line, `,"args":{`...)
	for i, a := range args {
		if i > 0 {
			t.line = append(t.line, ',')
		}
		t.text(a.Name)
		t.line = append(t.line, ':')
		v, err := json.Marshal(a.Value)
		if err != nil {
			t.fail(fmt.Errorf("trace: argument %s: %w", a.Name, err))
			v = []byte("null")
		}
		t.line = append(t.line, v...)
	}
	t.line = append(t.line, '}')
}

// text appends a JSON string.
func (t *Writer) text(s string) {
	b, _ := json.Marshal(s) // strings cannot fail
	t.line = append(t.line, b...)
}

// put ends the event in t.line and writes it.
func (t *Writer) put() {
	if t.err != nil || t.closed {
		return
	}
	if t.events++; t.events > 1 {
		t.w.WriteByte(',') // bufio keeps the first error
	}
	t.w.WriteByte('\n')
	t.w.Write(t.line)
	_, err := t.w.WriteString("}")
	t.fail(err)
}

func (t *Writer) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

// Close ends the timeline; what it was written to stays open. The error is the
// first that writing met.
func (t *Writer) Close() error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return t.err
	}
	t.closed = true
	if t.err != nil {
		return t.err
	}
	t.w.WriteString("\n]}\n")
	t.err = t.w.Flush()
	return t.err
}
