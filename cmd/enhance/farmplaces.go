package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"enhance/internal/farm"
	"enhance/internal/farm/queue"
	"enhance/internal/farm/s3"
	"enhance/internal/farm/store"
	"enhance/internal/farm/work"
)

// objectsURL stands for the farm's own store of objects in place of a shared folder.
const objectsURL = "nats:"

// openBucket opens an s3:// URL.
func (c *call) openBucket(ctx context.Context, url string) (*s3.Bucket, error) {
	return s3.Open(ctx, url, s3.Options{Endpoint: c.s3Endpoint, Region: c.s3Region})
}

// results is an opened store of results.
type results struct {
	store.Store
	close func()
}

// places opens where a worker's photos come from and where its results go. spool is a folder
// for files on their way.
func (c *call) places(ctx context.Context, q *queue.Client, spool string) (photos work.Photos, to *results, err error) {
	if c.photosRoot == objectsURL {
		photos = work.NewObjects(q, spool)
	} else if photos, err = c.openPhotos(ctx, spool); err != nil {
		return nil, nil, err
	}
	if c.results == objectsURL {
		return photos, &results{q.Results(spool), func() {}}, nil
	}
	if to, err = c.openResults(ctx, c.results, spool); err != nil {
		return nil, nil, err
	}
	switch s := to.Store.(type) {
	case *store.S3:
		err = s.Probe(ctx)
	case *store.Dir:
		_, err = s.Clean()
	}
	return photos, to, err
}

// awaitPlaces is places, and waits for an object store that is away and, unless it is to end when it is idle, for a folder
// of photos that has none yet.
func (c *call) awaitPlaces(ctx context.Context, q *queue.Client, spool string) (photos work.Photos, to *results, err error) {
	for told := false; ; told = true {
		photos, to, err = c.places(ctx, q, spool)
		var away *s3.Error
		if !(errors.As(err, &away) && away.Kind == s3.Unreachable || errors.Is(err, errEmptyFolder) && !c.untilIdle) {
			return photos, to, err
		}
		if !told {
			c.note("%v: the worker waits for it", err)
		}
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-time.After(2 * time.Second):
		}
	}
}

// errEmptyFolder says that a folder of photos has nothing in it, as the place of a file system that is not mounted: a worker
// would find none of the photos there, and have all of them given up.
var errEmptyFolder = errors.New("the folder is empty: mount the file system that has the photos")

// checkFilled refuses a folder that is empty.
func checkFilled(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err = f.Readdirnames(1); errors.Is(err, io.EOF) {
		err = &fs.PathError{Op: "open", Path: dir, Err: errEmptyFolder}
	}
	return err
}

// openPhotos opens the photos of --photos: a folder or an s3:// URL.
func (c *call) openPhotos(ctx context.Context, spool string) (work.Photos, error) {
	if !s3.IsURL(c.photosRoot) {
		err := checkFilled(c.photosRoot)
		var folder *work.Folder
		if err == nil {
			folder, err = work.OpenFolder(c.photosRoot)
		}
		if err != nil {
			return nil, fmt.Errorf("--photos: %w", err)
		}
		return folder, nil
	}
	b, err := c.openBucket(ctx, c.photosRoot)
	if err != nil {
		return nil, err
	}
	photos := work.NewS3(b, spool)
	return photos, photos.Check(ctx)
}

// openResults opens a store of results in a folder or at an s3:// URL, to which it makes no
// request.
func (c *call) openResults(ctx context.Context, at, spool string) (*results, error) {
	if s3.IsURL(at) {
		b, err := c.openBucket(ctx, at)
		if err != nil {
			return nil, err
		}
		return &results{store.OpenS3(b, spool), func() {}}, nil
	}
	d, err := openStore(at)
	if err != nil {
		return nil, err
	}
	return &results{d, func() { d.Close() }}, nil
}

// openToRead is openResults of a store that is there and stays as it is.
func (c *call) openToRead(ctx context.Context, at, spool string) (*results, error) {
	if s3.IsURL(at) {
		return c.openResults(ctx, at, spool)
	}
	if _, err := os.Stat(at); err != nil {
		return nil, err
	}
	d, err := store.LookInto(at)
	if err != nil {
		return nil, err
	}
	if d == nil {
		return nil, usagef("%s has no results of a farm: give the directory that farm run -o or farm work --results names", at)
	}
	return &results{d, func() { d.Close() }}, nil
}

// withOutputs is a store that lists the outputs that it names.
type withOutputs interface {
	store.Store
	Outputs(ctx context.Context, each func(output string, n *farm.Named) bool) (damaged int, err error)
}
