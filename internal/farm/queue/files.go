package queue

import (
	"context"

	"enhance/internal/farm"
	"enhance/internal/farm/store"
)

// PutFile keeps a file that a setting names, unless the farm has it.
func (q *Queue) PutFile(ctx context.Context, path string, f *farm.File) error {
	objects, err := q.js.ObjectStore(ctx, filesBucket)
	if err != nil {
		return failed("find the settings' files", err)
	}
	return failed("send "+path, store.PutObject(ctx, objects, path, f.SHA256))
}

// GetFile writes a file that a setting names to path, which must not be there, and holds
// its bytes against the hash.
func (q *Queue) GetFile(ctx context.Context, f *farm.File, path string) error {
	objects, err := q.js.ObjectStore(ctx, filesBucket)
	if err != nil {
		return failed("find the settings' files", err)
	}
	return failed("fetch a setting's file", store.GetObject(ctx, objects, f.SHA256, path))
}
