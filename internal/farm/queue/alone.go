package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats.go"
)

// One service answers the workers of a farm: two would each have a part of what lies on its way to the store and of
// the leases that were given. A service asks at serviceSubject whether another is there before it begins, and claims the
// farm there when it begins and every now and then. Of two that began at a time, or that a divided network kept apart,
// the one stays that has the lower number: the revision of its entry among the orders. No clock decides.
const (
	serviceSubject = "farm.service"
	serviceKey     = "service"
	claimPeriod    = 10 * time.Second
	findTime       = 2 * time.Second
)

// Serving is what a service says of itself.
type Serving struct {
	Number uint64 `json:"number"` // the lower stays
	Host   string `json:"host"`
	PID    int    `json:"process"`
	// Disk is how many bytes the queue has on its disk, and DiskBound how many it may have; both are 0 for a cluster,
	// which has bounds of its own.
	Disk      int64 `json:"disk_bytes,omitempty"`
	DiskBound int64 `json:"disk_bound_bytes,omitempty"`
}

func (s *Serving) String() string { return fmt.Sprintf("process %d on %s", s.PID, s.Host) }

// OccupiedError says that another service answers the workers of the farm. Other is nil if it does not answer.
type OccupiedError struct{ Other *Serving }

func (e *OccupiedError) Error() string {
	if e.Other == nil {
		return "another farm serve is connected to this cluster and does not answer: end it, or wait until the cluster notices that its machine is gone"
	}
	return fmt.Sprintf("another farm serve answers the workers of this cluster (%v), and there must be one: end it first", e.Other)
}

// Serving asks for the service that answers workers, nil for none.
func (q *Queue) Serving(ctx context.Context) (*Serving, error) {
	ctx, cancel := context.WithTimeout(ctx, findTime)
	defer cancel()
	m, err := q.nc.RequestWithContext(ctx, serviceSubject, nil)
	var s Serving
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return nil, nil
	case errors.Is(err, context.DeadlineExceeded):
		return nil, &OccupiedError{}
	case err != nil:
		return nil, failed("ask for the farm's service", err)
	}
	if err := json.Unmarshal(m.Data, &s); err != nil {
		return nil, failed("ask for the farm's service", err)
	}
	return &s, nil
}

// checkAlone refuses a cluster in which a service answers workers.
func (q *Queue) checkAlone(ctx context.Context) error {
	other, err := q.Serving(ctx)
	if err == nil && other != nil {
		err = &OccupiedError{other}
	}
	return err
}

// claim claims the farm until ctx ends. lost has an error if this service has to end: an
// *OccupiedError if another has the farm, or why the cluster lets this one in no longer.
func (q *Queue) claim(ctx context.Context) (lost <-chan error, err error) {
	host, err := os.Hostname()
	if err != nil {
		host = "a machine without a name"
	}
	own := Serving{Host: host, PID: os.Getpid()}
	if own.Number, err = q.orders.Put(ctx, serviceKey, nil); err != nil {
		return nil, failed("claim the farm", err)
	}
	state := func() []byte {
		now := own
		if q.disk != nil {
			now.Disk, now.DiskBound = q.disk()
		}
		return encodeMessage(&now, nil)
	}
	end := make(chan error, 2)
	sub, err := q.nc.Subscribe(serviceSubject, func(m *nats.Msg) {
		var other Serving
		switch {
		case m.Reply != "":
			m.Respond(state())
		case json.Unmarshal(m.Data, &other) != nil || other.Number == own.Number:
		case other.Number < own.Number:
			select {
			case end <- &OccupiedError{&other}:
			default:
			}
		default:
			q.nc.Publish(serviceSubject, state())
		}
	})
	if err != nil {
		return nil, failed("claim the farm", err)
	}
	if err := errors.Join(q.nc.Publish(serviceSubject, state()), q.nc.FlushTimeout(answerTime)); err != nil {
		return nil, failed("claim the farm", err)
	}
	go func() {
		defer sub.Unsubscribe()
		tick := time.NewTicker(claimPeriod)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if err := gone(q.nc); err != nil {
					end <- err
					return
				}
				q.nc.Publish(serviceSubject, state())
			}
		}
	}()
	return end, nil
}
