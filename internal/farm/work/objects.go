package work

import (
	"context"
	"os"
	"path/filepath"

	"enhance/internal/farm"
	"enhance/internal/farm/queue"
)

// Objects is photos in the farm's own store, for machines that share no folder.
type Objects struct {
	dir    string
	client *queue.Client
}

// NewObjects takes photos from there; dir is a folder for those on their way.
func NewObjects(c *queue.Client, dir string) *Objects { return &Objects{dir, c} }

// Fetch copies a photo into a folder of its own, under the last element of its name.
func (o *Objects) Fetch(ctx context.Context, t *farm.Task) (*Photo, error) {
	if t.Content == "" {
		return nil, &farm.Failure{Kind: farm.Hopeless, Class: farm.Option,
			Reason: "it was submitted as a file below a folder, and this worker takes photos from the farm's store only"}
	}
	dir, err := os.MkdirTemp(o.dir, "photo-")
	if err != nil {
		return nil, err
	}
	done := func() { os.RemoveAll(dir) }
	name := filepath.Base(filepath.FromSlash(t.Photo))
	if err := o.client.GetPhoto(ctx, t.Content, filepath.Join(dir, name)); err != nil {
		done()
		return nil, err
	}
	return &Photo{Root: dir, Name: name, SHA256: t.Content, Changed: func() bool { return false }, Done: done}, nil
}
