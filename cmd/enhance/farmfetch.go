package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"enhance/internal/atomicfile"
	"enhance/internal/farm"
	"enhance/internal/farm/queue"
	"enhance/internal/farm/s3"
	"enhance/internal/farm/store"
	"enhance/internal/tempdir"
)

var farmFetchCommand = &command{name: "farm fetch", summary: "copy results out of a store of objects",
	usage: []string{"farm fetch -o OUT [--results s3://BUCKET/PREFIX] [--nats URL]"}, run: runFarmFetch,
	about: `Copies the pictures that workers with --results nats: or s3:// have published into a
directory, each under its name and with its receipt. What is there with the bytes of its
receipt is not copied again; what has others, because it was changed or damaged, is with -y.
A picture that is missing, damaged or cannot take its name is named, and the others are
copied. The exit status is then 4 if results are missing, else 3 if some are damaged, else
1.`}

// fetched is what farm fetch prints.
type fetched struct {
	Outputs int `json:"outputs"` // that are in the directory now
	Copied  int `json:"copied"`  // results
	Missing int `json:"missing"` // outputs whose result or receipt the store has not
	Damaged int `json:"damaged"` // records, receipts and results that are not what they should be, in the store or here
	Taken   int `json:"taken"`   // names that belong to other files
}

func runFarmFetch(c *call) error {
	if err := c.wantNoArguments(); err != nil {
		return err
	}
	if c.output == "" {
		return usagef("farm fetch: give -o, the directory for the pictures")
	}
	if c.farmOptions.results != "" && c.farmOptions.results != objectsURL && !s3.IsURL(c.farmOptions.results) {
		return usagef("farm fetch: --results: want nats: or an s3:// URL: a folder has its pictures already")
	}
	if err := atomicfile.MakeDir(c.output, false); err != nil {
		return err
	}
	to, err := openStore(c.output)
	if err != nil {
		return err
	}
	defer to.Close()
	spool, err := tempdir.New("fetch")
	if err != nil {
		return err
	}
	defer tempdir.Remove(spool)
	if s3.IsURL(c.farmOptions.results) {
		ctx, stop := interruptible(c.env, func() { tempdir.Remove(spool) })
		defer stop()
		b, err := c.openBucket(ctx, c.farmOptions.results)
		if err != nil {
			return err
		}
		return c.fetchAll(ctx, store.OpenS3(b, spool), to)
	}
	return c.asAdmin(func() { tempdir.Remove(spool) }, func(ctx context.Context, q *queue.Queue) error {
		from, err := store.OpenObjects(ctx, q.JetStream(), spool)
		if err != nil {
			return err
		}
		return c.fetchAll(ctx, from, to)
	})
}

// fetchAll copies all outputs of a store that can be copied.
func (c *call) fetchAll(ctx context.Context, from withOutputs, to *store.Dir) error {
	var r fetched
	var failed error
	damaged, err := from.Outputs(ctx, func(output string, n *farm.Named) bool {
		copied, err := copyResult(ctx, from, to, output, n, c.overwrite)
		if copied {
			r.Copied++
		}
		if err == nil {
			r.Outputs++
		} else if ctx.Err() != nil || !r.count(err) {
			failed = err
			return false
		} else {
			c.note("%s: %v", output, err)
		}
		return true
	})
	if damaged > 0 {
		c.note("%d records of names are damaged: submit their photos again", damaged)
		r.Damaged += damaged
	}
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	if r == (fetched{}) {
		c.note("the store has no results: workers put them there if they are started with --results nats: or the same s3:// URL")
	}
	if err := c.report(&r, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s in %s, %d copied now, %d missing, %d damaged, %d whose names are taken\n", photos(r.Outputs),
			c.output, r.Copied, r.Missing, r.Damaged, r.Taken)
		return err
	}); err != nil {
		return err
	}
	switch {
	case r.Missing > 0:
		return ended(exitIO)
	case r.Damaged > 0:
		return ended(exitInput)
	case r.Taken > 0:
		return ended(exitFailed)
	}
	return nil
}

// errMissing says that a store has a name for a result and not the result.
var errMissing = errors.New("its result is not in the store: submit the photo again, and it is made")

// changedError says that the copy of a result has other bytes than its receipt says.
type changedError struct{ *store.DamagedError }

func (e *changedError) Error() string {
	return fmt.Sprintf("%s has other bytes than its receipt says: it was changed or damaged. Give -y to copy it again", e.Place)
}

func (e *changedError) Unwrap() error { return e.DamagedError }

// count takes an error of one output into the figures. It reports whether others may go
// better.
func (r *fetched) count(err error) bool {
	switch {
	case errors.Is(err, errMissing):
		r.Missing++
	case errors.As(err, new(*store.DamagedError)), errors.As(err, new(*farm.FormatError)):
		r.Damaged++
	case errors.As(err, new(*store.TakenError)):
		r.Taken++
	default:
		return false
	}
	return true
}

// copyResult copies the result of an output, unless it is there, and names it.
func copyResult(ctx context.Context, from withOutputs, to *store.Dir, output string, n *farm.Named, replace bool) (copied bool, err error) {
	r, err := from.Receipt(ctx, n.Key)
	if err == nil && r == nil {
		err = errMissing
	}
	if err != nil {
		return false, err
	}
	have, err := to.Receipt(ctx, n.Key)
	if err != nil {
		return false, err
	}
	var changed *store.DamagedError
	if have != nil {
		switch err := to.Check(have); {
		case errors.As(err, &changed) && !replace:
			return false, &changedError{changed}
		case errors.Is(err, fs.ErrNotExist):
			have = nil
		case err != nil && changed == nil:
			return false, err
		}
	}
	if have == nil || changed != nil {
		if err := copyPicture(ctx, from, to, r, changed != nil); err != nil {
			return false, err
		}
		copied = true
	}
	return copied, to.Name(ctx, &farm.Task{Output: output, Photo: n.Photo, Bytes: n.Bytes, Modified: n.Modified}, r, replace)
}

// copyPicture copies a result, over a copy whose bytes have changed if there is one.
func copyPicture(ctx context.Context, from withOutputs, to *store.Dir, r *farm.Receipt, over bool) error {
	path, done, err := from.Fetch(ctx, r)
	if errors.Is(err, fs.ErrNotExist) {
		err = errMissing
	}
	if err != nil {
		return err
	}
	defer done()
	if over {
		return to.Repair(path, r)
	}
	_, err = to.Adopt(ctx, path, r)
	return err
}
