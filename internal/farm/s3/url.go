package s3

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/minio/minio-go/v7/pkg/s3utils"
)

// Scheme begins the URLs of this package: s3://BUCKET or s3://BUCKET/PREFIX.
const Scheme = "s3://"

// OptionError says that a URL, an endpoint or the credentials cannot be used as they were
// given. It never quotes a secret.
type OptionError struct{ Problem string }

func (e *OptionError) Error() string { return e.Problem }

func optionf(format string, args ...any) error { return &OptionError{fmt.Sprintf(format, args...)} }

// IsURL reports whether text names a place in an object store rather than a folder.
func IsURL(text string) bool {
	return len(text) >= len(Scheme) && strings.EqualFold(text[:len(Scheme)], Scheme)
}

// maxKey is the longest name of an object, in bytes of UTF-8.
const maxKey = 1024

// Parse splits s3://BUCKET/PREFIX. The prefix is a relative path with slashes, "" for the
// whole bucket. Unlike web addresses these URLs have no escapes, no queries and no user.
func Parse(text string) (bucket, prefix string, err error) {
	if !IsURL(text) {
		return "", "", optionf("an object store is named as s3://BUCKET/PREFIX")
	}
	bucket, prefix, _ = strings.Cut(text[len(Scheme):], "/")
	if strings.Contains(bucket, "@") {
		return "", "", optionf("an s3:// URL holds no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	}
	if err := s3utils.CheckValidBucketNameStrict(bucket); err != nil {
		return "", "", optionf("%q is no name of a bucket: %v", bucket, err)
	}
	prefix = strings.TrimSuffix(prefix, "/")
	switch {
	case len(prefix) > maxKey/2:
		return "", "", optionf("the prefix in s3://%s has %d bytes, more than %d", bucket, len(prefix), maxKey/2)
	case prefix != "" && (path.Clean("/" + prefix)[1:] != prefix || !utf8.ValidString(prefix) || strings.ContainsAny(prefix, "\\\x00")):
		return "", "", optionf("%q is no prefix: want names with single slashes between them, and no . or ..", prefix)
	}
	return bucket, prefix, nil
}

// endpointOf is the host of an endpoint, and whether it is reached by TLS.
func endpointOf(text, region string) (host string, secure bool, err error) {
	if text == "" {
		return "s3." + region + ".amazonaws.com", true, nil
	}
	u, err := url.Parse(text)
	if err == nil && u.User != nil {
		return "", false, optionf("the endpoint of the object store holds no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	}
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", false, optionf("the endpoint of the object store is no URL such as https://HOST:PORT")
	}
	return u.Host, u.Scheme == "https", nil
}

// fromEnvironment completes options by the variables that AWS's own tools read.
func (o *Options) fromEnvironment() {
	o.Endpoint = cmp.Or(o.Endpoint, os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"))
	o.Region = cmp.Or(o.Region, os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"), "us-east-1")
}
