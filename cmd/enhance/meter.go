package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// meter shows how far a run is. Its methods are called by one goroutine at a time.
type meter interface {
	set(done, total int64)
	clear() // before something else is written
	end()
}

// newMeter chooses a line that redraws itself on a terminal, sparse plain lines
// elsewhere, and nothing with -q.
func (c *call) newMeter() meter {
	switch {
	case c.quiet:
		return silent{}
	case c.terminal != nil:
		return &bar{w: c.terminal}
	}
	return &logLines{w: c.stderr}
}

type silent struct{}

func (silent) set(_, _ int64) {}
func (silent) clear()         {}
func (silent) end()           {}

// bar is one line with an estimate of the time left.
type bar struct {
	w   io.Writer
	bar *progressbar.ProgressBar
	at  int64
}

// barSteps is the resolution of the bar: work is counted in operations, of which
// a photo has 10^12.
const barSteps = 1000

func (b *bar) set(done, total int64) {
	if total <= 0 {
		return
	}
	if b.bar == nil {
		b.bar = progressbar.NewOptions64(barSteps,
			progressbar.OptionSetWriter(b.w),
			progressbar.OptionSetDescription("network"),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionSetElapsedTime(true),
			progressbar.OptionSetWidth(40),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionClearOnFinish(),
		)
	}
	if at := int64(float64(done) / float64(total) * barSteps); at > b.at {
		b.at = at
		b.bar.Set64(at)
	}
}

func (b *bar) clear() {
	if b.bar != nil {
		b.bar.Clear()
	}
}

func (b *bar) end() {
	if b.bar != nil && b.at < barSteps {
		b.bar.Clear()
	}
}

// logLines are for logs: a line each quarter, and only if the run takes long.
type logLines struct {
	w       io.Writer
	start   time.Time // of the first report
	before  int64     // done by then
	quarter int64
}

const longRun = 3 * time.Second

func (l *logLines) set(done, total int64) {
	if total <= 0 || done >= total {
		return
	}
	if l.start.IsZero() {
		l.start, l.before = time.Now(), done
	}
	q := done * 4 / total
	spent := time.Since(l.start)
	if q <= l.quarter || spent < longRun {
		return
	}
	l.quarter = q
	left := time.Duration(float64(spent) * float64(total-done) / float64(done-l.before))
	fmt.Fprintf(l.w, "%3d %% after %.0f s, about %.0f s left\n", q*25, spent.Seconds(), left.Seconds())
}

func (l *logLines) clear() {}
func (l *logLines) end()   {}

// overall is the progress of several photos on one meter: each counts as much as
// any other, since how much work a photo is shows only when its turn comes. Its
// methods may be called from any goroutine.
type overall struct {
	mu    sync.Mutex
	m     meter
	parts []float64 // by photo: the share that is done
	sum   float64
}

func newOverall(m meter, photos int) *overall { return &overall{m: m, parts: make([]float64, photos)} }

// overallSteps divide a photo.
const overallSteps = 1 << 20

// set takes the progress of photo i.
func (o *overall) set(i int, done, total int64) {
	if total > 0 {
		o.part(i, float64(done)/float64(total))
	}
}

// done counts photo i as done, whatever became of it.
func (o *overall) done(i int) { o.part(i, 1) }

func (o *overall) part(i int, share float64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	share = max(o.parts[i], min(share, 1))
	o.sum += share - o.parts[i]
	o.parts[i] = share
	o.m.set(int64(o.sum*overallSteps), int64(len(o.parts))*overallSteps)
}

func (o *overall) clear() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.m.clear()
}

func (o *overall) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.m.end()
}
