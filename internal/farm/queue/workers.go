package queue

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Worker is what a worker says of itself, every few seconds.
type Worker struct {
	Name   string `json:"name"`
	Device string `json:"device"`
	Class  string `json:"class"`
	// Rooms is what it has room for, by the ID of the order.
	Rooms  map[string]Room `json:"orders,omitempty"`
	State  string          `json:"state"` // working, waiting, or why it stands still
	Photos []string        `json:"photos,omitempty"`
	Made   int64           `json:"made"`   // results
	Found  int64           `json:"found"`  // photos whose result was there
	Twice  int64           `json:"twice"`  // results that another worker had published meanwhile
	Failed int64           `json:"failed"` // attempts
	// Seconds are those of a photo, a moving average; 0 before the first.
	Seconds float64 `json:"seconds_per_photo"`
}

// Room is what a worker's memory has room for with an order's network and settings.
type Room struct {
	Largest int `json:"largest_side"` // the longest side of photos that fit; 0: none do
	// Least is the least memory for photos with longer sides, in bytes, by the side.
	Least   map[int]int64 `json:"least_bytes,omitempty"`
	Refused string        `json:"refused,omitempty"` // why it does not work for the order at all
}

// StatePeriod is how often a worker says how it is.
const StatePeriod = stateLife / 4

// paceKey has the seconds a photo of the fastest worker. It renews it; if it is gone the
// next takes its place.
const paceKey = "pace"

// stateKey is where a worker's state is kept: one worker can write over no other's with another key.
func stateKey(key, name string) string { return "worker." + key + "." + name }

// report notes how a worker is, and returns the seconds a photo of the fastest one, 0 if
// unknown.
func (q *Queue) report(ctx context.Context, key string, w *Worker) (fastest float64, err error) {
	data, err := json.Marshal(w)
	if err == nil {
		_, err = q.workers.Put(ctx, stateKey(key, w.Name), data)
	}
	if err != nil {
		return 0, failed("report to the farm", err)
	}
	e, err := q.workers.Get(ctx, paceKey)
	switch {
	case err == nil:
		fastest, _ = strconv.ParseFloat(string(e.Value()), 64)
	case !errors.Is(err, jetstream.ErrKeyNotFound):
		return 0, failed("report to the farm", err)
	}
	if w.Seconds > 0 && (fastest <= 0 || w.Seconds <= fastest) {
		fastest = w.Seconds
		_, err := q.workers.Put(ctx, paceKey, strconv.AppendFloat(nil, fastest, 'g', 6, 64))
		return fastest, failed("report to the farm", err)
	}
	return fastest, nil
}

// Workers are those that have said something lately.
func (q *Queue) Workers(ctx context.Context) (all []Worker, err error) {
	watch, err := q.workers.Watch(ctx, "worker.>", jetstream.IgnoreDeletes())
	if err != nil {
		return nil, failed("list the workers", err)
	}
	defer watch.Stop()
	for {
		select {
		case e := <-watch.Updates():
			if e == nil { // all that are there
				return all, nil
			}
			var w Worker
			if json.Unmarshal(e.Value(), &w) == nil {
				all = append(all, w)
			}
		case <-time.After(answerTime):
			return nil, failed("list the workers", context.DeadlineExceeded)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
