// Package s3test is an object store in memory for tests: a server of the S3 protocol as far
// as a farm uses it, with signatures that it checks and troubles that tests ask for.
//
// Begin with [Start].
package s3test

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// The credentials that the server knows, and its only region and bucket.
const (
	Access = "TESTACCESS"
	Secret = "test/secret+key"
	Region = "test-1"
	Bucket = "bucket"
)

// Object is what the server keeps.
type Object struct {
	Data     []byte
	ETag     string
	Modified time.Time
	Meta     map[string]string // x-amz-meta-...
}

// Server is an object store.
type Server struct {
	URL string
	// Before is asked before each request; if it returns true it has answered. It is set
	// before the first request, and called by several goroutines.
	Before func(w http.ResponseWriter, r *http.Request) bool
	// Careless has the server ignore If-None-Match.
	Careless bool
	// Page is how many names a page of a listing has.
	Page int

	http     *httptest.Server
	mu       sync.Mutex
	objects  map[string]*Object
	uploads  map[string]map[int][]byte
	requests []string
}

// Start runs a server until the test ends, and has this process's environment name it.
func Start(t testing.TB) *Server {
	s := New()
	t.Cleanup(s.Close)
	t.Setenv("AWS_ENDPOINT_URL", s.URL)
	t.Setenv("AWS_REGION", Region)
	t.Setenv("AWS_ACCESS_KEY_ID", Access)
	t.Setenv("AWS_SECRET_ACCESS_KEY", Secret)
	return s
}

// New runs a server until Close.
func New() *Server {
	s := &Server{Page: 1000, objects: map[string]*Object{}, uploads: map[string]map[int][]byte{}}
	s.http = httptest.NewServer(s)
	s.URL = s.http.URL
	return s
}

// Close ends the server and its connections.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// Put makes an object.
func (s *Server) Put(key string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(key, data, nil)
}

func (s *Server) put(key string, data []byte, meta map[string]string) *Object {
	o := &Object{data, fmt.Sprintf("%x", md5.Sum(data)), time.Now().UTC(), meta}
	s.objects[key] = o
	return o
}

// Get is an object's data, nil if there is none.
func (s *Server) Get(key string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.objects[key]; o != nil {
		return o.Data
	}
	return nil
}

// Delete removes an object.
func (s *Server) Delete(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, key)
}

// Keys are the names of all objects, sorted.
func (s *Server) Keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keys()
}

func (s *Server) keys() (all []string) {
	for k := range s.objects {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}

// Requests are the methods and paths of what was asked so far.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Fail answers a request as a store does that cannot.
func Fail(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, `<?xml version="1.0"?><Error><Code>%s</Code><Message>told to fail: %s</Message></Error>`, code, code)
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r.Method+" "+r.URL.Path)
	s.mu.Unlock()
	if s.Before != nil && s.Before(w, r) {
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if code := check(r, body); code != "" {
		Fail(w, http.StatusForbidden, code)
		return
	}
	if strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING-") {
		body = unchunk(body)
	}
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if bucket != Bucket {
		Fail(w, http.StatusNotFound, "NoSuchBucket")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q := r.URL.Query()
	switch {
	case r.Method == http.MethodGet && q.Has("list-type"):
		s.list(w, q)
	case q.Has("uploads"), q.Has("uploadId"):
		s.parts(w, r, key, body)
	case r.Method == http.MethodPut && r.Header.Get("X-Amz-Copy-Source") != "":
		s.copy(w, r, key)
	case r.Method == http.MethodPut:
		s.write(w, r, key, body)
	case r.Method == http.MethodGet, r.Method == http.MethodHead:
		s.read(w, r, key)
	default:
		Fail(w, http.StatusNotImplemented, "NotImplemented")
	}
}

func (s *Server) refused(w http.ResponseWriter, r *http.Request, key string) bool {
	if r.Header.Get("If-None-Match") == "*" && s.objects[key] != nil && !s.Careless {
		Fail(w, http.StatusPreconditionFailed, "PreconditionFailed")
		return true
	}
	return false
}

func metaOf(h http.Header) map[string]string {
	meta := map[string]string{}
	for k := range h {
		if strings.HasPrefix(k, "X-Amz-Meta-") {
			meta[k] = h.Get(k)
		}
	}
	return meta
}

func (s *Server) write(w http.ResponseWriter, r *http.Request, key string, body []byte) {
	if s.refused(w, r, key) {
		return
	}
	w.Header().Set("ETag", `"`+s.put(key, body, metaOf(r.Header)).ETag+`"`)
}

