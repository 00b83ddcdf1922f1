package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"enhance/internal/atomicfile"
	"enhance/internal/farm"
	"enhance/internal/farm/queue"
	"enhance/internal/farm/store"
)

var farmFetchCommand = &command{name: "farm fetch", summary: "copy results out of a farm's store of objects", usage: []string{"farm fetch -o OUT [--nats URL]"}, run: runFarmFetch,
	about: `Copies the pictures that workers with --results nats: have published into a directory, each
under its name and with its receipt. What is there is not copied again.`}

// fetched is what farm fetch prints.
type fetched struct {
	Outputs int `json:"outputs"`
	Copied  int `json:"copied"` // results
	Damaged int `json:"damaged"`
}

func runFarmFetch(c *call) error {
	if err := c.wantNoArguments(); err != nil {
		return err
	}
	if c.output == "" {
		return usagef("farm fetch: give -o, the directory for the pictures")
	}
	if err := atomicfile.MakeDir(c.output, false); err != nil {
		return err
	}
	to, err := openStore(c.output)
	if err != nil {
		return err
	}
	defer to.Close()
	spool, err := os.MkdirTemp("", "enhance-fetch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(spool)
	return c.asAdmin(func() { os.RemoveAll(spool) }, func(ctx context.Context, q *queue.Queue) error {
		return c.fetchAll(ctx, q, to, spool)
	})
}

// fetchAll copies all outputs of the farm's own store.
func (c *call) fetchAll(ctx context.Context, q *queue.Queue, to *store.Dir, spool string) error {
	from, err := store.OpenObjects(ctx, q.JetStream(), spool)
	if err != nil {
		return err
	}
	var r fetched
	var failed error
	r.Damaged, err = from.Outputs(ctx, func(output string, n *farm.Named) bool {
		copied, err := copyResult(ctx, from, to, output, n, c.overwrite)
		if taken := (*store.TakenError)(nil); errors.As(err, &taken) {
			c.note("%v", err)
			r.Damaged++
			return true
		}
		r.Outputs++
		if copied {
			r.Copied++
		}
		failed = err
		return err == nil
	})
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	if err := c.report(&r, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s in %s, %d copied now\n", photos(r.Outputs), c.output, r.Copied)
		return err
	}); err != nil {
		return err
	}
	if r.Damaged > 0 {
		return ended(exitFailed)
	}
	return nil
}

// copyResult copies the result of an output, unless it is there, and names it.
func copyResult(ctx context.Context, from *store.Objects, to *store.Dir, output string, n *farm.Named, replace bool) (copied bool, err error) {
	r, err := from.Receipt(ctx, n.Key)
	if err != nil || r == nil {
		return false, errors.Join(err, fmt.Errorf("%s: its receipt is not in the store", output))
	}
	have, err := to.Receipt(ctx, n.Key)
	if err != nil {
		return false, err
	}
	if have == nil {
		path, done, err := from.Fetch(ctx, r)
		if err != nil {
			return false, err
		}
		defer done()
		if _, err := to.Adopt(ctx, path, r); err != nil {
			return false, err
		}
		copied = true
	}
	return copied, to.Name(ctx, &farm.Task{Output: output, Photo: n.Photo, Bytes: n.Bytes, Modified: n.Modified}, r, replace)
}
