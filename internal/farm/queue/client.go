package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"enhance/internal/farm"
)

// Client is a worker's connection to a farm. Its methods may be called from any goroutine.
type Client struct {
	nc     *nats.Conn
	key    string // the public half, or anyone
	name   string // that the key's workers have; "": every name that is nobody's
	policy farm.Policy
	woken  *alarm

	mu   sync.Mutex
	held map[string]held // leases by their tasks' IDs
}

// Join joins a farm as a worker. While the server is away, calls wait or fail, and the
// connection comes back by itself.
func Join(ctx context.Context, o Options) (*Client, error) {
	o.Role = Computing
	key, err := o.public()
	if err != nil {
		return nil, err
	}
	nc, err := dial(o, nil)
	if err != nil {
		return nil, err
	}
	c := &Client{nc: nc, key: key, woken: newAlarm(), held: map[string]held{}}
	var a *answer
	if a, err = c.ask(ctx, "policy", &ask{}); err == nil {
		if a.Policy != nil {
			c.policy, c.name = *a.Policy, a.Name
		}
		if c.policy.Lease <= 0 || c.policy.Attempts < 1 {
			err = failed("read the policy", &farm.FormatError{What: "policy", Problem: fmt.Sprintf("%+v", c.policy)})
		}
	}
	if err == nil {
		_, err = nc.Subscribe(wakeSubject, func(*nats.Msg) { c.woken.ring() })
	}
	if err != nil {
		nc.Close()
		return nil, err
	}
	return c, nil
}

// Name is what the workers with this key are called, alone or followed by - and more; "": the farm has no name for them.
func (c *Client) Name() string { return c.name }

// Policy is the farm's.
func (c *Client) Policy() *farm.Policy { return &c.policy }

// Gone is why the connection does not come back by itself, nil while it is there or may come back.
func (c *Client) Gone() error { return gone(c.nc) }

// Close ends the connection.
func (c *Client) Close() { c.nc.Close() }

// subject is where this worker's requests go.
func (c *Client) subject(op string) string { return askSubject + op + "." + c.key }

// publishTime is how long the farm may take to check and store a result.
const publishTime = 10 * time.Minute

// ask sends a request and waits for the answer.
func (c *Client) ask(ctx context.Context, op string, r *ask) (*answer, error) {
	limit := 2 * answerTime
	if op == "publish" {
		limit = publishTime
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	what := "ask the farm (" + op + ")"
	m, err := c.nc.RequestWithContext(ctx, c.subject(op), encodeMessage(r, r.body))
	if errors.Is(err, nats.ErrNoResponders) {
		err = fmt.Errorf("nobody answers there: is enhance farm serve running, and of this version? %w", err)
	}
	if err != nil {
		return nil, cmp.Or(c.Gone(), failed(what, err))
	}
	var a answer
	if a.body, err = decodeMessage(m.Data, &a); err != nil {
		return nil, failed(what, err)
	}
	return &a, a.err(what, r.Name)
}

// Take leases a task of one of the offers that accept takes, large photos first. It waits
// for one without asking often: submitters wake workers, and how long it waits between two
// looks doubles to a third of a lease. With giveUp it returns nil after some looks.
func (c *Client) Take(ctx context.Context, accept func(Offer) bool, giveUp bool) (*Lease, error) {
	longest := max(c.policy.Heartbeat(), 250*time.Millisecond)
	wait := 250 * time.Millisecond
	for look := 1; ; look++ {
		ring := c.woken.channel()
		l, err := c.TakeNow(ctx, accept)
		if l != nil || ctx.Err() != nil {
			return l, ctx.Err()
		}
		if gone := c.Gone(); gone != nil {
			return nil, gone
		}
		if giveUp && look == 3 {
			return nil, err
		}
		if err := sleep(ctx, wait, ring); err != nil {
			return nil, err
		}
		wait = min(2*wait, longest)
	}
}

// TakeNow is Take without waiting: nil if no task is there.
func (c *Client) TakeNow(ctx context.Context, accept func(Offer) bool) (*Lease, error) {
	offers, err := c.accepted(ctx, accept)
	if err != nil || len(offers) == 0 {
		return nil, err
	}
	a, err := c.ask(ctx, "take", &ask{Offers: offers})
	if err != nil || a.Leased == nil {
		return nil, err
	}
	return c.hold(a.Leased)
}

// accepted are the offers that accept takes.
func (c *Client) accepted(ctx context.Context, accept func(Offer) bool) (offers []Offer, err error) {
	a, err := c.ask(ctx, "offers", &ask{})
	if err != nil {
		return nil, err
	}
	for _, o := range a.Offers {
		if o.check() == nil && accept(o) {
			offers = append(offers, o)
		}
	}
	return offers, nil
}

// Left counts the tasks of the offers that accept takes, leased ones included.
func (c *Client) Left(ctx context.Context, accept func(Offer) bool) (n int64, err error) {
	offers, err := c.accepted(ctx, accept)
	if err != nil || len(offers) == 0 {
		return 0, err
	}
	a, err := c.ask(ctx, "left", &ask{Offers: offers})
	if err != nil {
		return 0, err
	}
	return a.Count, nil
}

// Order reads an order, whose contents must be those of its ID.
func (c *Client) Order(ctx context.Context, id string) (*farm.Order, error) {
	a, err := c.ask(ctx, "order", &ask{Name: id})
	if err != nil {
		return nil, err
	}
	if a.Order == nil {
		return nil, &UnknownOrderError{id}
	}
	return checkOrder(a.Order.Encode(), id)
}

// Report says how a worker is, and returns the seconds a photo of the fastest one, 0 if
// unknown.
func (c *Client) Report(ctx context.Context, w *Worker) (fastest float64, err error) {
	a, err := c.ask(ctx, "report", &ask{State: w})
	if err != nil {
		return 0, err
	}
	return a.Seconds, nil
}

// Leave takes a worker out of the list.
func (c *Client) Leave(ctx context.Context, name string) error {
	_, err := c.ask(ctx, "leave", &ask{Worker: name})
	return err
}
