package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"enhance/internal/farm/queue"
	"enhance/internal/farm/work"
	"enhance/internal/tempdir"
)

var farmWorkCommand = &command{name: "farm work", summary: "compute for a farm",
	usage: []string{"farm work --photos DIR --results DIR [--nats URL] [-g DEVICES]"}, run: runFarmWork,
	about: `Takes photos from the queue of a farm and makes their pictures, until it is interrupted.
Each device of -g has a worker, which computes one photo and holds the next. A worker asks
its planner how large photos may be for its memory, and takes no larger ones.

A worker that is killed loses nothing: its photos go to another when their lease runs out.

With --until-idle it ends when nothing waits that it could do. If no photo that waits was
for it, it says why and ends with that reason's status: 6 if they need more memory.`}

func runFarmWork(c *call) error {
	if err := c.wantNoArguments(); err != nil {
		return err
	}
	if c.photosRoot == "" || c.results == "" {
		return usagef("farm work: give --photos and --results: the folders that the machines of the farm share, or s3:// URLs, or nats:")
	}
	devices, err := c.workerDevices()
	if err != nil {
		return err
	}
	ctx, stop := interruptible(c.env, func() {})
	defer stop()
	q, err := c.join(ctx)
	if err != nil {
		return err
	}
	defer q.Close()
	name := c.workerName
	if name == "" {
		name = newWorkerName(q.Name())
	}
	spool, err := tempdir.New("photos")
	if err != nil {
		return err
	}
	defer tempdir.Remove(spool)
	photos, results, err := c.awaitPlaces(ctx, q, spool)
	if err != nil {
		return err
	}
	defer results.close()
	c.note("%s takes photos from the farm; enhance farm status shows what it does", name)
	return c.runWorkers(ctx, name, devices, q, func(o *work.Options) {
		o.Store, o.Photos, o.UntilIdle = results.Store, photos, c.untilIdle
		o.Ended = func(s *queue.Worker) {
			c.note("%s ends: %d %s made, %d found, %d %s failed", s.Name, s.Made, plural(int(s.Made), "picture"), s.Found, s.Failed, plural(int(s.Failed), "attempt"))
		}
	})
}

// join joins the farm as a worker. It waits for a server that is away, for workers may start
// before it.
func (c *call) join(ctx context.Context) (*queue.Client, error) {
	for told := false; ; told = true {
		q, err := queue.Join(ctx, c.farmOptionsOf(queue.Computing))
		if err == nil || !queue.Away(err) {
			return q, err
		}
		if !told {
			c.note("%v: the worker waits for it", err)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(2 * time.Second):
		}
	}
}

// runWorkers runs a worker for each device until ctx ends.
func (c *call) runWorkers(ctx context.Context, name string, devices []string, q *queue.Client, complete func(o *work.Options)) error {
	var all sync.WaitGroup
	errs := make([]error, len(devices))
	for i, device := range devices {
		own := name
		if len(devices) > 1 {
			own = fmt.Sprintf("%s-%d", name, i)
		}
		o, err := c.workerOptions(own, device, q)
		if err != nil {
			return err
		}
		defer tempdir.Remove(o.Files)
		complete(&o)
		all.Go(func() { errs[i] = work.Run(ctx, o) })
	}
	all.Wait()
	var refusals int
	var err, refused error
	for _, one := range errs {
		if errors.As(one, new(*work.RefusalError)) {
			refusals, refused = refusals+1, one
		} else if err == nil || one != nil && one.Error() != err.Error() { // workers have one connection
			err = errors.Join(err, one)
		}
	}
	switch {
	case refusals == len(errs):
		return refused
	case refusals > 0: // another device of this machine had photos
		c.note("%v", refused)
	}
	return err
}
