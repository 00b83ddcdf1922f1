package tune

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"enhance/internal/atomicfile"
	"enhance/internal/regularfile"
)

// Store is the file of one device's table. The zero value is that of a disabled
// cache: it holds nothing and keeps nothing.
type Store struct {
	device Device
	path   string
}

// ErrNoCache says that there is no place to keep a table.
var ErrNoCache = errors.New("tuning results cannot be kept: there is no cache folder")

// In is the store of device d in folder dir; "" is none.
func In(dir string, d Device) Store {
	s := Store{device: d}
	if dir != "" {
		id := sha256.Sum256([]byte(strings.Join(d.fields(), "\t")))
		s.path = filepath.Join(dir, hex.EncodeToString(id[:8])+".tune")
	}
	return s
}

// Path is the file's name, "" if there is no cache.
func (s Store) Path() string { return s.path }

// Load reads the table. There always is one, empty if the file is missing or
// not to be used; dropped then says why, "" if it merely is not there.
func (s Store) Load() (t *Table, dropped string) {
	if s.path == "" {
		return New(s.device), ""
	}
	data, err := regularfile.Read(s.path, maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return New(s.device), ""
	case err != nil:
		return New(s.device), err.Error()
	}
	t, err = Parse(data)
	if err != nil {
		return New(s.device), fmt.Sprintf("%s: %v", s.path, err)
	}
	if got, want := strings.Join(t.Device.fields(), ", "), strings.Join(s.device.fields(), ", "); got != want {
		return New(s.device), fmt.Sprintf("%s is of %s, not of %s", s.path, got, want)
	}
	return t, ""
}

// Lock makes other processes, and other calls in this one, wait until release is
// called or the process ends; waiting, if set, is called before a wait. Readers do
// not wait: they see the file as it was before or after.
func (s Store) Lock(ctx context.Context, waiting func()) (release func(), err error) {
	if s.path == "" {
		return nil, ErrNoCache
	}
	if err := os.MkdirAll(filepath.Dir(s.path), 0o755); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrNoCache, err)
	}
	release, err = lock(ctx, s.path+".lock", waiting)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrNoCache, err)
	}
	return release, nil
}

// Save replaces the file. The caller holds the lock, and has read the table under
// it: what others found must not be lost.
func (s Store) Save(t *Table) error {
	if s.path == "" {
		return ErrNoCache
	}
	f, err := atomicfile.Create(s.path, atomicfile.Options{Overwrite: true})
	if err != nil {
		return err
	}
	defer f.Abort() // nothing after Commit
	if _, err := f.Write(t.Format()); err != nil {
		return err
	}
	return f.Commit()
}