func (s *Server) copy(w http.ResponseWriter, r *http.Request, key string) {
	o := s.source(r)
	if o == nil {
		Fail(w, http.StatusNotFound, "NoSuchKey")
		return
	}
	n := s.put(key, o.Data, o.Meta)
	fmt.Fprintf(w, `<CopyObjectResult><ETag>"%s"</ETag><LastModified>%s</LastModified></CopyObjectResult>`, n.ETag, n.Modified.Format(time.RFC3339))
}

// source is what a request wants to have copied, nil if it is not there or is no copy.
func (s *Server) source(r *http.Request) *Object {
	from, _ := url.PathUnescape(r.Header.Get("X-Amz-Copy-Source"))
	return s.objects[strings.TrimPrefix(strings.TrimPrefix(from, "/"), Bucket+"/")]
}

func (s *Server) read(w http.ResponseWriter, r *http.Request, key string) {
	o := s.objects[key]
	if o == nil {
		Fail(w, http.StatusNotFound, "NoSuchKey")
		return
	}
	for k, v := range o.Meta {
		w.Header().Set(k, v)
	}
	w.Header().Set("ETag", `"`+o.ETag+`"`)
	http.ServeContent(w, r, "", o.Modified, bytes.NewReader(o.Data))
}

// parts are uploads in parts.
func (s *Server) parts(w http.ResponseWriter, r *http.Request, key string, body []byte) {
	q := r.URL.Query()
	id := q.Get("uploadId")
	switch {
	case r.Method == http.MethodPost && q.Has("uploads"):
		id = fmt.Sprintf("upload%d", len(s.uploads))
		s.uploads[id] = map[int][]byte{}
		fmt.Fprintf(w, `<InitiateMultipartUploadResult><Bucket>%s</Bucket><Key>x</Key><UploadId>%s</UploadId></InitiateMultipartUploadResult>`, Bucket, id)
	case r.Method == http.MethodPut:
		n, _ := strconv.Atoi(q.Get("partNumber"))
		if from := s.source(r); from != nil {
			var a, b int
			fmt.Sscanf(r.Header.Get("X-Amz-Copy-Source-Range"), "bytes=%d-%d", &a, &b)
			s.uploads[id][n] = from.Data[a : b+1]
			fmt.Fprintf(w, `<CopyPartResult><ETag>"%x"</ETag></CopyPartResult>`, md5.Sum(from.Data[a:b+1]))
			return
		}
		s.uploads[id][n] = body
		w.Header().Set("ETag", fmt.Sprintf(`"%x"`, md5.Sum(body)))
	case r.Method == http.MethodPost:
		if s.refused(w, r, key) {
			return
		}
		var all []byte
		for n := 1; n <= len(s.uploads[id]); n++ {
			all = append(all, s.uploads[id][n]...)
		}
		delete(s.uploads, id)
		fmt.Fprintf(w, `<CompleteMultipartUploadResult><Bucket>%s</Bucket><ETag>"%s"</ETag></CompleteMultipartUploadResult>`, Bucket, s.put(key, all, nil).ETag)
	case r.Method == http.MethodDelete:
		delete(s.uploads, id)
		w.WriteHeader(http.StatusNoContent)
	}
}

// list answers ListObjectsV2.
func (s *Server) list(w http.ResponseWriter, q url.Values) {
	type object struct {
		Key, ETag    string
		Size         int64
		LastModified time.Time
	}
	type folder struct{ Prefix string }
	var page struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		IsTruncated           bool
		EncodingType          string
		NextContinuationToken string   `xml:",omitempty"`
		Contents              []object `xml:"Contents"`
		CommonPrefixes        []folder `xml:"CommonPrefixes"`
	}
	page.EncodingType = "url"
	prefix, delimiter, after := q.Get("prefix"), q.Get("delimiter"), q.Get("continuation-token")
	last := ""
	for _, k := range s.keys() {
		rest, ok := strings.CutPrefix(k, prefix)
		name, deeper := k, false
		if dir, _, in := strings.Cut(rest, "/"); ok && in && delimiter != "" {
			name, deeper = prefix+dir+"/", true
		}
		if !ok || name <= after || name == last {
			continue
		}
		if len(page.Contents)+len(page.CommonPrefixes) == s.Page {
			page.IsTruncated, page.NextContinuationToken = true, last
			break
		}
		last = name
		if deeper {
			page.CommonPrefixes = append(page.CommonPrefixes, folder{url.QueryEscape(name)})
			continue
		}
		o := s.objects[k]
		page.Contents = append(page.Contents, object{url.QueryEscape(k), `"` + o.ETag + `"`, int64(len(o.Data)), o.Modified})
	}
	w.Header().Set("Content-Type", "application/xml")
	text, _ := xml.Marshal(&page)
	w.Write(text)
}

// sha is a SHA-256 in hexadecimal digits.
func sha(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
