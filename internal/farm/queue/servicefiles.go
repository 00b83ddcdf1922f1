package queue

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"enhance/internal/farm"
	"enhance/internal/farm/store"
)

const (
	// partSize is how much of a file a message takes, at least 128 KiB less than a message may have.
	partSize = 640 << 10
	// uploadLife is how long an upload may stand still before it goes.
	uploadLife = 15 * time.Minute
)

// answerGet answers with the next part of a file in a bucket of objects.
func (s *Service) answerGet(ctx context.Context, r *ask, a *answer) error {
	if r.Bucket != filesBucket && r.Bucket != store.PhotosBucket && r.Bucket != store.ResultsBucket || !farm.IsHash(r.Name) {
		return refused("there is no such file")
	}
	objects, err := s.js.ObjectStore(ctx, r.Bucket)
	if err != nil {
		return failed("open the farm's store", err)
	}
	info, err := objects.GetInfo(ctx, r.Name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return fmt.Errorf("object %.12s is not in the farm's store: %w", r.Name, fs.ErrNotExist)
	}
	if err != nil {
		return failed("open a file", err)
	}
	stream, err := s.js.Stream(ctx, "OBJ_"+r.Bucket)
	if err != nil {
		return failed("open the farm's store", err)
	}
	next := max(r.Next, 1)
	for info.Size > 0 && len(a.body) < partSize {
		m, err := stream.GetMsg(ctx, next, jetstream.WithGetMsgSubject("$O."+r.Bucket+".C."+info.NUID))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil // that was the last part
		}
		if err != nil {
			return failed("read a file", err)
		}
		a.body = append(a.body, m.Data...)
		next = m.Sequence + 1
	}
	if info.Size > 0 {
		a.Next = next
	}
	return nil
}

// answerPut adds a part to a result on its way. Next is where it belongs.
func (s *Service) answerPut(ctx context.Context, r *ask, _ *answer) error {
	if err := s.checkTask(ctx, r.Held); err != nil { // nobody else fills the disk
		return err
	}
	if !farm.IsID(r.Name) {
		return refused("an upload has no name")
	}
	s.tidy(r.Name)
	flags := os.O_WRONLY
	if r.Next == 0 {
		flags |= os.O_CREATE | os.O_EXCL
	}
	f, err := os.OpenFile(s.upload(r.Name), flags, 0o600)
	if err != nil {
		return failed("take a part of a picture", err)
	}
	info, err := f.Stat()
	if err == nil && uint64(info.Size()) != r.Next {
		err = refused("a part of a picture is missing")
	}
	if err == nil {
		_, err = f.WriteAt(r.body, info.Size())
	}
	return store.Explain(errors.Join(err, f.Close()))
}

func (s *Service) upload(name string) string { return filepath.Join(s.dir, name) }

// tidy notes that a part of an upload came, and removes uploads whose workers are gone.
func (s *Service) tidy(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uploads[name] = time.Now()
	for other, last := range s.uploads {
		if time.Since(last) > uploadLife {
			delete(s.uploads, other)
			os.Remove(s.upload(other))
		}
	}
}

// dropUpload removes an upload.
func (s *Service) dropUpload(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.uploads, name)
	os.Remove(s.upload(name))
}

// answerPublish makes an upload the result that its receipt names, if it has the bytes that
// the receipt says and is one of a leased task.
func (s *Service) answerPublish(ctx context.Context, r *ask, a *answer) error {
	if !farm.IsID(r.Name) || r.Receipt == nil {
		return refused("it has no upload or no receipt")
	}
	path := s.upload(r.Name)
	defer s.dropUpload(r.Name)
	if err := s.checkTask(ctx, r.Held); err != nil {
		return err
	}
	if err := s.checkReceipt(ctx, r.Held.Task, r.Receipt); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return failed("publish a result", err)
	}
	sum, n, err := store.SumOf(f)
	f.Close()
	switch {
	case err != nil:
		return failed("publish a result", err)
	case sum != r.Receipt.Picture || n != r.Receipt.Bytes:
		return refused("the picture has other bytes than its receipt says")
	}
	a.First, err = s.results.Publish(ctx, path, r.Receipt)
	return err
}

func (s *Service) answerReceipt(ctx context.Context, r *ask, a *answer) (err error) {
	if !farm.IsHash(r.Name) {
		return refused("this is no key")
	}
	a.Receipt, err = s.results.Receipt(ctx, farm.Key(r.Name))
	return err
}

// answerName gives a task's output its result, which must be there.
func (s *Service) answerName(ctx context.Context, r *ask, _ *answer) error {
	if err := s.checkTask(ctx, r.Held); err != nil {
		return err
	}
	if r.Receipt == nil {
		return refused("%s has no receipt", r.Held.Task.Photo)
	}
	have, err := s.results.Receipt(ctx, r.Receipt.Key)
	switch {
	case err != nil:
		return err
	case have == nil:
		return refused("%s has no result of that key", r.Held.Task.Photo)
	}
	if err := s.checkReceipt(ctx, r.Held.Task, have); err != nil {
		return err
	}
	return s.results.Name(ctx, r.Held.Task, have, true)
}

func (s *Service) answerNamed(ctx context.Context, r *ask, a *answer) (err error) {
	if err := farm.CheckName(r.Name); err != nil {
		return refused("%v", err)
	}
	a.Named, err = s.results.Named(ctx, r.Name)
	return err
}
