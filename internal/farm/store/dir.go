package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"enhance/internal/farm"
)

// Dir is a store in a folder, which machines may share. Outputs are hard links to results,
// so that a photo under several names takes the room of one.
//
//	a/b/photo.png                         an output
//	.enhance/results/1f/1f03...e2.png     the result that it is
//	.enhance/results/1f/1f03...e2.json    the result's receipt
//	.enhance/names/a/b/photo.png.json     which result the output has, and of what
//	.enhance/making/                      pictures that are being made
type Dir struct {
	path string
	root *os.Root
}

const (
	resultsDir = farm.Folder + "/results"
	namesDir   = farm.Folder + "/names"
	makingDir  = farm.Folder + "/making"
)

// OpenDir opens the store in a folder, which must be there, and makes its own folders. It
// refuses a file system without hard links.
func OpenDir(dir string) (*Dir, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	d := &Dir{dir, root}
	for _, name := range []string{resultsDir, namesDir, makingDir} {
		if err := root.MkdirAll(name, 0o777); err != nil {
			return nil, errors.Join(d.explain(err), root.Close())
		}
	}
	if err := d.probe(); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return d, nil
}

// LookInto opens the store in a folder to read it; nil if it has none.
func LookInto(dir string) (*Dir, error) {
	if info, err := os.Stat(filepath.Join(dir, farm.Folder)); err != nil || !info.IsDir() {
		return nil, nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Dir{dir, root}, nil
}

// Close lets go of the folder.
func (d *Dir) Close() error { return d.root.Close() }

// probe makes a link and removes it.
func (d *Dir) probe() error {
	a, b := makingDir+"/"+unique()+".probe", makingDir+"/"+unique()+".probe"
	if err := d.root.WriteFile(a, []byte("probe\n"), 0o666); err != nil {
		return d.explain(err)
	}
	defer d.root.Remove(a)
	defer d.root.Remove(b)
	if err := d.root.Link(a, b); err != nil {
		return &fs.PathError{Op: "link in", Path: d.path, Err: fmt.Errorf("the file system has no hard links, by which results are published once (%w): choose another", cause(err))}
	}
	return nil
}

// explain names the folder in an error, and says ErrFull where the disk is.
func (d *Dir) explain(err error) error {
	if err == nil {
		return nil
	}
	if full(err) {
		return fmt.Errorf("%w: %s: %w", ErrFull, d.path, cause(err))
	}
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case farm.Escapes(err):
		return &farm.Failure{Kind: farm.Hopeless, Class: farm.IO,
			Reason: fmt.Sprintf("a link in the output's path leads out of %s, which a worker does not leave: remove the link", d.path)}
	case errors.As(err, &p):
		return &fs.PathError{Op: p.Op, Path: filepath.Join(d.path, p.Path), Err: p.Err}
	case errors.As(err, &l):
		return &fs.PathError{Op: l.Op, Path: filepath.Join(d.path, l.New), Err: l.Err}
	}
	return err
}

// full reports whether an error is for want of room.
func full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

func cause(err error) error {
	var e syscall.Errno
	if errors.As(err, &e) {
		return e
	}
	return err
}

// unique is a name that nobody else has.
func unique() string { return strings.ToLower(rand.Text()) }

// placeOf is where a result lies, without extension.
func placeOf(key farm.Key) string { return path.Join(resultsDir, string(key[:2]), string(key)) }

// Scratch is a new name in the folder for pictures that are being made.
func (d *Dir) Scratch(extension string) (string, error) {
	return filepath.Join(d.path, filepath.FromSlash(makingDir), unique()+extension), nil
}

// Receipt reads a result's receipt.
func (d *Dir) Receipt(_ context.Context, key farm.Key) (*farm.Receipt, error) {
	data, err := d.root.ReadFile(placeOf(key) + ".json")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, d.explain(err)
	}
	r, err := farm.ParseReceipt(data)
	if err == nil && r.Key != key {
		err = &farm.FormatError{What: "receipt", Problem: "it is another result's"}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: remove it, and the result is made again", filepath.Join(d.path, placeOf(key)+".json"), err)
	}
	return r, nil
}

// Receipts reads them folder by folder.
func (d *Dir) Receipts(ctx context.Context, each func(*farm.Receipt) bool) (damaged int, err error) {
	err = fs.WalkDir(d.root.FS(), resultsDir, func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case e.IsDir() || path.Ext(name) != ".json":
			return nil
		}
		r, err := d.Receipt(ctx, farm.Key(strings.TrimSuffix(path.Base(name), ".json")))
		if err != nil || r == nil {
			damaged++
			return nil
		}
		if !each(r) {
			return fs.SkipAll
		}
		return nil
	})
	return damaged, d.explain(err)
}

// Fetch is the result's own file, which must not be written to.
func (d *Dir) Fetch(_ context.Context, r *farm.Receipt) (string, func(), error) {
	name := placeOf(r.Key) + r.Extension
	info, err := d.root.Stat(name)
	if err == nil && info.Size() != r.Bytes {
		err = &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("it has %d bytes and its receipt says %d", info.Size(), r.Bytes)}
	}
	return filepath.Join(d.path, filepath.FromSlash(name)), func() {}, d.explain(err)
}

// oldScratch is how old a file must be, by the clock of the file system, to be taken for
// one that a dead worker left.
const oldScratch = 24 * time.Hour

// Clean removes what dead workers left of pictures that they were making, and reports how
// many there were. Both times that it compares are the file system's.
func (d *Dir) Clean() (removed int, err error) {
	now := makingDir + "/" + unique() + ".now"
	if err := d.root.WriteFile(now, nil, 0o666); err != nil {
		return 0, d.explain(err)
	}
	defer d.root.Remove(now)
	mark, err := d.root.Stat(now)
	if err != nil {
		return 0, d.explain(err)
	}
	entries, err := fs.ReadDir(d.root.FS(), makingDir)
	if err != nil {
		return 0, d.explain(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || mark.ModTime().Sub(info.ModTime()) < oldScratch {
			continue
		}
		if d.root.Remove(makingDir+"/"+e.Name()) == nil {
			removed++
		}
	}
	return removed, nil
}
