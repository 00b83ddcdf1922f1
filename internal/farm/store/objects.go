package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nats-io/nats.go/jetstream"

	"enhance/internal/farm"
)

// The buckets of a store of objects.
const (
	PhotosBucket   = "farm_photos"   // objects: photos by their SHA-256
	ResultsBucket  = "farm_results"  // objects: pictures by their SHA-256
	ReceiptsBucket = "farm_receipts" // receipts by key; whoever creates one is first
	NamesBucket    = "farm_names"    // records of outputs by the hash of their names
)

// Objects is a store in the object store of JetStream, for machines that share no folder.
// A picture is an object named by its own hash, so that writing it twice is harmless; what
// is published once is its receipt, by a write that fails if there is one.
type Objects struct {
	dir             string // for files on their way
	results         jetstream.ObjectStore
	receipts, names jetstream.KeyValue
}

// named is the record of an output in a store of objects, which has no other place for
// its name.
type named struct {
	Output string      `json:"output"`
	Named  *farm.Named `json:"named"`
}

// MakeObjects makes the buckets.
func MakeObjects(ctx context.Context, js jetstream.JetStream) error {
	for _, b := range []string{PhotosBucket, ResultsBucket} {
		if _, err := js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: b}); err != nil {
			return err
		}
	}
	for _, b := range []string{ReceiptsBucket, NamesBucket} {
		if _, err := js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: b}); err != nil {
			return err
		}
	}
	return nil
}

