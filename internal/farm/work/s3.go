package work

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"enhance/internal/farm"
	"enhance/internal/farm/s3"
	"enhance/internal/farm/store"
)

// S3 is photos in an S3-compatible object store: objects by the names of photos, or, where a
// submitter sent them there, by their SHA-256.
type S3 struct {
	bucket *s3.Bucket
	dir    string
}

// NewS3 takes photos from a folder of an object store; dir is a folder for those on their way.
func NewS3(b *s3.Bucket, dir string) *S3 { return &S3{b, dir} }

// sentName is where a photo is that a submitter sent.
func sentName(sum string) string { return path.Join(farm.Folder, "photos", sum[:2], sum) }

// Check makes sure that the photos can be reached.
func (p *S3) Check(ctx context.Context) error {
	_, err := p.bucket.List(ctx, "", func(*s3.Object) bool { return false })
	return err
}

// PutPhoto sends a photo's file, unless it is there, and gives its SHA-256.
func (p *S3) PutPhoto(ctx context.Context, file string) (sum string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum, n, err := store.SumOf(f)
	if err != nil {
		return "", err
	}
	if _, err = p.bucket.Stat(ctx, sentName(sum)); errors.Is(err, fs.ErrNotExist) {
		_, err = p.bucket.Create(ctx, sentName(sum), f, n, sum)
	}
	return sum, err
}

// Fetch copies a photo into a folder of its own, under the last element of its name.
func (p *S3) Fetch(ctx context.Context, t *farm.Task) (*Photo, error) {
	dir, err := os.MkdirTemp(p.dir, "photo-")
	if err != nil {
		return nil, err
	}
	done := func() { os.RemoveAll(dir) }
	from, name := t.Photo, path.Base(t.Photo)
	if t.Content != "" {
		from = sentName(t.Content)
	}
	sum, _, err := p.bucket.Download(ctx, from, filepath.Join(dir, name))
	if err == nil && t.Content != "" && sum != t.Content {
		err = &farm.Failure{Kind: farm.Hopeless, Class: farm.IO, Reason: fmt.Sprintf("%s/%s has the SHA-256 %.12s: submit the photo again", p.bucket, from, sum)}
	}
	if err != nil {
		done()
		if errors.Is(err, fs.ErrPermission) { // this photo only: Check could read
			return nil, err
		}
		return nil, store.ExplainS3(err)
	}
	return &Photo{Root: dir, Name: name, SHA256: sum, Changed: func() bool { return false }, Done: done}, nil
}
