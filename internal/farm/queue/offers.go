package queue

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"enhance/internal/farm"
)

// Offer is a kind of task that the queue may have: photos of a size class of an order. Each
// has a consumer of its own, so that a worker asks for no task that its planner, for the
// order's model and settings, has no memory for.
type Offer struct {
	Order string `json:"order"`
	Class int    `json:"class"`
}

// check refuses what is none.
func (o *Offer) check() error {
	if !farm.IsID(o.Order) || o.Class < 0 || o.Class >= len(farm.Sides) {
		return refused("there is no offer %q of size class %d", o.Order, o.Class)
	}
	return nil
}

// offersOf are those of the subjects of tasks, large photos first.
func offersOf(subjects map[string]uint64) (all []Offer) {
	for subject := range subjects {
		parts := strings.Split(subject, ".") // farm.task.SIDE.ORDER
		side, err := strconv.Atoi(parts[2])
		o := Offer{parts[3], slices.Index(farm.Sides[:], side)}
		if err == nil && o.check() == nil {
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b Offer) int {
		return cmp.Or(cmp.Compare(b.Class, a.Class), cmp.Compare(a.Order, b.Order))
	})
	return all
}

// follow has the service know which orders are cancelled, until ctx ends.
func (s *Service) follow(ctx context.Context) error {
	watch, err := s.Queue.orders.Watch(ctx, "cancelled.*")
	if err != nil {
		return failed("follow the orders", err)
	}
	context.AfterFunc(ctx, func() { watch.Stop() })
	there := make(chan struct{})
	go func() {
		for e := range watch.Updates() {
			if e == nil { // all that were there
				close(there)
				continue
			}
			s.mu.Lock()
			s.cancelled[strings.TrimPrefix(e.Key(), "cancelled.")] = e.Operation() == jetstream.KeyValuePut
			s.mu.Unlock()
		}
	}()
	select {
	case <-there:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// setLease has the consumers that are there give leases of a time.
func setLease(ctx context.Context, tasks jetstream.Stream, lease time.Duration) error {
	var others []jetstream.ConsumerConfig
	list := tasks.ListConsumers(ctx)
	for c := range list.Info() {
		if c.Config.AckWait != lease {
			others = append(others, c.Config)
		}
	}
	if err := list.Err(); err != nil {
		return err
	}
	for _, c := range others {
		c.AckWait = lease
		if _, err := tasks.UpdateConsumer(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// offer makes the consumer of an order's size class.
func (q *Queue) offer(ctx context.Context, o Offer) error {
	_, err := q.tasks.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: consumerName(o.Order, o.Class), FilterSubject: taskSubject(o.Class, o.Order), AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: q.policy.Lease, MaxDeliver: -1, MaxAckPending: 1 << 20, MaxWaiting: 1 << 14,
	})
	if err != nil {
		return failed("make a queue for photos of this size", err)
	}
	return nil
}