// OpenObjects opens the store; dir is a folder for files on their way.
func OpenObjects(ctx context.Context, js jetstream.JetStream, dir string) (o *Objects, err error) {
	o = &Objects{dir: dir}
	if o.results, err = js.ObjectStore(ctx, ResultsBucket); err == nil {
		if o.receipts, err = js.KeyValue(ctx, ReceiptsBucket); err == nil {
			o.names, err = js.KeyValue(ctx, NamesBucket)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the farm's store of objects cannot be opened: %w", err)
	}
	return o, nil
}

// explainObjects says ErrFull where the server has no room.
func explainObjects(err error) error {
	var api *jetstream.APIError
	if errors.As(err, &api) && (api.ErrorCode == 10023 || api.ErrorCode == 10047 || api.ErrorCode == 10077) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return Explain(err)
}

// Explain says ErrFull where a disk is.
func Explain(err error) error {
	if full(err) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}

// Scratch is a new name in the worker's own folder.
func (o *Objects) Scratch(extension string) (string, error) {
	return filepath.Join(o.dir, unique()+extension), nil
}

// Receipt reads a result's receipt.
func (o *Objects) Receipt(ctx context.Context, key farm.Key) (*farm.Receipt, error) {
	e, err := o.receipts.Get(ctx, string(key))
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	r, err := farm.ParseReceipt(e.Value())
	if err == nil && r.Key != key {
		err = &farm.FormatError{What: "receipt", Problem: "it is another result's"}
	}
	return r, err
}

// Publish puts the picture, then creates the receipt.
func (o *Objects) Publish(ctx context.Context, path string, r *farm.Receipt) (first bool, err error) {
	defer os.Remove(path)
	if err := PutObject(ctx, o.results, path, r.Picture); err != nil {
		return false, explainObjects(err)
	}
	_, err = o.receipts.Create(ctx, string(r.Key), r.Encode())
	if !errors.Is(err, jetstream.ErrKeyExists) {
		return err == nil, explainObjects(err)
	}
	have, err := o.Receipt(ctx, r.Key)
	if err == nil && have != nil && have.Picture != r.Picture {
		err = &ConflictError{r.Key, have.Picture, r.Picture}
	}
	return false, err
}

// PutObject puts a file under the hash of its bytes, unless it is there.
func PutObject(ctx context.Context, objects jetstream.ObjectStore, path, sum string) error {
	if _, err := objects.GetInfo(ctx, sum); err == nil {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = objects.Put(ctx, jetstream.ObjectMeta{Name: sum}, f)
	return err
}

// GetObject writes the object of a hash to a new file, and holds its bytes against the hash.
func GetObject(ctx context.Context, objects jetstream.ObjectStore, sum, path string) error {
	from, err := objects.Get(ctx, sum)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return fmt.Errorf("object %.12s is not in the store: %w", sum, fs.ErrNotExist)
	}
	if err != nil {
		return err
	}
	defer from.Close()
	return WriteChecked(path, sum, func(to io.Writer) error {
		_, err := io.Copy(to, from)
		return err
	})
}

// WriteChecked makes a new file of what fill writes, and holds its bytes against the hash.
func WriteChecked(path, sum string, fill func(io.Writer) error) error {
	to, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	have := ""
	if err = fill(to); err == nil {
		if _, err = to.Seek(0, 0); err == nil {
			have, _, err = SumOf(to)
		}
	}
	if err = errors.Join(err, to.Close()); err == nil && have != sum {
		err = &DamagedError{fmt.Sprintf("object %.12s", sum), have}
	}
	if err != nil {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// Name notes an output's result. Every name in the store is the farm's own.
func (o *Objects) Name(ctx context.Context, t *farm.Task, r *farm.Receipt, _ bool) error {
	data, err := json.Marshal(named{t.Output, farm.NewNamed(t, r)})
	if err == nil {
		_, err = o.names.Put(ctx, farm.Hash(t.Output), data)
	}
	return explainObjects(err)
}

// Named reads the record of an output.
func (o *Objects) Named(ctx context.Context, output string) (*farm.Named, error) {
	e, err := o.names.Get(ctx, farm.Hash(output))
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	_, n, err := parseNamed(e.Value())
	return n, err
}

func parseNamed(data []byte) (string, *farm.Named, error) {
	var both struct {
		Output string          `json:"output"`
		Named  json.RawMessage `json:"named"`
	}
	if err := json.Unmarshal(data, &both); err != nil {
		return "", nil, &farm.FormatError{What: "record of a name", Problem: err.Error()}
	}
	if err := farm.CheckName(both.Output); err != nil {
		return "", nil, &farm.FormatError{What: "record of a name", Problem: err.Error()}
	}
	n, err := farm.ParseNamed(both.Named)
	return both.Output, n, err
}

// Outputs calls each for all outputs, in no order, until it returns false. Damaged records
// are counted.
func (o *Objects) Outputs(ctx context.Context, each func(output string, n *farm.Named) bool) (damaged int, err error) {
	return everyValue(ctx, o.names, func(data []byte) (more bool, err error) {
		output, n, err := parseNamed(data)
		if err != nil {
			return true, err
		}
		return each(output, n), nil
	})
}

// Receipts reads them in the order in which they were made.
func (o *Objects) Receipts(ctx context.Context, each func(*farm.Receipt) bool) (damaged int, err error) {
	return everyValue(ctx, o.receipts, func(data []byte) (more bool, err error) {
		r, err := farm.ParseReceipt(data)
		if err != nil {
			return true, err
		}
		return each(r), nil
	})
}

// everyValue reads all values of a bucket. take's errors are counted.
func everyValue(ctx context.Context, kv jetstream.KeyValue, take func([]byte) (more bool, err error)) (damaged int, err error) {
	watch, err := kv.WatchAll(ctx, jetstream.IgnoreDeletes())
	if err != nil {
		return 0, err
	}
	defer watch.Stop()
	for {
		select {
		case e := <-watch.Updates():
			if e == nil {
				return damaged, nil
			}
			more, err := take(e.Value())
			if err != nil {
				damaged++
			} else if !more {
				return damaged, nil
			}
		case <-ctx.Done():
			return damaged, ctx.Err()
		}
	}
}

// Fetch copies a result into the worker's own folder.
func (o *Objects) Fetch(ctx context.Context, r *farm.Receipt) (string, func(), error) {
	path, err := o.Scratch(r.Extension)
	if err == nil {
		err = GetObject(ctx, o.results, r.Picture, path)
	}
	return path, func() { os.Remove(path) }, err
}
