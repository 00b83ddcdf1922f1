package queue

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"enhance/internal/farm"
	"enhance/internal/farm/store"
)

// Service answers the requests of workers, which have no other way to the queue. One runs
// in the process that serves the farm.
type Service struct {
	*Queue
	secret  []byte // proves leases
	proofs  proofs
	results *store.Objects
	dead    jetstream.Stream
	dir     string // of uploads
	users   []User

	slots chan struct{} // requests in work

	mu        sync.Mutex
	consumers map[Offer]jetstream.Consumer
	cancelled map[string]bool
	known     map[string]*farm.Order
	offered   []Offer
	asked     time.Time            // when JetStream was last asked for offers
	uploads   map[string]time.Time // when the last part of each came
}

const (
	serviceSlots = 128
	// offersAge is how old the list of offers may be that workers are given.
	offersAge = 200 * time.Millisecond
	// maxOrders bounds the orders that the service keeps at hand.
	maxOrders = 1000
)

// ServeWorkers answers workers until ctx ends. dir is a folder for results on their way
// into the farm's own store; users have the names of workers' keys. lost has an error
// if the service has to end: an *OccupiedError if another one has the farm, or why the cluster lets this one in no longer.
func (q *Queue) ServeWorkers(ctx context.Context, dir string, users []User) (lost <-chan error, err error) {
	s := &Service{Queue: q, users: users, dir: filepath.Join(dir, "uploads"), slots: make(chan struct{}, serviceSlots),
		consumers: map[Offer]jetstream.Consumer{}, cancelled: map[string]bool{}, known: map[string]*farm.Order{}, uploads: map[string]time.Time{}}
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	if lost, err = q.claim(ctx); err != nil {
		return nil, err
	}
	for op, handle := range s.handlers() {
		sub, err := q.nc.QueueSubscribe(askSubject+op+".*", "enhance", func(m *nats.Msg) { s.take(ctx, m, op, handle) })
		if err == nil {
			err = sub.SetPendingLimits(-1, 256<<20)
		}
		if err != nil {
			return nil, failed("answer workers", err)
		}
		context.AfterFunc(ctx, func() { sub.Unsubscribe() })
	}
	return lost, failed("answer workers", q.nc.FlushTimeout(answerTime))
}

// open opens what the service reads and writes.
func (s *Service) open(ctx context.Context) (err error) {
	if err := errors.Join(os.RemoveAll(s.dir), os.MkdirAll(s.dir, 0o700)); err != nil {
		return err
	}
	if s.results, err = store.OpenObjects(ctx, s.js, s.dir); err != nil {
		return failed("open the store of results", err)
	}
	if s.dead, err = s.js.Stream(ctx, deadStream); err != nil {
		return failed("open the list of the dead", err)
	}
	if s.secret, err = s.serviceSecret(ctx); err != nil {
		return err
	}
	return s.follow(ctx)
}

// handler does what a request asks for.
type handler func(ctx context.Context, r *ask, a *answer) error

func (s *Service) handlers() map[string]handler {
	return map[string]handler{
		"policy": s.answerPolicy, "offers": s.answerOffers, "take": s.answerTake, "left": s.answerLeft, "order": s.answerOrder,
		"renew": s.answerRenew, "release": s.answerRelease, "begin": s.answerBegin, "fail": s.answerFail, "done": s.answerDone,
		"report": s.answerReport, "leave": s.answerLeave,
		"get": s.answerGet, "put": s.answerPut, "publish": s.answerPublish, "receipt": s.answerReceipt, "name": s.answerName, "named": s.answerNamed,
	}
}

// take reads a request and answers it in a goroutine of its own; renewals at once, so that no other request delays
// them. An answer goes to the inbox of the sender's key or nowhere.
func (s *Service) take(ctx context.Context, m *nats.Msg, op string, handle handler) {
	key := strings.TrimPrefix(m.Subject, askSubject+op+".")
	if m.Reply != "" && !strings.HasPrefix(m.Reply, Computing.inbox()+"."+key+".") || m.Reply == "" && op != "renew" {
		return
	}
	work := func() {
		r := ask{key: key}
		var a answer
		var err error
		if r.body, err = decodeMessage(m.Data, &r); err != nil {
			err = refused("this is no request: %v", err)
		} else {
			err = handle(ctx, &r, &a)
		}
		if err != nil {
			a.note(err)
		}
		if m.Reply != "" {
			m.Respond(encodeMessage(&a, a.body))
		}
	}
	if op == "renew" {
		work()
		return
	}
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return
	}
	go func() {
		defer func() { <-s.slots }()
		work()
	}()
}

func (s *Service) answerPolicy(_ context.Context, r *ask, a *answer) error {
	a.Policy, a.Name = &s.policy, nameOf(s.users, r.key)
	return nil
}

func (s *Service) answerOffers(ctx context.Context, _ *ask, a *answer) (err error) {
	a.Offers, err = s.offers(ctx)
	return err
}

