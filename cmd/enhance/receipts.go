package main

import (
	"context"
	"os"
	"path/filepath"

	"enhance/internal/farm"
	"enhance/internal/farm/store"
	"enhance/internal/printable"
)

// receipts are what a farm has written about the pictures in a directory: of which photo and
// with which settings it made them.
type receipts struct {
	store *store.Dir
	dir   string
	order *farm.Order
}

// openReceipts opens those of the directory of -o for --skip-existing; nil if there are none.
func (o *order) openReceipts() (*receipts, error) {
	if !o.skipExisting || !isDir(o.output) {
		return nil, nil
	}
	s, err := store.LookInto(o.output)
	if s == nil || err != nil {
		return nil, err
	}
	settings, _, err := o.settingsOf()
	if err != nil {
		return nil, err
	}
	r := &receipts{store: s, dir: o.output}
	r.order, err = farm.NewOrder(settings, o.job.Output.Format.Extension(), false)
	return r, err
}

func (r *receipts) close() {
	if r != nil {
		r.store.Close()
	}
}

// knowsOf reports whether a picture that exists is the one that would be made, as far as
// is known: a picture without a receipt is taken for it by its name. One that is of another
// photo or of other settings is named; it is not skipped.
func (r *receipts) knowsOf(o *order, t *target) bool {
	if r == nil {
		return true
	}
	under, err := filepath.Rel(r.dir, t.out)
	if err != nil {
		return true
	}
	task, err := farm.NewTask(r.order.ID(), filepath.ToSlash(t.name), filepath.ToSlash(under))
	if err != nil {
		return true
	}
	info, err := os.Stat(t.path)
	if err != nil {
		return true
	}
	task.Bytes, task.Modified = info.Size(), info.ModTime().UnixNano()
	n, err := r.store.Named(context.Background(), task.Output)
	if err != nil || n == nil || n.Of(task, r.order) {
		return true
	}
	o.note("%s exists and is of another photo or of other settings, as its receipt says", printable.Text(t.out))
	return false
}
