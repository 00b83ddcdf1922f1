package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"enhance/internal/farm"
	"enhance/internal/farm/s3"
)

// S3 is a store in an S3-compatible object store, for machines that share no folder.
// Pictures are objects named by their own hash, so that writing one twice is harmless;
// what is published once is the receipt, by a write that the store refuses if there is one
// (If-None-Match). An output is a copy that the store makes, for it has no links.
//
//	a/b/photo.png                          an output
//	.enhance/pictures/07/0792...ab.png     a picture, by the SHA-256 of its bytes
//	.enhance/results/1f/1f03...e2.json     the receipt of a result
//	.enhance/names/a/b/photo.png.json      which result the output has, and of what
type S3 struct {
	bucket *s3.Bucket
	dir    string // for files on their way
}

const picturesDir = farm.Folder + "/pictures"

// maxName bounds the name of an output: object stores allow 1024 bytes, and the record of
// the name and the prefix need some.
const maxName = 1024 - 512 - len("/"+namesDir+"/"+".json")

// OpenS3 makes a store of a folder of an object store; dir is a folder for files on their
// way. It makes no request.
func OpenS3(b *s3.Bucket, dir string) *S3 { return &S3{b, dir} }

// Probe makes sure that results can be published once.
func (s *S3) Probe(ctx context.Context) error {
	return s.bucket.Probe(ctx, farm.Folder+"/conditional-write-probe")
}

// ExplainS3 says ErrFull where a store has no room, and ErrUnavailable where it or the
// credentials are at fault and not the object.
func ExplainS3(err error) error {
	var e *s3.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Kind {
	case s3.Full:
		return fmt.Errorf("%w: %w", ErrFull, err)
	case s3.Unreachable, s3.NoBucket, s3.Denied, s3.Unknown:
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}

// Scratch is a new name in the worker's own folder.
func (s *S3) Scratch(extension string) (string, error) {
	return filepath.Join(s.dir, unique()+extension), nil
}

func pictureName(r *farm.Receipt) string {
	return path.Join(picturesDir, r.Picture[:2], r.Picture+r.Extension)
}

func recordName(output string) string { return path.Join(namesDir, output) + ".json" }

// maxRecord bounds receipts and records of names, in bytes.
const maxRecord = 128 << 10

// Receipt reads a result's receipt.
func (s *S3) Receipt(ctx context.Context, key farm.Key) (*farm.Receipt, error) {
	name := placeOf(key) + ".json"
	data, err := s.bucket.Text(ctx, name, maxRecord)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, ExplainS3(err)
	}
	r, err := farm.ParseReceipt(data)
	if err == nil && r.Key != key {
		err = &farm.FormatError{What: "receipt", Problem: "it is another result's"}
	}
	if err != nil {
		return nil, fmt.Errorf("%s/%s: %w: remove it, and the result is made again", s.bucket, name, err)
	}
	return r, nil
}

// Publish writes the picture, then creates the receipt.
func (s *S3) Publish(ctx context.Context, file string, r *farm.Receipt) (first bool, err error) {
	defer os.Remove(file)
	f, err := os.Open(file)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if _, err := s.bucket.Create(ctx, pictureName(r), f, r.Bytes, r.Picture); err != nil {
		return false, ExplainS3(err)
	}
	first, err = s.bucket.CreateText(ctx, placeOf(r.Key)+".json", r.Encode())
	if err != nil || first {
		return first, ExplainS3(err)
	}
	have, err := s.Receipt(ctx, r.Key)
	switch {
	case err != nil || have == nil:
		return false, err
	case have.Picture != r.Picture:
		return false, &ConflictError{r.Key, have.Picture, r.Picture}
	}
	return false, nil // or its own, if the answer to the first try was lost
}

// Name copies the result to the output's name, then notes it. A file that somebody else
// writes there in the moment between the look and the copy is replaced: stores that make
// copies on a condition are few.
func (s *S3) Name(ctx context.Context, t *farm.Task, r *farm.Receipt, replace bool) error {
	if len(t.Output) > maxName {
		return &farm.Failure{Kind: farm.Hopeless, Class: farm.IO,
			Reason: fmt.Sprintf("the output's name has %d bytes, more than the %d that a store of objects has room for", len(t.Output),
				maxName)}
	}
	have, err := s.bucket.Stat(ctx, t.Output)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		have = nil
	case err != nil:
		return ExplainS3(err)
	case have.SHA256 != r.Picture && !replace:
		if ours, err := s.ours(ctx, t.Output, have); err != nil || !ours {
			return errors.Join(err, &TakenError{s.bucket.String() + "/" + t.Output})
		}
	}
	if have == nil || have.SHA256 != r.Picture || have.Bytes != r.Bytes {
		if err := s.bucket.Copy(ctx, pictureName(r), t.Output, r.Bytes); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the picture of result %s is gone: remove its receipt, %s/%s.json, and it is made again", r.Key, s.bucket, placeOf(r.Key))
		} else if err != nil {
			return ExplainS3(err)
		}
	}
	data, err := json.Marshal(named{t.Output, farm.NewNamed(t, r)})
	if err == nil {
		err = s.bucket.Put(ctx, recordName(t.Output), data)
	}
	return ExplainS3(err)
}

