// Package serve is how a command hands photos to a process that stays: messages over a
// local socket, with open files beside them.
//
// A connection is for one photo. The server says [Hello], the client sends a [Request] with
// two open files, the photo and an empty file for the picture, and the server answers with
// [Reply] messages, the last of which has a Result or says why there is none. A client that
// closes its connection gives its photo up. A message is the number of its bytes (32 bits,
// the most significant byte first) and as many bytes of JSON.
//
// Begin with [Listen] and [Dial]. Only processes of the same user get through, as the kernel
// says of the other end (SO_PEERCRED). The server opens no path for a client.
package serve

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Limits of messages, in bytes, and how long either end waits for one that is due.
const (
	maxHello   = 1 << 18
	maxRequest = 1 << 18
	maxReply   = 16 << 20
	patience   = 10 * time.Second
)

// Hello is what a server says of itself.
type Hello struct {
	// Settings decide how pictures come out, and must be equal at both ends.
	Settings map[string]string `json:"settings"`
	Full     bool              `json:"full"` // no more photos are taken now
}

// Request is an order for one photo.
type Request struct {
	Args   []string `json:"args"`   // flags, in the form --name=value
	Input  []byte   `json:"input"`  // what messages call the photo; nothing is opened by it
	Output []byte   `json:"output"` // likewise the picture; its extension may say the format
	Stream bool     `json:"stream"` // the picture is in the form for streams
}

// Reply is one message about the photo; one of its fields is set.
type Reply struct {
	Waiting int             `json:"waiting,omitempty"` // photos that come before
	Planned json.RawMessage `json:"planned,omitempty"` // the report before the run
	Done    int64           `json:"done,omitempty"`    // operations, of Total
	Total   int64           `json:"total,omitempty"`
	Say     string          `json:"say,omitempty"` // a warning
	// The last message has one of these.
	Result  *Result `json:"result,omitempty"`
	Refused string  `json:"refused,omitempty"` // why the photo is not developed here
}

// Result is what became of the photo.
type Result struct {
	Report  json.RawMessage `json:"report,omitempty"`
	Status  int             `json:"status"`  // exit status
	Message string          `json:"message"` // of a failure
}

// ErrNone is the error of Dial where nobody serves.
var ErrNone = errors.New("no server")

// InUseError says that another server has the socket.
type InUseError struct{ Path string }

func (e *InUseError) Error() string {
	return e.Path + ": another server has this socket: end it first, or give --socket another path"
}

// frame is a message as it is sent.
func frame(v any, most int) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if len(text) > most {
		return nil, fmt.Errorf("serve: a message has %d bytes, and %d are allowed", len(text), most)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...), nil
}

// readFrame reads a message of at most that many bytes into v. It allocates no more than came.
func readFrame(r io.Reader, most int, v any) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(head[:])
	if int64(n) > int64(most) {
		return fmt.Errorf("serve: a message has %d bytes, and %d are allowed", n, most)
	}
	var text bytes.Buffer
	if got, err := io.CopyN(&text, r, int64(n)); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("serve: a message ends after %d of %d bytes: %w", got, n, err)
	}
	d := json.NewDecoder(&text)
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("serve: a message goes on behind its end")
	}
	return nil
}
