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
	"enhance/internal/farm/store"
)

var farmSubmitCommand = &command{name: "farm submit", summary: "give photos to a farm", usage: []string{"farm submit DIR|PHOTO... [--photos DIR] [SETTINGS]"}, run: runFarmSubmit, files: true,
	about: `Streams the photos of a folder, or those that are named, into the queue of a farm, with
the settings of the main command. It reads their headers, for their sizes, and holds no
more than a folder of them: 10^6 photos need no more memory than 10^3. Where the queue is
full it waits. Submitting again is harmless: results that are there are found.

Names of photos travel relative to --photos, the folder that the workers share. Pictures
keep them.`}

func runFarmSubmit(c *call) error {
	f, err := c.newSubmission()
	if err != nil {
		return err
	}
	defer f.root.Close()
	if c.skipExisting && c.results == "" {
		return usagef("--skip-existing needs --results: the folder that has the pictures, or nats:")
	}
	return c.asAdmin(nil, func(ctx context.Context, q *queue.Queue) error {
		if c.photosRoot == objectsURL {
			f.objects = q
		}
		switch c.results {
		case "":
		case objectsURL:
			if f.store, err = store.OpenObjects(ctx, q.JetStream(), ""); err != nil {
				return err
			}
		default:
			d, err := openStore(c.results)
			if err != nil {
				return err
			}
			defer d.Close()
			f.store = d
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
		_, err := fmt.Fprintf(w, "order %s: %s, %d submitted, %d there already, %d skipped\n", f.result.Order, photos(int(f.result.Photos)), f.result.Accepted, f.result.Duplicates, f.result.Skipped)
		return err
	})
}

// submission is an order on its way to a farm.
type submission struct {
	*order
	path      string // the folder that names of photos are below
	root      *os.Root
	farmOrder *farm.Order
	files     map[string]*farm.File
	store     store.Store  // knows what is done; nil: skip nothing
	objects   *queue.Queue // takes the photos themselves; nil: workers share the folder

	mu     sync.Mutex
	failed error // the first failure to send a photo
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
	if f.path = c.photosRoot; f.path == "" || f.path == objectsURL {
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
	s, err := q.Submit(ctx, f.result.Order, f.sized(ctx, f.tasks(append(names, f.args...))), func(queue.Submitted) {
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
