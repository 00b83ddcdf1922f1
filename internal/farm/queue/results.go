package queue

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"enhance/internal/farm"
	"enhance/internal/farm/store"
)

// Results is the farm's own store of results as a worker reaches it. It is a [store.Store].
type Results struct {
	client *Client
	dir    string // for files on their way
}

var _ store.Store = (*Results)(nil)

// Results is the farm's own store; dir is a folder for files on their way.
func (c *Client) Results(dir string) *Results { return &Results{c, dir} }

// Scratch is a new name in the worker's own folder.
func (s *Results) Scratch(extension string) (string, error) {
	return filepath.Join(s.dir, rand.Text()+extension), nil
}

// Receipt reads a result's receipt.
func (s *Results) Receipt(ctx context.Context, key farm.Key) (*farm.Receipt, error) {
	a, err := s.client.ask(ctx, "receipt", &ask{Name: string(key)})
	if err != nil || a.Receipt == nil {
		return nil, err
	}
	r, err := farm.ParseReceipt(a.Receipt.Encode())
	if err == nil && r.Key != key {
		err = &farm.FormatError{What: "receipt", Problem: "it is another result's"}
	}
	return r, err
}

// Publish sends the picture and its receipt.
func (s *Results) Publish(ctx context.Context, path string, r *farm.Receipt) (first bool, err error) {
	defer os.Remove(path)
	h, err := s.client.leaseOf(r)
	if err != nil {
		return false, err
	}
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	name := farm.Hash("upload", rand.Text())[:32]
	part := make([]byte, partSize)
	for at := uint64(0); ; {
		n, err := io.ReadFull(f, part)
		if n > 0 {
			if _, err := s.client.ask(ctx, "put", &ask{Name: name, Held: h, Next: at, body: part[:n]}); err != nil {
				return false, err
			}
			at += uint64(n)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return false, err
		}
	}
	a, err := s.client.ask(ctx, "publish", &ask{Name: name, Held: h, Receipt: r})
	if err != nil {
		return false, err
	}
	return a.First, nil
}

// leaseOf is the lease that a receipt's result is made for.
func (c *Client) leaseOf(r *farm.Receipt) (*held, error) {
	order := r.Order.ID()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.held {
		if h.Task.Photo == r.Source && h.Task.Order == order {
			return &h, nil
		}
	}
	return nil, refused("%s is not leased", r.Source)
}

// Name gives the output of a task that this worker has leased its result. Every name in the
// store is the farm's own.
func (s *Results) Name(ctx context.Context, t *farm.Task, r *farm.Receipt, _ bool) error {
	s.client.mu.Lock()
	h, there := s.client.held[t.ID()]
	s.client.mu.Unlock()
	if !there {
		return refused("%s is not leased", t.Photo)
	}
	_, err := s.client.ask(ctx, "name", &ask{Held: &h, Receipt: r})
	return err
}

// Named reads the record of an output.
func (s *Results) Named(ctx context.Context, output string) (*farm.Named, error) {
	a, err := s.client.ask(ctx, "named", &ask{Name: output})
	if err != nil || a.Named == nil {
		return nil, err
	}
	return farm.ParseNamed(a.Named.Encode())
}

// Receipts are the business of who checks a store, not of a worker.
func (s *Results) Receipts(context.Context, func(*farm.Receipt) bool) (int, error) {
	return 0, refused("a worker lists no results")
}

// Fetch copies a result into the worker's own folder.
func (s *Results) Fetch(ctx context.Context, r *farm.Receipt) (string, func(), error) {
	path, err := s.Scratch(r.Extension)
	if err == nil {
		err = s.client.get(ctx, store.ResultsBucket, r.Picture, path)
	}
	return path, func() { os.Remove(path) }, err
}

// GetFile writes a file that a setting names to path, which must not be there.
func (c *Client) GetFile(ctx context.Context, f *farm.File, path string) error {
	return c.get(ctx, filesBucket, f.SHA256, path)
}

// GetPhoto writes the photo with a SHA-256 to path, which must not be there.
func (c *Client) GetPhoto(ctx context.Context, sum, path string) error {
	return c.get(ctx, store.PhotosBucket, sum, path)
}

// get copies a file out of the farm's store, and holds its bytes against the hash.
func (c *Client) get(ctx context.Context, bucket, sum, path string) error {
	return store.WriteChecked(path, sum, func(to io.Writer) error {
		for next := uint64(0); ; {
			a, err := c.ask(ctx, "get", &ask{Bucket: bucket, Name: sum, Next: next})
			if err != nil {
				return err
			}
			if _, err := io.Copy(to, bytes.NewReader(a.body)); err != nil {
				return err
			}
			if a.Next == 0 {
				return nil
			}
			if a.Next <= next {
				return failed("read a file", fmt.Errorf("part %d follows part %d", a.Next, next))
			}
			next = a.Next
		}
	})
}
