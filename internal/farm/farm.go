// Package farm is what the parts of a farm agree on: many machines that develop the photos
// of one archive.
//
// Begin with [Order] and [Task], which a submitter makes; [Key], which names a result by
// all that decides its bytes; and [Receipt], which says how a result was made. policy.go has
// every decision of workers and queue that is no transport: who takes a task, when a photo
// is given up, how long a failure waits. The simulation in farm/sim runs the same policies.
//
//	farm/store   results, published once each: a shared file system or an object store
//	farm/s3      an S3-compatible object store
//	farm/queue   tasks with leases, on NATS JetStream
//	farm/work    a worker, and the check of results by another one
//	farm/sim     a discrete simulation of a farm
//
// The store of results is the truth. The queue may be lost: what is missing is what the
// sources have and the store has not.
package farm

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
)

// maxText bounds an order, a task or a receipt, in bytes of JSON.
const maxText = 64 << 10

// FormatError says that some bytes are no task, order or receipt.
type FormatError struct {
	What    string // "task", "order", "receipt"
	Problem string
}

func (e *FormatError) Error() string { return "this is no " + e.What + ": " + e.Problem }

// parse reads JSON of a known form: one value, and no field that this version does not know.
func parse(what string, data []byte, into any) error {
	if len(data) > maxText {
		return &FormatError{what, fmt.Sprintf("%d bytes are more than %d", len(data), maxText)}
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return &FormatError{what, err.Error()}
	}
	if _, err := d.Token(); err != io.EOF {
		return &FormatError{what, "something follows its JSON value"}
	}
	return nil
}

// encode is JSON of a value that this package defines.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // only strings, numbers and slices of them
	}
	return data
}

// Hash is the hexadecimal SHA-256 of parts, each with its length before it, so that no
// two lists of parts look alike.
func Hash(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:", len(p))
		io.WriteString(h, p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// IsHash reports whether text is a SHA-256 as Hash writes it.
func IsHash(text string) bool {
	return len(text) == 2*sha256.Size && strings.Trim(text, "0123456789abcdef") == ""
}

// maxName is the longest name of a photo or picture, in bytes.
const maxName = 4096

// CheckName refuses names that do not stay below a root: the names of tasks are relative,
// with slashes, without "..".
func CheckName(name string) error {
	switch {
	case name == "" || name == ".":
		return fmt.Errorf("a name is empty")
	case len(name) > maxName:
		return fmt.Errorf("a name of %d bytes is longer than %d", len(name), maxName)
	case !fs.ValidPath(name) || strings.ContainsAny(name, "\x00\\"):
		return fmt.Errorf("%q is no relative name in UTF-8 with slashes", name)
	case strings.Split(name, "/")[0] == Folder:
		return fmt.Errorf("%q is in the farm's own folder", name)
	}
	return nil
}

// Escapes reports whether a file was refused because its path leads out of an os.Root, by a
// link. The standard library has no name for that error.
func Escapes(err error) bool {
	return err != nil && strings.HasSuffix(err.Error(), "path escapes from parent")
}

// Folder is where a store keeps what is not for people, below the output directory. Being
// hidden, it is passed over by enhance -r.
const Folder = ".enhance"

// The longest extensions of pictures and of settings' files (.safetensors), in bytes.
const maxPictureExtension, maxExtension = 8, 16

// checkExtension refuses what cannot end the name of a file.
func checkExtension(ext string, most int) error {
	if len(ext) < 2 || len(ext) > most || path.Ext("x"+ext) != ext || strings.ContainsAny(ext, "/\\\x00") {
		return fmt.Errorf("%q is no file extension", ext)
	}
	return nil
}
