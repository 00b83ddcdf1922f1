package main

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"regexp"
)

// numbers are those that break arithmetic.
var numbers = []uint64{0, 1, 2, 7, 8, 127, 128, 255, 256, 32767, 32768, 65535, 65536, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1<<63 - 1, 1 << 63, 1<<64 - 1}

// mutate damages b in one, two, four or eight places.
func mutate(r *rand.Rand, b []byte) []byte {
	b = bytes.Clone(b)
	for range 1 << r.IntN(4) {
		if len(b) == 0 {
			return append(b, byte(r.Uint32()))
		}
		b = mutateOnce(r, b)
	}
	return b
}

// place is one in b, mostly near its head, where the facts are.
func place(r *rand.Rand, b []byte) int {
	if r.IntN(3) > 0 {
		return r.IntN(min(len(b), 600))
	}
	return r.IntN(len(b))
}

func mutateOnce(r *rand.Rand, b []byte) []byte {
	at := place(r, b)
	n := 1 + r.IntN(min(len(b)-at, 64))
	switch r.IntN(10) {
	case 0:
		b[at] ^= 1 << r.IntN(8)
	case 1:
		b[at] = byte(r.Uint32())
	case 2, 3, 4:
		putNumber(r, b[at:])
	case 5:
		return b[:at]
	case 6:
		return append(b[:at:at], b[at+n:]...)
	case 7:
		return append(b[:at+n:at+n], b[at:]...)
	case 8:
		clear(b[at : at+n])
	case 9:
		copy(b[at:], b[place(r, b):])
	}
	return b
}

// putNumber writes one of numbers, in either byte order.
func putNumber(r *rand.Rand, b []byte) {
	v := numbers[r.IntN(len(numbers))]
	order := binary.ByteOrder(binary.LittleEndian)
	if r.IntN(2) == 0 {
		order = binary.BigEndian
	}
	switch size := 1 << (1 + r.IntN(3)); {
	case size > len(b):
		b[0] = byte(v)
	case size == 2:
		order.PutUint16(b, uint16(v))
	case size == 4:
		order.PutUint32(b, uint32(v))
	default:
		order.PutUint64(b, v)
	}
}

var (
	value = regexp.MustCompile(`-?[0-9][0-9.e+-]*|"[^"]*"|true|false|null`)
	words = []string{"0", "-1", "1e999", "-0.0", "9223372036854775807", "9223372036854775808", "18446744073709551616", "NaN", "null", "true", "[]", "{}",
		`""`, `"\u001b[2J\u202e"`, `"F16"`, `"pynet"`, `"pynet-m"`, "[[[[[[[[", "1e-320", "2147483648", "0.1"}
)

// mutateText puts other values into one to four places of a text.
func mutateText(r *rand.Rand, b []byte) []byte {
	for range 1 + r.IntN(4) {
		at := value.FindAllIndex(b, -1)
		if len(at) == 0 {
			return mutate(r, b)
		}
		m := at[r.IntN(len(at))]
		b = bytes.Join([][]byte{b[:m[0]], []byte(words[r.IntN(len(words))]), b[m[1]:]}, nil)
	}
	return b
}

// mutateSafetensors damages the header, which says its own length.
func mutateSafetensors(r *rand.Rand, b []byte) []byte {
	n := int(binary.LittleEndian.Uint64(b))
	header := mutateText(r, b[8:8+n])
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(out, header...), b[8+n:]...)
}

// fixPNG corrects the checksums of a PNG's chunks, so that what is behind them is reached.
func fixPNG(b []byte) []byte {
	for at := 8; at+12 <= len(b); {
		n := int(binary.BigEndian.Uint32(b[at:]))
		if n > len(b)-at-12 {
			break
		}
		binary.BigEndian.PutUint32(b[at+8+n:], crc32.ChecksumIEEE(b[at+4:at+8+n]))
		at += 12 + n
	}
	return b
}
