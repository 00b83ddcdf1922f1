package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"enhance/internal/farm"
	"enhance/internal/farm/queue"
	"enhance/internal/farm/s3"
	"enhance/internal/farm/store"
	"enhance/internal/farm/work"
)

var farmSubmitCommand = &command{name: "farm submit", summary: "give photos to a farm",
	usage: []string{"farm submit DIR|PHOTO...|s3://BUCKET/PREFIX [--photos DIR] [SETTINGS]"}, run: runFarmSubmit, files: true,
	about: `Streams the photos of a folder, those that are named, or those at an s3:// URL into the
queue of a farm, with the settings of the main command. It reads their headers, for their
sizes, and holds no more than a folder of them: 10^6 photos need no more memory than 10^3.
Where the queue is full it waits. Submitting again is harmless: results that are there are
found. Photos at an s3:// URL are told by their names.

Names of photos travel relative to --photos, the folder that the workers share. Pictures
keep them.`}

func runFarmSubmit(c *call) error {
	f, err := c.newSubmission()
	if err != nil {
		return err
	}
	defer f.close()
	if c.skipExisting && c.results == "" {
		return usagef("--skip-existing needs --results: the folder or s3:// URL that has the pictures, or nats:")
	}
	return c.asAdmin(nil, func(ctx context.Context, q *queue.Queue) error {
		switch {
		case c.photosRoot == objectsURL:
			f.sender = q
		case f.bucket == nil && s3.IsURL(c.photosRoot):
			b, err := c.openBucket(ctx, c.photosRoot)
			if err != nil {
				return err
			}
			f.sender = work.NewS3(b, "")
		}
		switch c.results {
		case "":
		case objectsURL:
			if f.store, err = store.OpenObjects(ctx, q.JetStream(), ""); err != nil {
				return err
			}
		default:
			r, err := c.openResults(ctx, c.results, "")
			if err != nil {
				return err
			}
			defer r.close()
			f.store = r
		}
		if err := f.submit(ctx, q); err != nil {
			return err
		}
		return f.reportSubmitted()
	})
}

func (f *submission) reportSubmitted() error {
	c := f.call
	return c.report(&f.result, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "order %s: %s, %d submitted, %d there already, %d skipped\n", f.result.Order,
			photos(int(f.result.Photos)), f.result.Accepted, f.result.Duplicates, f.result.Skipped)
		return err
	})
}

// submission is an order on its way to a farm.
type submission struct {
	*order
	path      string     // the folder or URL that names of photos are below
	root      *os.Root   // nil: photos are objects
	bucket    *s3.Bucket // nil: photos are files
	farmOrder *farm.Order
	files     map[string]*farm.File
	store     store.Store // knows what is done; nil: skip nothing
	sender    interface { // takes the photos themselves; nil: workers share the folder
		PutPhoto(ctx context.Context, path string) (sum string, err error)
	}

	listing map[string]*s3.Object // of the folder that is being submitted, if photos are objects

	mu     sync.Mutex
	failed error // the first failure to send or to list photos
	result submitted
}

// submitted is what became of it.
type submitted struct {
	Order   string `json:"order"`
	Photos  int64  `json:"photos"`
	Skipped int64  `json:"skipped"` // done already
	Refused int64  `json:"refused"` // whose names no task can have, and folders that cannot be read
	queue.Submitted
}

// newSubmission reads a command line of settings and photos.
func (c *call) newSubmission() (*submission, error) {
	o := &order{call: c}
	if err := o.readJob(); err != nil {
		return nil, err
	}
	settings, files, err := o.settingsOf()
	if err != nil {
		return nil, err
	}
	f := &submission{order: o, files: files}
	if f.farmOrder, err = farm.NewOrder(settings, o.job.Output.Format.Extension(), c.overwrite); err != nil {
		return nil, err
	}
	f.result.Order = f.farmOrder.ID()
	if len(c.args) == 0 && c.from == "" {
		return nil, usagef("%s: no photo given: name a folder", c.cmd.name)
	}
	if len(c.args) > 0 && s3.IsURL(c.args[0]) {
		return f, f.openObjects()
	}
	if f.path = c.photosRoot; f.path == "" || f.path == objectsURL || s3.IsURL(f.path) {
		if len(c.args) == 1 {
			if _, err := os.Stat(c.args[0]); err != nil {
				return nil, folderError(c.args[0], err)
			}
		}
		if len(c.args) != 1 || c.from != "" || !isDir(c.args[0]) {
			return nil, usagef("%s: give --photos, the folder that the names of photos are below, or one folder to submit", c.cmd.name)
		}
		f.path = c.args[0]
	}
	if f.path, err = filepath.Abs(f.path); err != nil {
		return nil, err
	}
	f.root, err = os.OpenRoot(f.path)
	return f, err
}

func (f *submission) close() {
	if f.root != nil {
		f.root.Close()
	}
}

// submit sends the order, its files and its photos.
func (f *submission) submit(ctx context.Context, q *queue.Queue) error {
	for path, file := range f.files {
		if err := q.PutFile(ctx, path, file); err != nil {
			return err
		}
	}
	if err := q.PutOrder(ctx, f.farmOrder); err != nil {
		return err
	}
	names, err := f.listed()
	if err != nil {
		return err
	}
	tasks := f.tasks(append(names, f.args...))
	if f.bucket != nil {
		tasks = f.objectTasks(ctx)
	}
	s, err := q.Submit(ctx, f.result.Order, f.sized(ctx, tasks), func(queue.Submitted) {
		if f.result.Photos%1024 == 0 {
			q.SetTotal(ctx, f.result.Order, f.result.Photos)
		}
	})
	f.result.Submitted = s
	if err == nil {
		err = f.failed
	}
	if err != nil {
		return err
	}
	if f.result.Photos == 0 {
		return usagef("no RAW photo was found in %s", f.path)
	}
	return q.SetTotal(ctx, f.result.Order, f.result.Photos)
}
