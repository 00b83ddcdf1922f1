package queue

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"enhance/internal/farm"
	"enhance/internal/farm/store"
)

// Workers send requests to the subjects farm.ask.OPERATION.KEY, KEY being their public key, and
// the process that has the queue answers (service.go). No worker reaches JetStream itself: NATS does not check where
// a request has its answer sent, so that whoever may read a stream may also have what it
// reads stored as a task or as an order.
const askSubject = "farm.ask."

// ask is a request, and may be followed by bytes of a file.
type ask struct {
	Worker  string        `json:"worker,omitempty"`
	Name    string        `json:"name,omitempty"` // of an order, key, output, upload, or file by its SHA-256
	Offers  []Offer       `json:"offers,omitempty"`
	Held    *held         `json:"held,omitempty"`
	Failure *farm.Failure `json:"failure,omitempty"`
	Receipt *farm.Receipt `json:"receipt,omitempty"`
	Task    *farm.Task    `json:"task,omitempty"`
	State   *Worker       `json:"state,omitempty"`
	Bucket  string        `json:"bucket,omitempty"`
	Next    uint64        `json:"next,omitempty"` // where the next part of a file is

	body []byte
	key  string // the sender's public key, or anyone: NATS has checked it
}

// held is a lease as its worker holds it.
type held struct {
	Ack   string `json:"ack"`   // where JetStream takes its acknowledgement
	Proof string `json:"proof"` // that the service leased the task to the sender
	// Message is the task's in the stream, and Delivery which of its leases this is.
	Message  uint64     `json:"message"`
	Delivery uint64     `json:"delivery"`
	Task     *farm.Task `json:"task"`
}

// answer is what becomes of a request, and may be followed by bytes of a file.
type answer struct {
	Error    string               `json:"error,omitempty"`
	Kind     errorKind            `json:"kind,omitempty"`
	Conflict *store.ConflictError `json:"conflict,omitempty"`

	Policy  *farm.Policy  `json:"policy,omitempty"`
	Name    string        `json:"name,omitempty"` // that the key's workers have
	Offers  []Offer       `json:"offers,omitempty"`
	Leased  *leased       `json:"leased,omitempty"`
	Order   *farm.Order   `json:"order,omitempty"`
	Given   *farm.Failure `json:"given,omitempty"`
	Receipt *farm.Receipt `json:"receipt,omitempty"`
	Named   *farm.Named   `json:"named,omitempty"`
	Dead    bool          `json:"dead,omitempty"`
	First   bool          `json:"first,omitempty"`
	Count   int64         `json:"count,omitempty"`
	Seconds float64       `json:"seconds,omitempty"`
	Next    uint64        `json:"next,omitempty"` // 0: that was the last part

	body []byte
}

// leased is a lease as the service gives it.
type leased struct {
	held
	Side      int   `json:"side"`
	Waiting   int64 `json:"waiting"`
	Suspected bool  `json:"suspected,omitempty"`
	// Lease is how long the task belongs to a worker that says nothing: the server may have been started anew with
	// another time since the worker joined.
	Lease time.Duration `json:"lease"`
}

// errorKind is the class of an error that travels.
type errorKind string

const (
	kindQueue    errorKind = "queue" // the queue cannot be reached; or any other
	kindOrder    errorKind = "order" // there is no such order
	kindAbsent   errorKind = "absent"
	kindFull     errorKind = "full"
	kindConflict errorKind = "conflict"
	kindRefused  errorKind = "refused"
	kindEnded    errorKind = "ended"
	kindDisk     errorKind = "disk"
)

// ErrEnded says that a lease has ended: another worker has the photo meanwhile, or it is done.
var ErrEnded = errors.New("the lease has ended: another worker has the photo meanwhile, or it is done")

// RefusedError is a request that the farm refuses to a worker.
type RefusedError struct{ Problem string }

func (e *RefusedError) Error() string { return "the farm refuses this: " + e.Problem }

func refused(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }

// encodeMessage is a head as JSON, a line feed, and the bytes that follow it.
func encodeMessage(head any, body []byte) []byte {
	data, err := json.Marshal(head)
	if err != nil {
		panic(err) // only strings and numbers
	}
	if body != nil {
		data = append(append(data, '\n'), body...)
	}
	return data
}

func decodeMessage(data []byte, head any) (body []byte, err error) {
	text, body, _ := bytes.Cut(data, []byte("\n"))
	return body, json.Unmarshal(text, head)
}

// note takes an error into the answer.
func (a *answer) note(err error) {
	*a = answer{Error: err.Error(), Kind: kindQueue}
	var own *RefusedError
	switch {
	case errors.As(err, &own):
		a.Error, a.Kind = own.Problem, kindRefused
	case errors.As(err, &a.Conflict):
		a.Kind = kindConflict
	case errors.As(err, new(*UnknownOrderError)):
		a.Kind = kindOrder
	case errors.As(err, new(*farm.FormatError)):
		a.Kind = kindRefused
	case errors.Is(err, ErrEnded):
		a.Kind = kindEnded
	case errors.Is(err, store.ErrFull):
		a.Kind = kindFull
	case errors.Is(err, ErrDisk):
		a.Kind = kindDisk
	case errors.Is(err, fs.ErrNotExist):
		a.Kind = kindAbsent
	}
}

// asked is an error of a known kind, with the text of the answer.
type asked struct {
	text string
	is   error
}

func (e *asked) Error() string { return e.text }
func (e *asked) Unwrap() error { return e.is }

// err is the error that note took. name is what the request was about.
func (a *answer) err(op, name string) error {
	switch a.Kind {
	case "":
		return nil
	case kindConflict:
		if a.Conflict != nil {
			return a.Conflict
		}
	case kindOrder:
		return &UnknownOrderError{name}
	case kindRefused:
		return &RefusedError{a.Error}
	case kindEnded:
		return ErrEnded
	case kindDisk:
		return ErrDisk
	case kindFull:
		return &asked{a.Error, store.ErrFull}
	case kindAbsent:
		return &asked{a.Error, fs.ErrNotExist}
	}
	return failed(op, errors.New(strings.TrimPrefix(a.Error, "farm: ")))
}
