package work

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"enhance/internal/farm"
	"enhance/internal/farm/s3"
	"enhance/internal/farm/s3test"
	"enhance/internal/farm/store"
)

// TestFolderLinks: a link that leads out of the folder is refused for good and not tried
// again; one within it is followed.
func TestFolderLinks(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(outside, "a.dng"), []byte("x"), 0o600), os.WriteFile(filepath.Join(dir, "b.dng"), []byte("x"), 0o600), os.Mkdir(filepath.Join(dir, "sub"), 0o700)); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"out.dng": filepath.Join(outside, "a.dng"), "up.dng": "../" + filepath.Base(outside) + "/a.dng", "far": outside, "sub/in.dng": "../b.dng"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	f, err := OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"out.dng", "up.dng", "far/a.dng"} {
		_, err := f.Fetch(t.Context(), &farm.Task{Photo: name})
		if failure := (*farm.Failure)(nil); !errors.As(photoFailure(err), &failure) || failure.Kind != farm.Hopeless {
			t.Errorf("%s: %v", name, err)
		}
	}
	if p, err := f.Fetch(t.Context(), &farm.Task{Photo: "sub/in.dng"}); err != nil || p.SHA256 == "" {
		t.Errorf("a link within the folder: %v", err)
	}
}

// TestS3Photos: photos by their names, and those that a submitter sent.
func TestS3Photos(t *testing.T) {
	server := s3test.Start(t)
	server.Put("in/a/p.dng", []byte("photo"))
	b, err := s3.Open(t.Context(), "s3://bucket/in", s3.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	photos := NewS3(b, dir)
	if err := photos.Check(t.Context()); err != nil {
		t.Error(err)
	}
	file := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(file, []byte("sent"), 0o600); err != nil {
		t.Fatal(err)
	}
	var sum string
	for range 2 {
		if sum, err = photos.PutPhoto(t.Context(), file); err != nil {
			t.Fatal(err)
		}
	}
	for want, task := range map[string]*farm.Task{"photo": {Photo: "a/p.dng"}, "sent": {Photo: "b/x.dng", Content: sum}} {
		p, err := photos.Fetch(t.Context(), task)
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(p.Root, p.Name))
		have, _, _ := store.SumOf(bytes.NewReader(data))
		if err != nil || string(data) != want || have != p.SHA256 || filepath.Ext(p.Name) != ".dng" {
			t.Errorf("%q as %s, %v, want %q", data, p.Name, err, want)
		}
		p.Done()
	}
	server.Put("in/"+sentName(sum), []byte("other"))
	for _, task := range []*farm.Task{{Photo: "none.dng"}, {Photo: "b/x.dng", Content: sum}} {
		_, err := photos.Fetch(t.Context(), task)
		if failure := (*farm.Failure)(nil); !errors.As(photoFailure(err), &failure) || failure.Kind != farm.Hopeless {
			t.Errorf("%+v: %v", task, err)
		}
	}
	server.Close()
	if _, err := photos.Fetch(t.Context(), &farm.Task{Photo: "a/p.dng"}); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a store that is away: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

// failing is photos that cannot be had at first.
type failing struct {
	Photos
	errs []error
}

func (p *failing) Fetch(ctx context.Context, t *farm.Task) (*Photo, error) {
	if len(p.errs) > 0 {
		err := p.errs[0]
		p.errs = p.errs[1:]
		return nil, err
	}
	return p.Photos.Fetch(ctx, t)
}

// TestStandStill: an object store that is away and a full disk of the worker are no attempts,
// of which two would give the photo up.
func TestStandStill(t *testing.T) {
	t.Parallel()
	f := newFarm(t, "a")
	f.worker("w", &fakeMaker{}, func(o *Options) {
		o.Photos = &failing{o.Photos, []error{fmt.Errorf("%w: no answer", store.ErrUnavailable), &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}}}
	})()
	f.check(0, "a")
}
