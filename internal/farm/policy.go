package farm

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Policy has the numbers of a farm. They belong to the queue: every worker reads them there.
type Policy struct {
	// Lease is how long a task belongs to a worker that says nothing. The queue's server
	// measures it; no worker's clock matters.
	Lease time.Duration `json:"lease"`
	// Attempts is how often a photo may be begun and not finished, by whichever workers.
	Attempts int `json:"attempts"`
	// Queue bounds the tasks that wait; submitters wait beyond it.
	Queue int64 `json:"queue"`
}

// DefaultPolicy is what farm serve takes if nothing is said.
func DefaultPolicy() Policy { return Policy{Lease: 30 * time.Second, Attempts: 3, Queue: 100_000} }

// Heartbeat is how often a worker renews a lease: two may be lost.
func (p *Policy) Heartbeat() time.Duration { return p.Lease / 3 }

// Ahead is how many tasks a worker holds beside the one it computes, so that the device
// does not wait for the next.
const Ahead = 1

// Take reports whether a worker that holds some tasks should take one more. own and
// fastest are seconds a photo of the worker and of the fastest one, 0 if unknown; waiting
// is how many tasks the queue has. A worker much slower than the fastest takes a photo
// only if it is expected to finish it before the fastest alone would have finished all
// that wait.
func Take(own, fastest float64, held int, waiting int64) bool {
	const alike = 1.5
	if own <= 0 || fastest <= 0 || own <= alike*fastest {
		return true
	}
	return own*float64(held+1) <= fastest*float64(waiting)
}

// Kind is what a failure means for the photo and for the worker.
type Kind string

// The kinds of failure.
const (
	// Hopeless: the photo or the settings are at fault, and every worker would say so.
	Hopeless Kind = "hopeless"
	// Passing: it may go well the next time, or elsewhere. It counts as an attempt.
	Passing Kind = "passing"
	// Crashed: the process that computed ended. It counts as an attempt.
	Crashed Kind = "crashed"
	// Full: the store has no room. The worker waits; the photo is not to blame.
	Full Kind = "full"
	// Stopped: the worker was told to end. The photo is not to blame.
	Stopped Kind = "stopped"
	// Cut: the queue could not be asked, or another worker has the photo meanwhile. The
	// photo is not to blame.
	Cut Kind = "cut"
)

// Blames reports whether such a failure counts as an attempt.
func (k Kind) Blames() bool { return k != Full && k != Stopped && k != Cut }

// Class is what an error is about. It decides the exit status, as a class of package
// pipeline does; a failure comes from another process, perhaps another machine, as text.
type Class string

// The classes of failure. The empty one is a defect of the program.
const (
	Option Class = "option" // a setting makes no sense, alone or for this photo
	Input  Class = "input"  // the photo or the weights are damaged or unsupported
	IO     Class = "io"     // a file cannot be read or written
	Device Class = "device" // there is no such device, or it failed, or its process crashed
	Memory Class = "memory" // the budget or the memory is too small
	Exists Class = "exists" // the output's name belongs to another file
	Result Class = "result" // the picture is not finite, or not the one that is there
)

// Failure is why a photo has no result.
type Failure struct {
	Kind   Kind   `json:"kind"`
	Class  Class  `json:"class,omitempty"`
	Reason string `json:"reason"`
	Log    string `json:"log,omitempty"` // the last lines of the process that computed
}

func (f *Failure) Error() string { return f.Reason }

// Attempt is the record of a worker that began a photo. Failure is nil from when it
// begins until it fails: a worker that was killed left it nil.
type Attempt struct {
	Worker  string   `json:"worker"`
	Failure *Failure `json:"failure,omitempty"`
}

// MaxLog bounds what is kept of a log, in bytes: its end.
const MaxLog = 8 << 10

// Tail is the end of a log.
func Tail(text string) string {
	if len(text) <= MaxLog {
		return text
	}
	text = text[len(text)-MaxLog:]
	if _, rest, ok := strings.Cut(text, "\n"); ok {
		return rest
	}
	return text
}

// Attempts are all of a photo that have not gone well.
type Attempts []Attempt

// ParseAttempts reads what Encode wrote.
func ParseAttempts(data []byte) (a Attempts, err error) {
	return a, parse("list of attempts", data, &a)
}

// Encode is the list as JSON.
func (a Attempts) Encode() []byte { return encode(a) }

// Alone reports whether the photo is suspected of killing workers: it is then computed
// with no other beside it, so that no other is blamed for its next kill.
func (a Attempts) Alone() bool { return len(a) > 0 }

// Dead gives the reason for giving the photo up, nil if it may be tried again.
func (a Attempts) Dead(p *Policy) *Failure {
	if n := len(a); n > 0 && a[n-1].Failure != nil && a[n-1].Failure.Kind == Hopeless {
		return a[n-1].Failure
	}
	if len(a) < p.Attempts {
		return nil
	}
	var reasons, logs []string
	kind, class := Passing, Device
	for _, one := range a {
		reason := "the worker ended without a word"
		if f := one.Failure; f != nil {
			reason, class = f.Reason, f.Class
			if f.Log != "" {
				logs = append(logs, f.Log)
			}
			if f.Kind == Crashed {
				kind = Crashed
			}
		} else {
			kind = Crashed
		}
		if text := one.Worker + ": " + reason; !slices.Contains(reasons, text) {
			reasons = append(reasons, text)
		}
	}
	return &Failure{Kind: kind, Class: class, Reason: fmt.Sprintf("it was begun %d times and never finished: %s", len(a),
		strings.Join(reasons, "; ")), Log: Tail(strings.Join(logs, "\n"))}
}

// Wait is how long a photo that failed n times waits before the next try.
func Wait(n int) time.Duration {
	return min(time.Second<<min(max(n-1, 0)*2, 6), 30*time.Second)
}
