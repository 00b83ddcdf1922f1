// Package store keeps the results of a farm. [Store] is what workers know of it; [Dir] is
// one in a folder that machines share, [Objects] one in the object store of JetStream, [S3]
// one in an S3-compatible store.
//
// A result is published once: the picture first, whole and flushed to the disk, under a
// name made of its key and never over another; then its receipt in the same way. A reader
// takes a result for there if its receipt is. Whatever instruction a worker dies at, what
// it leaves is nothing, or a picture without receipt that the next worker finds to be the
// same bytes, or the whole.
package store

import (
	"context"
	"errors"
	"fmt"

	"enhance/internal/farm"
)

// Store keeps results by key, and gives them names.
type Store interface {
	// Receipt is that of a result, nil if there is none.
	Receipt(ctx context.Context, key farm.Key) (*farm.Receipt, error)
	// Scratch is the path of a file that is not there yet, for the picture that Publish takes.
	Scratch(extension string) (string, error)
	// Publish makes the file at path, whose name goes, the result of r.Key, and reports
	// whether it was the first. If another worker was, its result stays and must
	// have the same bytes: otherwise the error is a *ConflictError.
	Publish(ctx context.Context, path string, r *farm.Receipt) (first bool, err error)
	// Name gives a task's output its result. A file of that name that the farm did not make is
	// replaced if the order says so; otherwise the error is a *TakenError.
	Name(ctx context.Context, t *farm.Task, r *farm.Receipt, replace bool) error
	// Named is the record of an output's name, nil if there is none or the output is gone.
	Named(ctx context.Context, output string) (*farm.Named, error)
	// Receipts calls each for the receipts of all results, in the order of keys, until it
	// returns false. Damaged ones are counted.
	Receipts(ctx context.Context, each func(*farm.Receipt) bool) (damaged int, err error)
	// Fetch is the path of a file with the result's bytes, and what to do after use.
	Fetch(ctx context.Context, r *farm.Receipt) (path string, done func(), err error)
}

// ErrFull says that the store has no room.
var ErrFull = errors.New("the store of results has no room")

// ErrUnavailable says that a store cannot be reached, or refuses this worker. No photo is
// to blame.
var ErrUnavailable = errors.New("the store cannot be used")

// DamagedError says that something has other bytes than its name or its receipt says.
type DamagedError struct{ Place, SHA256 string }

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s has the SHA-256 %.12s, which is not that of its receipt: remove it and the receipt, and it is made again", e.Place, e.SHA256)
}

// ConflictError says that two workers of one device class made different bytes.
type ConflictError struct {
	Key          farm.Key
	Have, Refuse string // SHA-256 of the result that stays and of the other
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("result %s is there with other bytes (%.12s, not %.12s): devices of one class must make the same; farm verify says which is wrong", e.Key, e.Have, e.Refuse)
}

// TakenError says that a name belongs to a file that the farm did not make.
type TakenError struct{ Output string }

func (e *TakenError) Error() string {
	return fmt.Sprintf("%s exists already and is not this result: choose another output directory, or submit with -y to replace it", e.Output)
}
