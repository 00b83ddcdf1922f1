package queue

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/nats-io/nats.go/jetstream"

	"enhance/farm"
	"enhance/farm/store"
)

// PutFile keeps a file that a setting names, unless the farm has it.
func (q *Queue) PutFile(ctx context.Context, path string, f *farm.File) error {
	objects, err := q.js.ObjectStore(ctx, filesBucket)
	if err != nil {
		return failed("find the settings' files", err)
	}
	if _, err := objects.GetInfo(ctx, f.SHA256); err == nil {
		return nil
	}
	from, err := os.Open(path)
	if err != nil {
		return err
	}
	defer from.Close()
	_, err = objects.Put(ctx, jetstream.ObjectMeta{Name: f.SHA256}, from)
	return failed("send "+path, err)
}

// GetFile writes a file that a setting names to path, which must not be there, and holds
// its bytes against the hash.
func (q *Queue) GetFile(ctx context.Context, f *farm.File, path string) error {
	objects, err := q.js.ObjectStore(ctx, filesBucket)
	if err != nil {
		return failed("find the settings' files", err)
	}
	from, err := objects.Get(ctx, f.SHA256)
	if err != nil {
		return failed("fetch a setting's file", err)
	}
	defer from.Close()
	to, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err = to.ReadFrom(from); err == nil {
		_, err = to.Seek(0, 0)
	}
	sum, n := "", int64(0)
	if err == nil {
		sum, n, err = store.SumOf(to)
	}
	if err = errors.Join(err, to.Close()); err == nil && (sum != f.SHA256 || n != f.Bytes) {
		err = fmt.Errorf("a setting's file has %d bytes with SHA-256 %.12s, and its order says %d and %.12s", n, sum, f.Bytes, f.SHA256)
	}
	if err != nil {
		err = errors.Join(failed("fetch a setting's file", err), os.Remove(path))
	}
	return err
}