// ours reports whether an output is the picture that the record of its name says.
func (s *S3) ours(ctx context.Context, output string, have *s3.Object) (bool, error) {
	n, err := s.record(ctx, output)
	if err != nil || n == nil {
		return false, err
	}
	old, err := s.Receipt(ctx, n.Key)
	return old != nil && old.Picture == have.SHA256, err
}

// Named reads the record of an output that is there.
func (s *S3) Named(ctx context.Context, output string) (*farm.Named, error) {
	if err := farm.CheckName(output); err != nil {
		return nil, err
	}
	n, err := s.record(ctx, output)
	if err != nil || n == nil {
		return nil, err
	}
	if _, err := s.bucket.Stat(ctx, output); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, ExplainS3(err)
	}
	return n, nil
}

// record reads the record of a name, nil if there is none.
func (s *S3) record(ctx context.Context, output string) (*farm.Named, error) {
	data, err := s.bucket.Text(ctx, recordName(output), maxRecord)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, ExplainS3(err)
	}
	of, n, err := parseNamed(data)
	if err == nil && of != output {
		err = &farm.FormatError{What: "record of a name", Problem: "it is another output's"}
	}
	if err != nil {
		return nil, fmt.Errorf("%s/%s: %w: remove it, and the photo is developed again", s.bucket, recordName(output), err)
	}
	return n, nil
}

// Receipts reads them in the order of keys.
func (s *S3) Receipts(ctx context.Context, each func(*farm.Receipt) bool) (damaged int, err error) {
	return s.records(ctx, resultsDir, func(name string, data []byte) (more bool, err error) {
		r, err := farm.ParseReceipt(data)
		if err == nil && placeOf(r.Key)+".json" != name {
			err = &farm.FormatError{What: "receipt", Problem: "it is another result's"}
		}
		if err != nil {
			return true, err
		}
		return each(r), nil
	})
}

// Outputs calls each for all outputs in the order of names, until it returns false. Damaged
// records are counted.
func (s *S3) Outputs(ctx context.Context, each func(output string, n *farm.Named) bool) (damaged int, err error) {
	return s.records(ctx, namesDir, func(name string, data []byte) (more bool, err error) {
		output, n, err := parseNamed(data)
		if err == nil && recordName(output) != name {
			err = &farm.FormatError{What: "record of a name", Problem: "it is another output's"}
		}
		if err != nil {
			return true, err
		}
		return each(output, n), nil
	})
}

// readAhead is how many records are asked for at a time.
const readAhead = 32

// records reads all records below a folder, in order. take's errors are counted.
func (s *S3) records(ctx context.Context, folder string, take func(name string, data []byte) (more bool, err error)) (damaged int, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	type record struct {
		name string
		data []byte
		err  error
	}
	var asked []chan record
	var failed error
	next := func() (more bool) {
		r := <-asked[0]
		asked = asked[1:]
		switch {
		case errors.Is(r.err, fs.ErrNotExist): // it went since it was listed
			return true
		case r.err != nil:
			failed = r.err
			return false
		}
		more, err := take(r.name, r.data)
		if err != nil {
			damaged++
		}
		return more
	}
	more := true
	_, err = s.bucket.Walk(ctx, folder, func(o *s3.Object) bool {
		if strings.HasSuffix(o.Name, ".json") {
			answer := make(chan record, 1)
			asked = append(asked, answer)
			go func() {
				data, err := s.bucket.Text(ctx, o.Name, maxRecord)
				answer <- record{o.Name, data, err}
			}()
		}
		if len(asked) > readAhead {
			more = next()
		}
		return more
	})
	for err == nil && more && len(asked) > 0 {
		more = next()
	}
	return damaged, ExplainS3(errors.Join(err, failed))
}

// Fetch copies a result into the worker's own folder, and holds its bytes against the
// receipt.
func (s *S3) Fetch(ctx context.Context, r *farm.Receipt) (string, func(), error) {
	file, err := s.Scratch(r.Extension)
	if err != nil {
		return "", nil, err
	}
	done := func() { os.Remove(file) }
	sum, _, err := s.bucket.Download(ctx, pictureName(r), file)
	if err == nil && sum != r.Picture {
		err = &DamagedError{fmt.Sprintf("%s/%s", s.bucket, pictureName(r)), sum}
	}
	if err != nil {
		done()
	}
	return file, done, ExplainS3(err)
}
