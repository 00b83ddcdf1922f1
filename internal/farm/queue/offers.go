package queue

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"enhance/internal/farm"
)

// Offer is a kind of task that the queue may have: photos of a size class of an order. Each
// has a consumer of its own, so that a worker asks for no task that its planner, for the
// order's model and settings, has no memory for.
type Offer struct {
	Order string
	Class int
}

// offers are those that a worker knows of.
type offers struct {
	mu        sync.Mutex
	known     map[Offer]jetstream.Consumer // nil: not asked for yet
	cancelled map[string]bool
}

// Follow has Take know of all offers, those to come included, until ctx ends.
func (q *Queue) Follow(ctx context.Context) error {
	q.offers.known, q.offers.cancelled = map[Offer]jetstream.Consumer{}, map[string]bool{}
	watch, err := q.orders.Watch(ctx, ">")
	if err != nil {
		return failed("follow the orders", err)
	}
	there := make(chan struct{})
	go func() {
		defer watch.Stop()
		for e := range watch.Updates() {
			if e == nil { // all that were there
				close(there)
				continue
			}
			q.offers.note(e)
			q.woken.ring()
		}
	}()
	select {
	case <-there:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// note takes a change in the bucket of orders.
func (o *offers) note(e jetstream.KeyValueEntry) {
	o.mu.Lock()
	defer o.mu.Unlock()
	kind, order, _ := strings.Cut(e.Key(), ".")
	switch kind {
	case "cancelled":
		o.cancelled[order] = e.Operation() == jetstream.KeyValuePut
	case "sides":
		for _, class := range parseSides(string(e.Value())) {
			if _, there := o.known[Offer{order, class}]; !there {
				o.known[Offer{order, class}] = nil
			}
		}
	}
}

// list has the offers, large photos first.
func (o *offers) list() (all []Offer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for offer := range o.known {
		if !o.cancelled[offer.Order] {
			all = append(all, offer)
		}
	}
	slices.SortFunc(all, func(a, b Offer) int {
		return cmp.Or(cmp.Compare(b.Class, a.Class), cmp.Compare(a.Order, b.Order))
	})
	return all
}

// consumer is an offer's.
func (o *offers) consumer(ctx context.Context, js jetstream.JetStream, offer Offer) (jetstream.Consumer, error) {
	o.mu.Lock()
	c := o.known[offer]
	o.mu.Unlock()
	if c != nil {
		return c, nil
	}
	c, err := js.Consumer(ctx, tasksStream, consumerName(offer.Order, offer.Class))
	if err == nil {
		o.mu.Lock()
		o.known[offer] = c
		o.mu.Unlock()
	}
	return c, err
}

// offer makes the consumer of an order's size class and tells workers of it.
func (q *Queue) offer(ctx context.Context, o Offer) error {
	_, err := q.tasks.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: consumerName(o.Order, o.Class), FilterSubject: taskSubject(o.Class, o.Order), AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: q.policy.Lease, MaxDeliver: -1, MaxAckPending: 1 << 20, MaxWaiting: 1 << 14,
	})
	if err != nil {
		return failed("make a queue for photos of this size", err)
	}
	for { // until no other submitter has changed it in between
		sides, revision := []int{o.Class}, uint64(0)
		e, err := q.orders.Get(ctx, "sides."+o.Order)
		switch {
		case err == nil:
			revision = e.Revision()
			sides = append(parseSides(string(e.Value())), o.Class)
		case !errors.Is(err, jetstream.ErrKeyNotFound):
			return failed("offer the tasks", err)
		}
		slices.Sort(sides)
		_, err = q.orders.Update(ctx, "sides."+o.Order, []byte(formatSides(slices.Compact(sides))), revision)
		var api *jetstream.APIError
		if err == nil {
			return nil
		}
		if !errors.As(err, &api) || api.ErrorCode != jetstream.JSErrCodeStreamWrongLastSequence {
			return failed("offer the tasks", err)
		}
	}
}

// formatSides and parseSides are a list of size classes as text: their sides.
func formatSides(classes []int) string {
	var all []string
	for _, c := range classes {
		all = append(all, strconv.Itoa(farm.Sides[c]))
	}
	return strings.Join(all, ",")
}

func parseSides(text string) (classes []int) {
	for one := range strings.SplitSeq(text, ",") {
		if side, err := strconv.Atoi(one); err == nil {
			if class := slices.Index(farm.Sides[:], side); class >= 0 {
				classes = append(classes, class)
			}
		}
	}
	return classes
}
