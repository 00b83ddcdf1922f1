package main

import (
	"context"
	"iter"
	"path"
	"path/filepath"
	"strings"

	"enhance/internal/farm"
	"enhance/internal/farm/s3"
	"enhance/raw"
)

// openObjects is a submission of the photos below an s3:// URL.
func (f *submission) openObjects() (err error) {
	c := f.call
	switch {
	case len(c.args) != 1 || c.from != "":
		return usagef("%s: give one s3:// URL and no other photos", c.cmd.name)
	case c.cmd.name != "farm submit":
		return usagef("%s: photos of an s3:// URL are for farm submit", c.cmd.name)
	case c.photosRoot == "":
		f.path = c.args[0]
	case !s3.IsURL(c.photosRoot):
		return usagef("%s: --photos must be an s3:// URL, too", c.cmd.name)
	default:
		f.path = c.photosRoot
	}
	if _, err := f.under(); err != nil {
		return err
	}
	f.bucket, err = c.openBucket(context.Background(), f.path)
	return err
}

// under is the part of the submitted URL below that of --photos.
func (f *submission) under() (string, error) {
	rootBucket, root, err := s3.Parse(f.path)
	if err != nil {
		return "", err
	}
	bucket, name, err := s3.Parse(f.args[0])
	if err != nil {
		return "", err
	}
	if root != "" {
		root += "/"
	}
	rest, below := strings.CutPrefix(name+"/", root)
	if !below || bucket != rootBucket {
		return "", usagef("%s is not below %s (--photos)", f.args[0], f.path)
	}
	return strings.TrimSuffix(rest, "/"), nil
}

// objectTasks are those of the photos below a URL, folder by folder.
func (f *submission) objectTasks(ctx context.Context) iter.Seq[*farm.Task] {
	return func(yield func(*farm.Task) bool) {
		under, err := f.under()
		if err != nil {
			f.fail(err)
			return
		}
		f.objectFolder(ctx, under, yield)
	}
}

// objectFolder gives the photos in a folder and in those below it. It reports whether more
// are wanted. Hidden names are left alone.
func (f *submission) objectFolder(ctx context.Context, under string, yield func(*farm.Task) bool) bool {
	var below []string
	all := &inputs{order: f.order, known: map[string]bool{}}
	f.listing = map[string]*s3.Object{}
	odd, err := f.bucket.List(ctx, under, func(o *s3.Object) bool {
		name := strings.TrimSuffix(o.Name, "/")
		switch base := path.Base(name); {
		case strings.HasPrefix(base, "."):
		case name != o.Name:
			below = append(below, name)
		case isJPEG(base) || f.isPhoto(o):
			f.listing[o.Name] = o
			all.add(input{path: o.Name, name: filepath.FromSlash(o.Name), found: true, jpeg: isJPEG(base)})
		default:
			all.others++
		}
		return true
	})
	if err != nil {
		f.fail(err)
		return false
	}
	if odd > 0 {
		f.result.Refused += int64(odd)
		f.note("%s in %s have names that are no paths: they are passed over", photos(odd), f.bucket)
	}
	all.dropPairs()
	if !f.give(all.photos, yield) {
		return false
	}
	for _, b := range below {
		if !f.objectFolder(ctx, b, yield) {
			return false
		}
	}
	return true
}

// isPhoto tells by name and size alone, for looking inside costs a request: a mosaic in a PNG
// or TIFF file, which needs --cfa, is told by its extension.
func (f *submission) isPhoto(o *s3.Object) bool {
	opt := &f.job.Raw
	switch ext := strings.ToLower(path.Ext(o.Name)); {
	case raw.NamedRaw(o.Name):
		return true
	case opt.Width > 0:
		return float64(o.Bytes) == 2*float64(opt.Width)*float64(opt.Height)
	default:
		return opt.CFA != nil && (ext == ".png" || ext == ".tif" || ext == ".tiff")
	}
}

// objectClass reads a photo's header for its sides.
func (f *submission) objectClass(t *farm.Task, opt raw.Options) int {
	from := f.bucket.Reader(context.Background(), &s3.Object{Name: t.Photo, Bytes: t.Bytes})
	p, err := raw.OpenReader(from, t.Bytes, t.Photo, opt)
	if err != nil {
		return 0
	}
	defer p.Close()
	m := p.Meta()
	return farm.SizeClass(m.Width, m.Height)
}
