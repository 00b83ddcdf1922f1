package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"enhance/internal/farm"
)

// step is called before every change of the file system; tests end the process there.
var step = func() {}

// Publish links the picture to its key, then the receipt. Neither replaces anything.
func (d *Dir) Publish(ctx context.Context, file string, r *farm.Receipt) (first bool, err error) {
	scratch := path.Join(makingDir, filepath.Base(file))
	defer d.root.Remove(scratch)
	place := placeOf(r.Key)
	step()
	if err := d.makeDir(path.Dir(place)); err != nil {
		return false, err
	}
	if err := d.flush(scratch); err != nil {
		return false, err
	}
	step()
	switch err := d.root.Link(scratch, place+r.Extension); {
	case errors.Is(err, fs.ErrExist):
		if err := d.sameAs(place+r.Extension, r); err != nil {
			return false, err
		}
	case err != nil:
		return false, d.explain(err)
	}
	if err := d.flush(path.Dir(place)); err != nil {
		return false, err
	}
	first, err = d.put(place+".json", r.Encode(), false)
	if err != nil || first {
		return first, err
	}
	have, err := d.Receipt(ctx, r.Key)
	switch {
	case err != nil:
		return false, err
	case have != nil && have.Picture != r.Picture:
		return false, &ConflictError{r.Key, have.Picture, r.Picture}
	}
	return false, nil
}

// Adopt is Publish of a file from elsewhere, which it copies.
func (d *Dir) Adopt(ctx context.Context, file string, r *farm.Receipt) (first bool, err error) {
	scratch, err := d.copyIn(file, r.Extension)
	if err != nil {
		return false, err
	}
	return d.Publish(ctx, scratch, r)
}

// Repair copies a file from elsewhere over a result whose bytes are no longer those of its
// receipt. Outputs that are links to the old one stay as they are until Name is told to replace
// them.
func (d *Dir) Repair(file string, r *farm.Receipt) error {
	scratch, err := d.copyIn(file, r.Extension)
	if err != nil {
		return err
	}
	place := placeOf(r.Key)
	if err := d.root.Rename(scratch, place+r.Extension); err != nil {
		return errors.Join(d.explain(err), d.root.Remove(scratch))
	}
	return d.flush(path.Dir(place))
}

// copyIn copies a file into the folder for pictures that are being made.
func (d *Dir) copyIn(file, extension string) (scratch string, err error) {
	from, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer from.Close()
	scratch = makingDir + "/" + unique() + extension
	to, err := d.root.OpenFile(scratch, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return "", d.explain(err)
	}
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Sync(), to.Close()); err != nil {
		return "", errors.Join(d.explain(err), d.root.Remove(scratch))
	}
	return scratch, nil
}

// Check holds a result's bytes against its receipt. The error is a *DamagedError if they are
// others.
func (d *Dir) Check(r *farm.Receipt) error {
	name := placeOf(r.Key) + r.Extension
	err := d.sameAs(name, r)
	if other := (*ConflictError)(nil); errors.As(err, &other) {
		return &DamagedError{filepath.Join(d.path, filepath.FromSlash(name)), other.Have}
	}
	return err
}

// sameAs holds a picture that another worker left against a receipt's.
func (d *Dir) sameAs(name string, r *farm.Receipt) error {
	f, err := d.root.Open(name)
	if err != nil {
		return d.explain(err)
	}
	defer f.Close()
	sum, _, err := SumOf(f)
	switch {
	case err != nil:
		return d.explain(err)
	case sum != r.Picture:
		return &ConflictError{r.Key, sum, r.Picture}
	}
	return nil
}

// SumOf is the SHA-256 of all that is read, in hexadecimal digits, and how many bytes that
// was.
func SumOf(from io.Reader) (sum string, n int64, err error) {
	h := sha256.New()
	n, err = io.Copy(h, from)
	return hex.EncodeToString(h.Sum(nil)), n, err
}

