package s3

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"os"
	"path"
	"time"

	"github.com/minio/minio-go/v7"
)

// Object is what a store says of an object.
type Object struct {
	Name     string // below the folder
	Bytes    int64
	Modified time.Time // by the store's clock
	SHA256   string    // as this program noted it when it wrote the object, else ""
	etag     string
}

// sumField is the user metadata in which the SHA-256 of an object stands.
const sumField = "Sha256"

// maxSingle is the largest object that one request may write, in bytes; larger ones are
// written in parts.
var maxSingle int64 = 5 << 30

// partSize is that of the parts, of which there may be 10,000.
var partSize int64 = 1 << 30

// maxPause bounds the pauses between repetitions.
const maxPause = 2 * time.Second

// pause waits before another attempt; false: ctx ended.
func pause(ctx context.Context, attempt int) bool {
	t := time.NewTimer(min(maxPause, 50*time.Millisecond<<min(attempt, 6)))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Create writes size bytes as a new object, and reports whether there was none of that
// name; one that is there stays. sum is the SHA-256 of the bytes in hexadecimal digits,
// against which the store holds what arrives.
func (b *Bucket) Create(ctx context.Context, name string, from io.ReaderAt, size int64, sum string) (first bool, err error) {
	o := minio.PutObjectOptions{UserMetadata: map[string]string{sumField: sum}, ContentType: contentType(name)}
	o.SetMatchETagExcept("*")
	for attempt := range b.attempts {
		err = b.put(ctx, name, from, size, sum, o)
		if err == nil || !contended(err) || !pause(ctx, attempt) {
			break
		}
	}
	if there(err) {
		return false, nil
	}
	return err == nil, b.fail(ctx, "write", name, err)
}

func (b *Bucket) put(ctx context.Context, name string, from io.ReaderAt, size int64, sum string, o minio.PutObjectOptions) error {
	if size > maxSingle {
		return b.putParts(ctx, name, from, size, o)
	}
	_, err := b.core.PutObject(ctx, b.name, b.key(name), io.NewSectionReader(from, 0, size), size, "", sum, o)
	return err
}

// putParts writes an object in parts. The client's own way does not pass If-None-Match on.
func (b *Bucket) putParts(ctx context.Context, name string, from io.ReaderAt, size int64, o minio.PutObjectOptions) (err error) {
	id, err := b.core.NewMultipartUpload(ctx, b.name, b.key(name), o)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil { // a part that stays is paid for
			last, stop := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
			defer stop()
			b.core.AbortMultipartUpload(last, b.name, b.key(name), id)
		}
	}()
	var parts []minio.CompletePart
	for at := int64(0); at < size; at += partSize {
		n := min(partSize, size-at)
		h := sha256.New()
		if _, err := io.Copy(h, io.NewSectionReader(from, at, n)); err != nil {
			return err
		}
		part, err := b.core.PutObjectPart(ctx, b.name, b.key(name), id, len(parts)+1, io.NewSectionReader(from, at, n), n,
			minio.PutObjectPartOptions{Sha256Hex: hex.EncodeToString(h.Sum(nil))})
		if err != nil {
			return err
		}
		parts = append(parts, minio.CompletePart{PartNumber: len(parts) + 1, ETag: part.ETag})
	}
	_, err = b.core.CompleteMultipartUpload(ctx, b.name, b.key(name), id, parts, o)
	return err
}

// CreateText is Create of a few bytes.
func (b *Bucket) CreateText(ctx context.Context, name string, data []byte) (first bool, err error) {
	sum := sha256.Sum256(data)
	return b.Create(ctx, name, bytes.NewReader(data), int64(len(data)), hex.EncodeToString(sum[:]))
}

// Put writes a few bytes, in place of what the object was.
func (b *Bucket) Put(ctx context.Context, name string, data []byte) error {
	sum := sha256.Sum256(data)
	err := b.put(ctx, name, bytes.NewReader(data), int64(len(data)), hex.EncodeToString(sum[:]), minio.PutObjectOptions{ContentType: contentType(name)})
	return b.fail(ctx, "write", name, err)
}

// contentType is what browsers are told.
func contentType(name string) string {
	if t := mime.TypeByExtension(path.Ext(name)); t != "" {
		return t
	}
	return "application/octet-stream"
}

// Copy has the store copy an object of size bytes over another, with its metadata.
func (b *Bucket) Copy(ctx context.Context, from, to string, size int64) (err error) {
	dst, src := minio.CopyDestOptions{Bucket: b.name, Object: b.key(to)}, minio.CopySrcOptions{Bucket: b.name, Object: b.key(from)}
	if size > maxSingle {
		dst.PartSize = uint64(partSize)
		_, err = b.core.ComposeObject(ctx, dst, src)
	} else {
		_, err = b.core.Client.CopyObject(ctx, dst, src)
	}
	return b.fail(ctx, "write", to, err)
}

// Stat says what there is of an object.
func (b *Bucket) Stat(ctx context.Context, name string) (*Object, error) {
	i, err := b.core.StatObject(ctx, b.name, b.key(name), minio.StatObjectOptions{})
	if err != nil {
		return nil, b.fail(ctx, "read", name, err)
	}
	return &Object{Name: name, Bytes: i.Size, Modified: i.LastModified, SHA256: i.UserMetadata[sumField], etag: i.ETag}, nil
}

// Text is an object of at most limit bytes.
func (b *Bucket) Text(ctx context.Context, name string, limit int64) ([]byte, error) {
	var all bytes.Buffer
	_, err := b.read(ctx, name, &all, limit)
	return all.Bytes(), err
}

