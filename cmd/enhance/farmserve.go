package main

import (
	"context"
	"time"

	"enhance/internal/farm/queue"
)

var farmServeCommand = &command{name: "farm serve", summary: "keep the queue of a farm", usage: []string{"farm serve [--listen HOST:PORT] [--users FILE] [--tls-cert FILE]", "farm serve --nats URL [--creds FILE]"}, run: runFarmServe,
	about: `Runs the queue of a farm: a NATS server with JetStream in this process, until it is
interrupted. The queue may be lost: the results are the truth, and submitting again makes
what is missing. With --nats it sets the farm up in a cluster that runs already, and runs
no server.`}

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
	var q *queue.Queue
	if c.given["nats"] {
		if q, err = queue.SetUp(ctx, c.farmOptionsOf(queue.Admin), p); err != nil {
			return err
		}
		c.note("the farm is set up at %s", c.nats)
	} else {
		s, served, err := c.serve(ctx, queue.ServerOptions{Dir: c.queueDir, Address: c.listen, Cert: c.tlsCert, Key: c.tlsKey, Sync: c.syncQueue, Policy: p})
		if err != nil {
			return err
		}
		defer s.Close()
		q = served
		c.note("the farm is served at %s; its queue is in %s", s.Address(), c.queueDir)
	}
	defer q.Close()
	if err := c.serveMetrics(ctx, q); err != nil {
		return err
	}
	if c.given["nats"] && c.metrics == "" {
		return nil
	}
	<-ctx.Done()
	return nil
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