// offers are the kinds of task that wait or are leased, of orders that are not cancelled.
func (s *Service) offers(ctx context.Context) ([]Offer, error) {
	s.mu.Lock()
	list, age := s.offered, time.Since(s.asked)
	s.mu.Unlock()
	if age > offersAge {
		info, err := s.tasks.Info(ctx, jetstream.WithSubjectFilter("farm.task.>"))
		if err != nil {
			return nil, failed("count the tasks", err)
		}
		list = offersOf(info.State.Subjects)
		s.proofs.before(info.State.FirstSeq)
		s.mu.Lock()
		s.offered, s.asked = list, time.Now()
		s.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var open []Offer
	for _, o := range list {
		if !s.cancelled[o.Order] {
			open = append(open, o)
		}
	}
	return open, nil
}

// answerTake leases a task of one of the offers, in their order.
func (s *Service) answerTake(ctx context.Context, r *ask, a *answer) error {
	for _, offer := range r.Offers {
		c, err := s.consumer(ctx, offer)
		if errors.As(err, new(*RefusedError)) {
			return err
		}
		if err != nil {
			continue
		}
		batch, err := c.FetchNoWait(1)
		if err != nil {
			continue
		}
		for m := range batch.Messages() {
			l, err := s.lease(ctx, m)
			if l != nil {
				l.Side = farm.Sides[offer.Class]
			}
			if l != nil || err != nil {
				a.Leased = l
				return err
			}
		}
	}
	return nil
}

// answerLeft counts the tasks of offers, leased ones included.
func (s *Service) answerLeft(ctx context.Context, r *ask, a *answer) error {
	info, err := s.tasks.Info(ctx, jetstream.WithSubjectFilter("farm.task.>"))
	if err != nil {
		return failed("count the tasks", err)
	}
	for _, o := range r.Offers {
		if err := o.check(); err != nil {
			return err
		}
		a.Count += int64(info.State.Subjects[taskSubject(o.Class, o.Order)])
	}
	return nil
}

// consumer is an offer's.
func (s *Service) consumer(ctx context.Context, o Offer) (jetstream.Consumer, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	c := s.consumers[o]
	s.mu.Unlock()
	if c != nil {
		return c, nil
	}
	c, err := s.js.Consumer(ctx, tasksStream, consumerName(o.Order, o.Class))
	if err == nil {
		s.mu.Lock()
		s.consumers[o] = c
		s.mu.Unlock()
	}
	return c, err
}

func (s *Service) answerOrder(ctx context.Context, r *ask, a *answer) (err error) {
	a.Order, err = s.orderOf(ctx, r.Name)
	return err
}

// orderOf is an order by its ID, which its contents decide, so that it may be kept.
func (s *Service) orderOf(ctx context.Context, id string) (*farm.Order, error) {
	s.mu.Lock()
	o := s.known[id]
	s.mu.Unlock()
	if o != nil {
		return o, nil
	}
	o, err := s.Order(ctx, id)
	if err == nil {
		s.mu.Lock()
		if len(s.known) >= maxOrders {
			clear(s.known)
		}
		s.known[id] = o
		s.mu.Unlock()
	}
	return o, err
}

func (s *Service) answerReport(ctx context.Context, r *ask, a *answer) (err error) {
	if r.State == nil {
		return refused("it names no worker")
	}
	if err := checkWorker(s.users, r.key, r.State.Name); err != nil {
		return err
	}
	a.Seconds, err = s.report(ctx, r.key, r.State)
	return err
}

func (s *Service) answerLeave(ctx context.Context, r *ask, _ *answer) error {
	if err := checkWorker(s.users, r.key, r.Worker); err != nil {
		return err
	}
	return failed("leave the farm", s.workers.Purge(ctx, stateKey(r.key, r.Worker)))
}

// nameOf is what the workers with a key are called, "" if the farm has no name for them.
func nameOf(users []User, key string) string {
	for _, u := range users {
		if u.Role == Computing && u.Key == key {
			return u.Name
		}
	}
	return ""
}

// checkWorker refuses a worker whose name is not its key's: what it says would be taken for another's. A name such as
// lab-2-x is of the key of lab-2, if there is one, else of that of lab.
func checkWorker(users []User, key, name string) error {
	if !IsWorkerName(name) {
		return refused("it names no worker")
	}
	var owner User
	for _, u := range users {
		if u.Name != "" && (name == u.Name || strings.HasPrefix(name, u.Name+"-")) && len(u.Name) > len(owner.Name) {
			owner = u
		}
	}
	switch own := nameOf(users, key); {
	case owner.Key == key || owner.Name == "" && own == "":
		return nil
	case own != "":
		return refused("this key is that of %s: a worker with it is called %s, or %s- and more, and not %s", own, own, own, name)
	}
	return refused("the name %s belongs to another key: give another with --name", name)
}

// IsWorkerName reports whether a worker may be called so: the name is part of a key.
func IsWorkerName(name string) bool {
	return name != "" && len(name) <= 200 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}