// put makes a small file that appears whole or not at all. If there is one of that name it
// is replaced, or stays and put reports false.
func (d *Dir) put(name string, data []byte, replace bool) (made bool, err error) {
	scratch := makingDir + "/" + unique() + ".json"
	step()
	f, err := d.root.OpenFile(scratch, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return false, d.explain(err)
	}
	defer d.root.Remove(scratch)
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return false, d.explain(err)
	}
	step()
	if replace {
		err = d.root.Rename(scratch, name)
	} else {
		err = d.root.Link(scratch, name)
	}
	switch {
	case !replace && errors.Is(err, fs.ErrExist):
		return false, nil
	case err != nil:
		return false, d.explain(err)
	}
	step()
	return true, d.flush(path.Dir(name))
}

// flush waits until a file or a folder is on the disk.
func (d *Dir) flush(name string) error {
	f, err := d.root.Open(name)
	if err != nil {
		return d.explain(err)
	}
	return d.explain(errors.Join(f.Sync(), f.Close()))
}

// makeDir makes a folder and those above it.
func (d *Dir) makeDir(name string) error { return d.explain(d.root.MkdirAll(name, 0o777)) }

// Name links an output to its result, then notes it.
func (d *Dir) Name(ctx context.Context, t *farm.Task, r *farm.Receipt, replace bool) error {
	for _, dir := range []string{path.Dir(t.Output), path.Dir(path.Join(namesDir, t.Output))} {
		if err := d.makeDir(dir); err != nil {
			return err
		}
	}
	step()
	err := d.root.Link(placeOf(r.Key)+r.Extension, t.Output)
	if errors.Is(err, fs.ErrExist) {
		err = d.rename(ctx, t, r, replace)
	}
	if err != nil {
		return d.explain(err)
	}
	if err := d.flush(path.Dir(t.Output)); err != nil {
		return err
	}
	step()
	_, err = d.put(path.Join(namesDir, t.Output)+".json", farm.NewNamed(t, r).Encode(), true)
	return err
}

// rename is Name where the name is taken: by this result, by one that the farm gave it
// before, or by a file that is none of the farm's.
func (d *Dir) rename(ctx context.Context, t *farm.Task, r *farm.Receipt, replace bool) error {
	have, err := d.root.Stat(t.Output)
	if err != nil {
		return err
	}
	want, err := d.root.Stat(placeOf(r.Key) + r.Extension)
	if err != nil {
		return err
	}
	if os.SameFile(have, want) {
		return nil
	}
	if !replace {
		if ours, err := d.ours(ctx, t.Output, have); err != nil || !ours {
			return errors.Join(err, &TakenError{filepath.Join(d.path, t.Output)})
		}
	}
	step()
	scratch := makingDir + "/" + unique() + r.Extension
	if err := d.root.Link(placeOf(r.Key)+r.Extension, scratch); err != nil {
		return err
	}
	defer d.root.Remove(scratch)
	step()
	return d.root.Rename(scratch, t.Output)
}

// ours reports whether a file is the result that the record of its name says: then the
// farm made it and nobody has changed it by replacing it.
func (d *Dir) ours(ctx context.Context, output string, have fs.FileInfo) (bool, error) {
	n, err := d.Named(ctx, output)
	if err != nil || n == nil {
		return false, err
	}
	old, err := d.Receipt(ctx, n.Key)
	if err != nil || old == nil {
		return false, err
	}
	info, err := d.root.Stat(placeOf(old.Key) + old.Extension)
	if err != nil {
		return false, err
	}
	return os.SameFile(have, info), nil
}

// Named reads the record of an output that is there.
func (d *Dir) Named(_ context.Context, output string) (*farm.Named, error) {
	if err := farm.CheckName(output); err != nil {
		return nil, err
	}
	if _, err := d.root.Stat(output); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, d.explain(err)
	}
	data, err := d.root.ReadFile(path.Join(namesDir, output) + ".json")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, d.explain(err)
	}
	n, err := farm.ParseNamed(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: remove it, and the photo is developed again", filepath.Join(d.path, namesDir, output+".json"), err)
	}
	return n, nil
}
