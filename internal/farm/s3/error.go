package s3

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"

	"github.com/minio/minio-go/v7"
)

// Kind says what is at fault.
type Kind int

const (
	// Unreachable: no answer, or the store failed, however often it was asked.
	Unreachable Kind = iota
	// Missing: there is no such object.
	Missing
	// NoBucket: there is no such bucket.
	NoBucket
	// Denied: the credentials are known and do not allow this.
	Denied
	// Unknown: the credentials are not accepted, or the clock of this machine is wrong.
	Unknown
	// Full: the store has no room.
	Full
	// Unusable: the store lacks what a farm needs, or gave an answer that is none.
	Unusable
)

// Error is a request that failed.
type Error struct {
	Op   string // "read", "write", "list"
	URL  string // of the object or folder
	Kind Kind
	Err  error // as the store or the network says
}

func (e *Error) Error() string {
	text := fmt.Sprintf("cannot %s %s: ", e.Op, e.URL)
	switch e.Kind {
	case Missing:
		return text + "there is no such object"
	case NoBucket:
		return text + "there is no such bucket: make it, or correct the URL, the endpoint or the region"
	case Denied:
		return text + "the credentials do not allow it: " + e.Err.Error()
	case Unknown:
		return text + "the credentials are not accepted: " + e.Err.Error() + ": check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, the region and this machine's clock"
	case Full:
		return text + "the store has no room: " + e.Err.Error()
	}
	return text + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// Is lets Missing be fs.ErrNotExist and Denied fs.ErrPermission.
func (e *Error) Is(target error) bool {
	return target == fs.ErrNotExist && e.Kind == Missing || target == fs.ErrPermission && e.Kind == Denied
}

// fail makes an Error of what the client says. An interrupt stays one.
func (b *Bucket) fail(ctx context.Context, op, name string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var own *Error
	if errors.As(err, &own) {
		return err
	}
	return &Error{op, b.url(name), kindOf(err), err}
}

// kindOf reads the codes that stores use.
func kindOf(err error) Kind {
	var a minio.ErrorResponse
	if !errors.As(err, &a) {
		return Unreachable
	}
	switch a.Code {
	case "NoSuchKey", "NotFound", "NoSuchVersion":
		return Missing
	case "NoSuchBucket":
		return NoBucket
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "ExpiredTokenException", "InvalidToken", "RequestTimeTooSkewed", "AuthorizationHeaderMalformed", "TokenRefreshRequired", "InvalidRegion":
		return Unknown
	case "XMinioStorageFull", "QuotaExceeded", "XMinioAdminBucketQuotaExceeded", "EntityTooLargeForQuota", "InsufficientStorage":
		return Full
	case "NotImplemented", "MethodNotAllowed", "KeyTooLongError", "InvalidArgument", "InvalidRequest":
		return Unusable
	}
	switch {
	case a.StatusCode == http.StatusNotFound:
		return Missing
	case a.StatusCode == http.StatusForbidden || a.StatusCode == http.StatusUnauthorized:
		return Denied
	case a.StatusCode == http.StatusInsufficientStorage:
		return Full
	case a.StatusCode >= 400 && a.StatusCode < 500 && a.StatusCode != http.StatusTooManyRequests &&
		a.StatusCode != http.StatusRequestTimeout && a.StatusCode != http.StatusConflict:
		return Unusable
	}
	return Unreachable
}

// there reports whether a conditional write was refused because the object is there.
func there(err error) bool {
	var a minio.ErrorResponse
	return errors.As(err, &a) && (a.StatusCode == http.StatusPreconditionFailed || a.Code == "PreconditionFailed")
}

// contended reports whether another write of the object was under way.
func contended(err error) bool {
	var a minio.ErrorResponse
	return errors.As(err, &a) && a.StatusCode == http.StatusConflict
}
