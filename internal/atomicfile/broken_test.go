package atomicfile

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// brokenDisk fails one operation and passes the others to a real file.
type brokenDisk struct {
	backing
	room               int // bytes until writes fail; negative for ever
	writeErr, syncErr  error
	closeErr, chmodErr error
	wrote              bytes.Buffer
}

func (d *brokenDisk) Write(p []byte) (int, error) {
	if d.room >= 0 && d.wrote.Len()+len(p) > d.room {
		n, _ := d.wrote.Write(p[:d.room-d.wrote.Len()])
		return n, d.writeErr
	}
	d.wrote.Write(p)
	return d.backing.Write(p)
}

func (d *brokenDisk) Sync() error {
	if d.syncErr != nil {
		return d.syncErr
	}
	return d.backing.Sync()
}

func (d *brokenDisk) Chmod(m fs.FileMode) error {
	if d.chmodErr != nil {
		return d.chmodErr
	}
	return d.backing.Chmod(m)
}

func (d *brokenDisk) Close() error {
	if err := d.backing.Close(); err != nil {
		return err
	}
	return d.closeErr
}

func TestBrokenDisk(t *testing.T) {
	boom := errors.New("boom")
	tests := []struct {
		name    string
		disk    brokenDisk
		inWrite bool
	}{
		{"Write", brokenDisk{room: 3, writeErr: boom}, true},
		{"Sync", brokenDisk{room: -1, syncErr: boom}, false},
		{"Close", brokenDisk{room: -1, closeErr: boom}, false},
		{"Chmod", brokenDisk{room: -1, chmodErr: boom}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "out.png")
			put(t, path, "old", 0o644)
			if tt.disk.closeErr != nil { // an unnamed file has its name before it is closed
				newUnnamed = func(string) *os.File { return nil }
				defer func() { newUnnamed = openUnnamed }()
			}
			f := create(t, path, Options{Overwrite: true})
			tt.disk.backing = f.out
			f.out = &tt.disk
			_, err := io.WriteString(f, "12345")
			if (err != nil) != tt.inWrite {
				t.Fatalf("Write: %v", err)
			}
			if err == nil {
				err = f.Commit()
			}
			if !errors.Is(err, boom) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v, want boom and the path", err)
			}
			if got := names(t, dir); got != "out.png" {
				t.Errorf("left behind: %q", got)
			}
			wantContents(t, path, "old")
			if again := f.Commit(); !errors.Is(again, boom) {
				t.Errorf("Commit after the failure: %v, want the same failure", again)
			}
			if err := f.Abort(); err != nil {
				t.Errorf("Abort after the failure: %v", err)
			}
		})
	}
}