// Download writes an object to a new file, and gives the SHA-256 of its bytes and their
// number.
func (b *Bucket) Download(ctx context.Context, name, file string) (sum string, size int64, err error) {
	to, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", 0, err
	}
	h := sha256.New()
	size, err = b.read(ctx, name, io.MultiWriter(to, h), 1<<62)
	if err = errors.Join(err, to.Close()); err != nil {
		return "", 0, errors.Join(err, os.Remove(file))
	}
	return hex.EncodeToString(h.Sum(nil)), size, nil
}

// errCut marks errors of a connection that broke within an object. Those before it the
// client has repeated the request for.
type errCut struct{ error }

func (e errCut) Unwrap() error { return e.error }

// read copies an object. A connection that breaks within it is taken up again where it broke,
// as long as that gets on and the object is the same.
func (b *Bucket) read(ctx context.Context, name string, to io.Writer, limit int64) (at int64, err error) {
	etag, size := "", int64(-1)
	for failures := 0; ; {
		before := at
		err = b.readFrom(ctx, name, to, limit, &at, &etag, &size)
		if !errors.As(err, new(errCut)) {
			return at, err
		}
		if failures++; at > before {
			failures = 1
		}
		if failures >= b.attempts || !pause(ctx, failures) {
			return at, b.fail(ctx, "read", name, err)
		}
	}
}

// readFrom reads from *at to the end.
func (b *Bucket) readFrom(ctx context.Context, name string, to io.Writer, limit int64, at *int64, etag *string, size *int64) error {
	var o minio.GetObjectOptions
	if *at > 0 {
		if *at == *size {
			return nil // it broke after the last byte
		}
		if err := errors.Join(o.SetRange(*at, 0), o.SetMatchETag(*etag)); err != nil {
			return err
		}
	}
	body, info, _, err := b.core.GetObject(ctx, b.name, b.key(name), o)
	switch {
	case there(err): // of If-Match
		return b.unusable("read", name, "it changed while it was read")
	case err != nil:
		return b.fail(ctx, "read", name, err)
	}
	defer body.Close()
	if *at == 0 {
		*etag, *size = info.ETag, info.Size
		if *size < 0 || *size > limit {
			return b.unusable("read", name, fmt.Sprintf("it has %d bytes, more than the %d that it may have", *size, limit))
		}
	} else if info.Size != *size-*at {
		return b.unusable("read", name, "the store answered with another part of it than was asked for")
	}
	buffer := make([]byte, 64<<10)
	for {
		n, err := body.Read(buffer)
		if int64(n) > *size-*at {
			return b.unusable("read", name, "the store sent more bytes than the object has")
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return err
		}
		*at += int64(n)
		switch {
		case err == io.EOF && *at == *size:
			return nil
		case err == io.EOF:
			return errCut{io.ErrUnexpectedEOF}
		case err != nil:
			return errCut{err}
		}
	}
}

func (b *Bucket) unusable(op, name, problem string) error {
	return &Error{op, b.url(name), Unusable, errors.New(problem)}
}

// blockSize is what a Reader asks for at a time.
const blockSize = 1 << 20

// Reader reads parts of an object, and keeps what it read: headers are in a few places. It
// is for one goroutine.
type Reader struct {
	bucket *Bucket
	ctx    context.Context
	object *Object
	blocks map[int64][]byte
}

// maxBlocks bounds what a Reader keeps.
const maxBlocks = 16

// Reader is for an object that a listing or Stat gave. It may be one of a name and a size only.
func (b *Bucket) Reader(ctx context.Context, o *Object) *Reader {
	return &Reader{b, ctx, o, map[int64][]byte{}}
}

// ReadAt is that of io.ReaderAt.
func (r *Reader) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, fmt.Errorf("s3: offset %d", off)
	}
	for n < len(p) && off < r.object.Bytes {
		block, err := r.block(off / blockSize)
		if err != nil {
			return n, err
		}
		m := copy(p[n:], block[off%blockSize:])
		n, off = n+m, off+int64(m)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (r *Reader) block(i int64) ([]byte, error) {
	if block, ok := r.blocks[i]; ok {
		return block, nil
	}
	if len(r.blocks) >= maxBlocks {
		clear(r.blocks)
	}
	from := i * blockSize
	block := make([]byte, min(blockSize, r.object.Bytes-from))
	var err error
	for attempt := range r.bucket.attempts {
		if err = r.bucket.part(r.ctx, r.object, block, from); !errors.As(err, new(errCut)) || !pause(r.ctx, attempt) {
			break
		}
	}
	if err != nil {
		return nil, r.bucket.fail(r.ctx, "read", r.object.Name, err)
	}
	r.blocks[i] = block
	return block, nil
}

// part reads a part of an object.
func (b *Bucket) part(ctx context.Context, obj *Object, into []byte, from int64) error {
	var o minio.GetObjectOptions
	err := o.SetRange(from, from+int64(len(into))-1)
	if obj.etag != "" {
		err = errors.Join(err, o.SetMatchETag(obj.etag))
	}
	if err != nil {
		return err
	}
	body, info, _, err := b.core.GetObject(ctx, b.name, b.key(obj.Name), o)
	if err != nil {
		return err
	}
	defer body.Close()
	if info.Size != int64(len(into)) {
		return b.unusable("read", obj.Name, "the store answered with another part of it than was asked for")
	}
	if _, err = io.ReadFull(body, into); err != nil {
		return errCut{err}
	}
	return nil
}
