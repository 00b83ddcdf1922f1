package compilers

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"enhance/clrt"
)

// A message is a frame:
//
//	byte  0     kind
//	bytes 1..4  length of the payload, little-endian
//	bytes 5..   the payload
//
// The parent's first message says which device, each further one is a program. The
// child answers all of them, in order.
type kind byte

const (
	kindDevice  kind = 'D' // parent: a hello as JSON
	kindProgram kind = 'P' // parent: length of the options in 4 bytes, options, source
	kindReady   kind = 'R' // child: the device is open; no payload
	kindBinary  kind = 'B' // child: the program's binary
	kindFailed  kind = 'F' // child: that could not be done; why, as text
)

// protocolVersion changes with the meaning of messages. Both ends are of one
// executable as a rule, which may have been replaced in the meantime.
const protocolVersion = 1

// maxPayload bounds a message: programs are kilobytes, binaries a megabyte or two.
const maxPayload = 256 << 20

// hello is the first message.
type hello struct {
	Version int           `json:"version"`
	Device  clrt.Identity `json:"device"`
}

func writeMessage(w io.Writer, k kind, parts ...string) error {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	if n > maxPayload {
		return fmt.Errorf("compilers: a message of %d bytes: at most %d are sent", n, maxPayload)
	}
	b := make([]byte, 0, 5+n)
	b = binary.LittleEndian.AppendUint32(append(b, byte(k)), uint32(n))
	for _, p := range parts {
		b = append(b, p...)
	}
	_, err := w.Write(b)
	return err
}

// readMessage returns io.EOF where the pipe ended before a message began.
func readMessage(r io.Reader) (kind, []byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.LittleEndian.Uint32(head[1:])
	if n > maxPayload {
		return 0, nil, fmt.Errorf("compilers: a message of %d bytes: at most %d are taken", n, maxPayload)
	}
	payload, err := io.ReadAll(io.LimitReader(r, int64(n))) // grows with what really comes
	if err == nil && len(payload) < int(n) {
		err = io.ErrUnexpectedEOF
	}
	return kind(head[0]), payload, err
}

func writeProgram(w io.Writer, options, source string) error {
	var n [4]byte
	binary.LittleEndian.PutUint32(n[:], uint32(len(options)))
	return writeMessage(w, kindProgram, string(n[:]), options, source)
}

func parseProgram(payload []byte) (options, source string, err error) {
	if len(payload) < 4 {
		return "", "", errors.New("compilers: a program of fewer than 4 bytes")
	}
	n := binary.LittleEndian.Uint32(payload)
	if payload = payload[4:]; uint64(n) > uint64(len(payload)) {
		return "", "", fmt.Errorf("compilers: options of %d bytes in a program of %d", n, len(payload))
	}
	return string(payload[:n]), string(payload[n:]), nil
}

func parseHello(payload []byte) (clrt.Identity, error) {
	var h hello
	if err := json.Unmarshal(payload, &h); err != nil {
		return h.Device, fmt.Errorf("compilers: %w", err)
	}
	if h.Version != protocolVersion {
		return h.Device, fmt.Errorf("compilers: protocol %d, want %d", h.Version, protocolVersion)
	}
	return h.Device, nil
}
