package s3

import (
	"context"
	"io/fs"
	"strings"

	"github.com/minio/minio-go/v7"
)

// List calls each for what is directly in a folder below this one ("" is this one itself)
// until it returns false: objects in the order of their names, and folders, whose names end
// with a slash. Names that are no relative paths are counted and passed over.
func (b *Bucket) List(ctx context.Context, folder string, each func(*Object) bool) (odd int, err error) {
	return b.list(ctx, folder, false, each)
}

// Walk is List of all objects below a folder, and of no folders.
func (b *Bucket) Walk(ctx context.Context, folder string, each func(*Object) bool) (odd int, err error) {
	return b.list(ctx, folder, true, each)
}

func (b *Bucket) list(ctx context.Context, folder string, deep bool, each func(*Object) bool) (odd int, err error) {
	within := b.key(folder)
	if within != "" {
		within += "/"
	}
	above := strings.TrimSuffix(within, folder+"/") // what the names of objects do not have
	if folder == "" {
		above = within
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	last := map[bool]string{} // of objects and of folders, which come page by page in the order of names
	for i := range b.core.ListObjectsIter(ctx, b.name, minio.ListObjectsOptions{Prefix: within, Recursive: deep}) {
		if i.Err != nil {
			return odd, b.fail(ctx, "list", folder, i.Err)
		}
		isFolder := strings.HasSuffix(i.Key, "/")
		if before := last[isFolder]; i.Key <= before && before != "" {
			return odd, b.unusable("list", folder, "the listing does not get on: it repeats names")
		}
		last[isFolder] = i.Key
		name, ok := strings.CutPrefix(i.Key, above)
		switch {
		case !ok || i.Size < 0 || !fs.ValidPath(strings.TrimSuffix(name, "/")) || strings.ContainsAny(name, "\\\x00"):
			if i.Key != within { // the folder itself, as some programs note it
				odd++
			}
			continue
		case isFolder && (deep || i.Key == within || i.ETag != ""):
			continue
		}
		if !each(&Object{Name: name, Bytes: i.Size, Modified: i.LastModified, etag: i.ETag}) {
			return odd, nil
		}
	}
	return odd, ctx.Err()
}
