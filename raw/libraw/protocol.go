package libraw

import (
	"encoding/binary"
	"fmt"
	"io"
)

// A reply is a frame:
//
//	byte  0     kind
//	bytes 1..4  length of the payload, little-endian
//	bytes 5..   the payload
//
// The process sends kindIdentified by itself. Then it answers requests, each of two
// 32-bit numbers, little-endian: rows 0 to 0 ask it to decode, y0 and a number of rows
// for samples.
type kind byte

const (
	kindIdentified kind = 'I' // facts as JSON, before anything is decoded
	kindDecoded    kind = 'D' // the same after it: levels may depend on the samples
	kindRows       kind = 'R' // samples, 16 bits each, little-endian
	kindUnusable   kind = 'L' // there is no LibRaw that can be used; why, as text
	kindUnknown    kind = 'U' // LibRaw does not know the format; its version, as text
	kindDamaged    kind = 'E' // LibRaw cannot read the file; why, as text
)

const (
	headerBytes  = 5
	requestBytes = 8
	maxRowsBytes = 512 << 10 // of samples; a row has at most 128 KiB
	maxPayload   = maxRowsBytes
)

func writeFrame(w io.Writer, k kind, payload []byte) error {
	b := make([]byte, headerBytes, headerBytes+len(payload))
	b[0] = byte(k)
	binary.LittleEndian.PutUint32(b[1:], uint32(len(payload)))
	_, err := w.Write(append(b, payload...))
	return err
}

// readFrame reads a frame whose payload fits into room, where it is put. An end before
// the frame is io.EOF.
func readFrame(r io.Reader, room []byte) (kind, []byte, error) {
	var head [headerBytes]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	k, n := kind(head[0]), binary.LittleEndian.Uint32(head[1:])
	if uint64(n) > uint64(len(room)) {
		return k, nil, &nonsense{fmt.Sprintf("an answer of %d bytes where at most %d can be", n, len(room))}
	}
	payload := room[:n]
	if _, err := io.ReadFull(r, payload); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return k, nil, err
	}
	return k, payload, nil
}

// nonsense is an answer that no sound process gives.
type nonsense struct{ what string }

func (e *nonsense) Error() string { return e.what }

func encodeRequest(y0, n int) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(y0))
	return binary.LittleEndian.AppendUint32(b, uint32(n))
}

func decodeRequest(b []byte) (y0, n int) {
	return int(binary.LittleEndian.Uint32(b)), int(binary.LittleEndian.Uint32(b[4:]))
}
