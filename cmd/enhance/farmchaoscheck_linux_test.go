package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"enhance/internal/farm"
	"enhance/internal/farm/queue"
	"enhance/internal/farm/store"
)

// receipts are those of all results.
func (c *chaos) receipts() map[farm.Key]*farm.Receipt {
	d, err := store.OpenDir(c.out)
	if err != nil {
		c.t.Fatal(err)
	}
	defer d.Close()
	all := map[farm.Key]*farm.Receipt{}
	damaged, err := d.Receipts(context.Background(), func(r *farm.Receipt) bool {
		all[r.Key] = r
		path, _, err := d.Fetch(context.Background(), r)
		if err == nil {
			var f *farm.File
			if f, err = fileOf(path); err == nil && f.SHA256 != r.Picture {
				err = fmt.Errorf("%s has other bytes than its receipt says", path)
			}
		}
		if err != nil {
			c.t.Error(err)
		}
		return true
	})
	if err != nil || damaged > 0 {
		c.t.Errorf("%d receipts are damaged, %v", damaged, err)
	}
	return all
}

// check holds the results against the photos.
func (c *chaos) check(when string) {
	sums := map[[32]byte]bool{}
	err := filepath.WalkDir(c.photos, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.Contains(path, poison) || strings.Contains(path, "damaged") {
			return err
		}
		data, err := os.ReadFile(path)
		sums[sha256.Sum256(data)] = true
		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}
	have := c.outputs()
	for name := range c.want {
		if !have[name] {
			c.t.Errorf("%s: %s is missing", when, name)
		}
	}
	for name := range have {
		if !c.want[name] {
			c.t.Errorf("%s: %s should not be there", when, name)
		}
	}
	if got := len(c.receipts()); got != len(sums) {
		c.t.Errorf("%s: %d results of %d different photos", when, got, len(sums))
	}
	dead := c.checkDead(when)
	c.log("%s: %d outputs of %d results, %d photos given up and named; %d workers were killed", when, len(have), len(sums), dead, c.kills)
}

// outputs are the files that are no record of the farm.
func (c *chaos) outputs() map[string]bool {
	have := map[string]bool{}
	err := filepath.WalkDir(c.out, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.Name() == farm.Folder {
			return fs.SkipDir
		}
		if !e.IsDir() {
			name, _ := filepath.Rel(c.out, path)
			have[name] = true
		}
		return nil
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return have
}

// checkDead wants the photos that kill or cannot be read given up with their reasons, and no others. It counts them.
func (c *chaos) checkDead(when string) int {
	q := c.client()
	defer q.Close()
	dead := map[string]farm.Failure{}
	if err := q.DeadOf(c.t.Context(), "", func(_ uint64, d *queue.Dead) bool { dead[d.Task.Photo] = d.Failure; return true }); err != nil {
		c.t.Fatal(err)
	}
	for photo, f := range dead {
		switch {
		case strings.Contains(photo, poison) && f.Kind == farm.Crashed && strings.Contains(f.Log, "about to open "+photo):
		case strings.Contains(photo, "damaged") && f.Kind == farm.Hopeless:
		default:
			text, _ := json.Marshal(f)
			c.t.Errorf("%s: %s is given up: %s", when, photo, text)
		}
	}
	if len(dead) != c.poisoned+c.unreadable {
		c.t.Errorf("%s: %d photos are given up, want %d", when, len(dead), c.poisoned+c.unreadable)
	}
	return len(dead)
}

// removeResults removes every nth result with its outputs, and reports how many.
func (c *chaos) removeResults(n int) (removed int) {
	gone := map[farm.Key]bool{}
	i := 0
	for key, r := range c.receipts() {
		if i++; i%n == 0 {
			gone[key] = true
			base := filepath.Join(c.out, farm.Folder, "results", string(key[:2]), string(key))
			if err := errors.Join(os.Remove(base+".json"), os.Remove(base+r.Extension)); err != nil {
				c.t.Fatal(err)
			}
		}
	}
	d, err := store.OpenDir(c.out)
	if err != nil {
		c.t.Fatal(err)
	}
	defer d.Close()
	for name := range c.want {
		if n, err := d.Named(context.Background(), name); err != nil {
			c.t.Fatal(err)
		} else if n != nil && gone[n.Key] {
			os.Remove(filepath.Join(c.out, name))
		}
	}
	return len(gone)
}
