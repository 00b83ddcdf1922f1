package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"enhance/internal/farm/s3test"
)

// open opens a folder of a test's store.
func open(t *testing.T, url string) *Bucket {
	t.Helper()
	return openWith(t, url, Options{attempts: 4})
}

func openWith(t *testing.T, url string, o Options) *Bucket {
	t.Helper()
	b, err := Open(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ url, bucket, prefix, bad string }{
		{"s3://photos", "photos", "", ""},
		{"s3://photos/", "photos", "", ""},
		{"S3://photos/a/b c/ü", "photos", "a/b c/ü", ""},
		{"s3://photos/a/", "photos", "a", ""},
		{"s3://", "", "", "no name of a bucket"},
		{"s3://Photos", "", "", "no name of a bucket"},
		{"s3://photos//a", "", "", "no prefix"},
		{"s3://photos/a/../b", "", "", "no prefix"},
		{"s3://photos/a\x00", "", "", "no prefix"},
		{"s3://photos/" + strings.Repeat("a", 600), "", "", "has 600 bytes"},
		{"https://photos", "", "", "s3://BUCKET"},
		{"s3://key:topsecret@photos/a", "", "", "holds no credentials"},
	} {
		bucket, prefix, err := Parse(c.url)
		if c.bad == "" && (err != nil || bucket != c.bucket || prefix != c.prefix) {
			t.Errorf("%q: %q %q %v", c.url, bucket, prefix, err)
		}
		if c.bad != "" && (!errors.As(err, new(*OptionError)) || !strings.Contains(err.Error(), c.bad) || strings.Contains(err.Error(), "topsecret")) {
			t.Errorf("%q: %v, want %q", c.url, err, c.bad)
		}
	}
}

// TestOpen: what is wrong with options is said, and secrets are not.
func TestOpen(t *testing.T) {
	for _, name := range []string{"AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY", "AWS_SECRET_KEY"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "none"))
	for _, c := range []struct{ endpoint, bad string }{
		{"http://127.0.0.1:1", "no credentials"},
		{"http://me:topsecret@127.0.0.1:1", "holds no credentials"},
		{"ftp://127.0.0.1", "no URL such as"},
		{"https://127.0.0.1/path", "no URL such as"},
		{"127.0.0.1:9000", "no URL such as"},
	} {
		_, err := Open(t.Context(), "s3://photos", Options{Endpoint: c.endpoint})
		if !errors.As(err, new(*OptionError)) || !strings.Contains(err.Error(), c.bad) || strings.Contains(err.Error(), "topsecret") {
			t.Errorf("%s: %v, want %q", c.endpoint, err, c.bad)
		}
	}
}

