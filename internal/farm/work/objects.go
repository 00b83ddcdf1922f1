package work

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nats-io/nats.go/jetstream"

	"enhance/internal/farm"
	"enhance/internal/farm/store"
)

// Objects is photos in the object store of JetStream, for machines that share no folder.
type Objects struct {
	dir    string
	photos jetstream.ObjectStore
}

// OpenObjects opens it; dir is a folder for photos on their way.
func OpenObjects(ctx context.Context, js jetstream.JetStream, dir string) (*Objects, error) {
	photos, err := js.ObjectStore(ctx, store.PhotosBucket)
	if err != nil {
		return nil, fmt.Errorf("the farm's store of photos cannot be opened: %w", err)
	}
	return &Objects{dir, photos}, nil
}

// Put sends a photo's file and returns its SHA-256.
func (o *Objects) Put(ctx context.Context, path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	sum, _, err := store.SumOf(f)
	f.Close()
	if err != nil {
		return "", err
	}
	return sum, store.PutObject(ctx, o.photos, path, sum)
}

// Fetch copies a photo into a folder of its own, under the last element of its name.
func (o *Objects) Fetch(ctx context.Context, t *farm.Task) (*Photo, error) {
	if t.Content == "" {
		return nil, &farm.Failure{Kind: farm.Hopeless, Reason: "it was submitted as a file below a folder, and this worker takes photos from the farm's store only"}
	}
	dir, err := os.MkdirTemp(o.dir, "photo-")
	if err != nil {
		return nil, err
	}
	done := func() { os.RemoveAll(dir) }
	name := filepath.Base(filepath.FromSlash(t.Photo))
	if err := store.GetObject(ctx, o.photos, t.Content, filepath.Join(dir, name)); err != nil {
		done()
		return nil, err
	}
	return &Photo{Root: dir, Name: name, SHA256: t.Content, Changed: func() bool { return false }, Done: done}, nil
}
