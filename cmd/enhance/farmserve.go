package main

import (
	"context"
	"time"

	"enhance/internal/farm"
	"enhance/internal/farm/queue"
	"enhance/internal/tempdir"
)

var farmServeCommand = &command{name: "farm serve", summary: "keep the queue of a farm",
	usage: []string{"farm serve [--listen HOST:PORT] [--users FILE] [--tls-cert FILE]",
		"farm serve --nats URL [--creds FILE]"}, run: runFarmServe,
	about: `Runs the queue of a farm: a NATS server with JetStream in this process, until it is
interrupted. The queue may be lost: the results are the truth, and submitting again makes
what is missing. With --nats it sets the farm up in a cluster that runs already, and runs
no server of its own; it answers the workers there until it is interrupted. It refuses a
cluster in which another process does.`}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

func runFarmServe(c *call) error {
	if err := c.wantNoArguments(); err != nil {
		return err
	}
	p, err := c.policy()
	if err != nil {
		return err
	}
	ctx, stop := interruptible(c.env, func() {})
	defer stop()
	q, lost, done, err := c.farmServed(ctx, p)
	if err != nil {
		return err
	}
	defer done()
	if err := c.serveMetrics(ctx, q); err != nil {
		return err
	}
	select {
	case err := <-lost:
		return err
	case <-ctx.Done():
		return nil
	}
}

// farmServed has a farm served by a server of this process or, with --nats, in a cluster that
// runs already. lost has an error if it has to end.
func (c *call) farmServed(ctx context.Context, p farm.Policy) (q *queue.Queue, lost <-chan error, done func(), err error) {
	if c.given["nats"] {
		for _, name := range []string{"listen", "queue", "tls-cert", "tls-key", "users", "sync"} {
			if c.given[name] {
				return nil, nil, nil, usagef("--%s: it belongs to a server of this process, and --nats names one that runs already: give one of the two", name)
			}
		}
	} else {
		s, q, err := c.serve(ctx, queue.ServerOptions{Dir: c.queueDir, Address: c.listen, Cert: c.tlsCert, Key: c.tlsKey, Sync: c.syncQueue, Policy: p})
		if err != nil {
			return nil, nil, nil, err
		}
		c.note("the farm is served at %s; its queue is in %s", s.Address(), c.queueDir)
		return q, s.Lost(), func() { q.Close(); s.Close() }, nil
	}
	spool, err := tempdir.New("serve")
	if err != nil {
		return nil, nil, nil, err
	}
	if q, err = queue.SetUp(ctx, c.farmOptionsOf(queue.Admin), p); err == nil {
		lost, err = q.ServeWorkers(ctx, spool, nil)
	}
	done = func() {
		if q != nil {
			q.Close()
		}
		tempdir.Remove(spool)
	}
	if err != nil {
		done()
		return nil, nil, nil, err
	}
	c.note("the farm is served at %s", c.nats)
	return q, lost, done, nil
}

// serve starts a server and joins it.
func (c *call) serve(ctx context.Context, o queue.ServerOptions) (s *queue.Server, q *queue.Queue, err error) {
	if c.users != "" {
		if o.Users, err = queue.ReadUsers(c.users); err != nil {
			return nil, nil, err
		}
	}
	if (o.Cert == "") != (o.Key == "") {
		return nil, nil, usagef("--tls-cert and --tls-key belong together")
	}
	o.Say = func(text string) { c.note("queue: %s", text) }
	if s, err = queue.Serve(ctx, o); err != nil {
		return nil, nil, err
	}
	if q, err = queue.Connect(ctx, queue.Options{Server: s, Name: c.cmd.name}); err != nil {
		s.Close()
	}
	return s, q, err
}
