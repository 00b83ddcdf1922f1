// Package s3 is a folder of an S3-compatible object store, as a farm uses it: objects that
// are created once and never replaced by accident, read whole or in part, and listed page
// by page.
//
// Begin with [Open]. What goes wrong is an [*Error], whose kind says whether the object,
// the store or the credentials are at fault. Requests that fail for a passing reason (a
// cut or silent connection, 429, 5xx) are repeated with growing pauses before that.
//
// The farm trusts the store to keep bytes and to honour If-None-Match. [Bucket.Probe] tries
// the latter, for some stores ignore it.
package s3

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// Options say how to reach a store. What is empty is taken from the environment, by the
// names that AWS's own tools use.
type Options struct {
	Endpoint string // a URL such as https://minio.example:9000; "": Amazon's
	Region   string

	stall    time.Duration     // how long a connection may be silent; 0: the default
	attempts int               // of a request; 0: the default
	via      http.RoundTripper // for tests; nil: the network
}

const (
	// stallTime is how long a connection may take for one read or write.
	stallTime = 60 * time.Second
	// requestAttempts is how often a request is made: with pauses of up to a second between,
	// that bridges some seconds. Longer troubles are the caller's.
	requestAttempts = 8
)

// Bucket is a folder of a store: the objects of a bucket whose names begin with a prefix.
// Names that it takes and gives are below the prefix. It may be used by several goroutines.
type Bucket struct {
	core         *minio.Core
	name, prefix string
	attempts     int
}

// Open opens the folder that a URL names. It asks for credentials and makes no request to
// the store.
func Open(ctx context.Context, url string, o Options) (*Bucket, error) {
	name, prefix, err := Parse(url)
	if err != nil {
		return nil, err
	}
	o.fromEnvironment()
	amazon := o.Endpoint == ""
	host, secure, err := endpointOf(o.Endpoint, o.Region)
	if err != nil {
		return nil, err
	}
	if o.stall == 0 {
		o.stall = stallTime
	}
	if o.attempts == 0 {
		o.attempts = requestAttempts
	}
	via := o.via
	if via == nil {
		via = transport(o.stall)
	}
	who := credentialsOf(amazon)
	if v, err := who.GetWithContext(&credentials.CredContext{Client: &http.Client{Transport: transport(5 * time.Second)}}); err != nil ||
		v.AccessKeyID == "" || v.SecretAccessKey == "" {
		return nil, optionf("no credentials for %s: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE", url)
	}
	core, err := minio.NewCore(host, &minio.Options{Creds: who, Secure: secure, Region: o.Region, Transport: bounded{via}, MaxRetries: o.attempts})
	if err != nil {
		return nil, optionf("the endpoint of the object store cannot be used: %v", err)
	}
	return &Bucket{core, name, prefix, o.attempts}, ctx.Err()
}

// credentialsOf looks where AWS's own tools look: variables, the shared file, and the
// identity of the pod, container or machine.
func credentialsOf(amazon bool) *credentials.Credentials {
	from := []credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}}
	given := os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE") + os.Getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") + os.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI")
	if given != "" || amazon && os.Getenv("AWS_EC2_METADATA_DISABLED") != "true" {
		from = append(from, &credentials.IAM{})
	}
	return credentials.NewChainCredentials(from)
}

// transport is a connection that is not silent for longer than stall.
func transport(stall time.Duration) *http.Transport {
	dial := &net.Dialer{Timeout: min(stall, 10*time.Second), KeepAlive: 15 * time.Second}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := dial.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &impatient{c, stall}, nil
		},
		TLSHandshakeTimeout:   min(stall, 10*time.Second),
		ResponseHeaderTimeout: stall,
		IdleConnTimeout:       30 * time.Second,
		MaxIdleConnsPerHost:   32,
		DisableCompression:    true, // pictures are compressed, and sizes must be those of the objects
		ForceAttemptHTTP2:     false,
	}
}

// impatient is a connection whose every read and write has to get on.
type impatient struct {
	net.Conn
	stall time.Duration
}

func (c *impatient) Read(b []byte) (int, error) {
	c.SetReadDeadline(time.Now().Add(c.stall))
	return c.Conn.Read(b)
}

// Write gives the reader time, too: it waits for the answer meanwhile.
func (c *impatient) Write(b []byte) (int, error) {
	c.SetDeadline(time.Now().Add(c.stall))
	return c.Conn.Write(b)
}

// maxAnswer bounds an answer that is no object, in bytes: a page of 1000 names needs less
// than 8 MiB.
const maxAnswer = 32 << 20

// bounded lets a store send no endless listing.
type bounded struct{ http.RoundTripper }

func (t bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	a, err := t.RoundTripper.RoundTrip(r)
	if err == nil && (r.Method != http.MethodGet || r.URL.Query().Has("list-type")) {
		a.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(a.Body, maxAnswer), a.Body}
	}
	return a, err
}

// String is the folder as a URL.
func (b *Bucket) String() string { return b.url("") }

func (b *Bucket) url(name string) string { return Scheme + path.Join(b.name, b.prefix, name) }

// key is an object's name in the bucket.
func (b *Bucket) key(name string) string { return path.Join(b.prefix, name) }

// Probe tries whether the store honours If-None-Match, by which results are published once:
// of two writes of the object name the second must be refused. The object stays.
func (b *Bucket) Probe(ctx context.Context, name string) error {
	for range 2 {
		first, err := b.CreateText(ctx, name, []byte("enhance farm\n"))
		if err != nil || !first {
			return err
		}
	}
	return &Error{Op: "publish in", URL: b.String(), Kind: Unusable,
		Err: fmt.Errorf("the store replaces objects in spite of If-None-Match, by which results are published once: choose another store, or a folder, or the objects of a farm")}
}