// TestObjects: objects come back as they were, are created once, and are replaced where
// that is asked for.
func TestObjects(t *testing.T) {
	s, ctx := s3test.Start(t), t.Context()
	b := open(t, "s3://bucket/some/folder")
	for _, name := range []string{"a", "x/y z/ü+%.png"} {
		if _, err := b.Stat(ctx, name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there: %v", name, err)
		}
		for i := range 3 {
			if first, err := b.CreateText(ctx, name, fmt.Append(nil, "try ", i)); first != (i == 0) || err != nil {
				t.Errorf("%s, try %d: %v, %v", name, i, first, err)
			}
		}
		if text, err := b.Text(ctx, name, 100); string(text) != "try 0" || err != nil {
			t.Errorf("%s: %q, %v", name, text, err)
		}
		if _, err := b.Text(ctx, name, 4); err == nil {
			t.Errorf("%s: more than the bound was read", name)
		}
		if got := s.Get("some/folder/" + name); string(got) != "try 0" {
			t.Errorf("the store has %q", got)
		}
		if err := b.Copy(ctx, name, "copies/"+name, 5); err != nil {
			t.Error(err)
		}
		o, err := b.Stat(ctx, "copies/"+name)
		if err != nil || o.Bytes != 5 || len(o.SHA256) != 64 {
			t.Errorf("%+v, %v", o, err)
		}
		if err := b.Put(ctx, name, []byte("other")); err != nil {
			t.Error(err)
		}
		if text, err := b.Text(ctx, name, 100); string(text) != "other" || err != nil {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if err := b.Copy(ctx, "none", "b", 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a copy of nothing: %v", err)
	}
	if err := b.Probe(ctx, "probe"); err != nil {
		t.Error(err)
	}
}

// TestParts: an object that one request cannot write.
func TestParts(t *testing.T) {
	s := s3test.Start(t)
	single, part := maxSingle, partSize
	maxSingle, partSize = 6<<20, 6<<20
	defer func() { maxSingle, partSize = single, part }()
	b := open(t, "s3://bucket")
	data := make([]byte, 11<<20+7)
	rand.NewChaCha8([32]byte{1}).Read(data)
	for _, want := range []bool{true, false} {
		if first, err := b.Create(t.Context(), "large", bytes.NewReader(data), int64(len(data)), strings.Repeat("0", 64)); first != want || err != nil {
			t.Errorf("%v, %v", first, err)
		}
	}
	if err := b.Copy(t.Context(), "large", "copy", int64(len(data))); err != nil {
		t.Error(err)
	}
	if !bytes.Equal(s.Get("large"), data) || !bytes.Equal(s.Get("copy"), data) {
		t.Error("other bytes arrived")
	}
}

// TestCareless: a store that replaces objects is found out.
func TestCareless(t *testing.T) {
	s3test.Start(t).Careless = true
	err := open(t, "s3://bucket").Probe(t.Context(), "probe")
	if e := (*Error)(nil); !errors.As(err, &e) || e.Kind != Unusable || !strings.Contains(err.Error(), "in spite of If-None-Match") {
		t.Error(err)
	}
}

// TestList: folder by folder and all at once, over several pages.
func TestList(t *testing.T) {
	s := s3test.Start(t)
	s.Page = 3
	var want []string
	for i := range 20 {
		name := fmt.Sprintf("%d/p%02d ü+&.dng", i%3, i)
		s.Put("top/in/"+name, []byte("x"))
		want = append(want, name)
	}
	for _, name := range []string{"in/", "in/one.dng", "in/two.dng", "in/0/", "other/x", "in/a//b", "in/a/../b"} {
		s.Put("top/"+name, nil)
	}
	slices.Sort(want)
	b := open(t, "s3://bucket/top/in")
	var got []string
	odd, err := b.Walk(t.Context(), "", func(o *Object) bool { got = append(got, o.Name); return true })
	if err != nil || odd != 2 || !slices.Equal(got, append(want, "one.dng", "two.dng")) {
		t.Errorf("%q, %d odd, %v", got, odd, err)
	}
	got = nil
	if odd, err := b.List(t.Context(), "", func(o *Object) bool { got = append(got, o.Name); return true }); err != nil || odd != 0 {
		t.Error(odd, err)
	}
	slices.Sort(got)
	if want := []string{"0/", "1/", "2/", "a/", "one.dng", "two.dng"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	got = nil
	if _, err := b.List(t.Context(), "1", func(o *Object) bool { got = append(got, o.Name); return len(got) < 4 }); err != nil || len(got) != 4 || !strings.HasPrefix(got[3], "1/p") {
		t.Errorf("%q, %v", got, err)
	}
}

// TestReader: parts of an object, as headers are read.
func TestReader(t *testing.T) {
	s := s3test.Start(t)
	data := make([]byte, 2*blockSize+1000)
	rand.NewChaCha8([32]byte{4}).Read(data)
	s.Put("p", data)
	b := open(t, "s3://bucket")
	o, err := b.Stat(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}
	r := b.Reader(t.Context(), o)
	for _, c := range []struct{ from, n, want int }{{0, 10, 10}, {blockSize - 5, 10, 10}, {5, 2 * blockSize, 2 * blockSize}, {len(data) - 3, 10, 3}, {len(data), 1, 0}} {
		p := make([]byte, c.n)
		n, err := r.ReadAt(p, int64(c.from))
		if n != c.want || (err == io.EOF) != (c.want < c.n) || err != nil && err != io.EOF || !bytes.Equal(p[:n], data[c.from:c.from+n]) {
			t.Errorf("%+v: %d, %v", c, n, err)
		}
	}
	if gets := len(s.Requests()); gets > 1+3 {
		t.Errorf("%d requests for 3 blocks", gets)
	}
	s.Put("p", data[1:])
	if _, err := b.Reader(t.Context(), o).ReadAt(make([]byte, 10), 0); err == nil {
		t.Error("a part of another object was read")
	}
}

// canned is a store that gives one answer to everything.
type canned []byte

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/xml"}}, Body: io.NopCloser(bytes.NewReader(c)), ContentLength: int64(len(c)), Request: r}, nil
}

// FuzzListing: a listing comes from the network. Whatever it says, names stay below the
// folder.
func FuzzListing(f *testing.F) {
	f.Setenv("AWS_ACCESS_KEY_ID", "a")
	f.Setenv("AWS_SECRET_ACCESS_KEY", "b")
	f.Add([]byte(`<ListBucketResult><Contents><Key>top/a.dng</Key><Size>3</Size><ETag>"e"</ETag></Contents><CommonPrefixes><Prefix>top/b/</Prefix></CommonPrefixes></ListBucketResult>`))
	f.Add([]byte(`<ListBucketResult><Contents><Key>top/../../etc/passwd</Key></Contents><Contents><Key>top/%2e%2e/x</Key></Contents></ListBucketResult>`))
	f.Add([]byte(`<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>x</NextContinuationToken><Contents><Key>top/a</Key></Contents></ListBucketResult>`))
	f.Fuzz(func(t *testing.T, data []byte) {
		ctx, stop := context.WithTimeout(t.Context(), 200*time.Millisecond) // pages without names may have no end
		defer stop()
		b, err := Open(ctx, "s3://bucket/top", Options{Endpoint: "http://127.0.0.1:1", via: canned(data), attempts: 1})
		if err != nil {
			t.Skip(err)
		}
		for _, deep := range []bool{false, true} {
			n := 0
			b.list(ctx, "", deep, func(o *Object) bool {
				if name := strings.TrimSuffix(o.Name, "/"); !fs.ValidPath(name) || name == "." && n < 0 || o.Bytes < 0 {
					t.Errorf("%q is listed with %d bytes", o.Name, o.Bytes)
				}
				n++
				return n < 10_000
			})
		}
	})
}

// FuzzParse: URLs come from people.
func FuzzParse(f *testing.F) {
	for _, url := range []string{"s3://photos/a/b", "s3://photos", "s3://a@b/c", "s3://photos//"} {
		f.Add(url)
	}
	f.Fuzz(func(t *testing.T, url string) {
		bucket, prefix, err := Parse(url)
		if err == nil && (bucket == "" || strings.ContainsAny(bucket, "/@") || prefix != "" && !fs.ValidPath(prefix)) {
			t.Errorf("%q: %q, %q", url, bucket, prefix)
		}
	})
}
