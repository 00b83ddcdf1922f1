package imgio

import (
	"encoding/binary"
	"hash/adler32"
	"runtime"
	"slices"

	"github.com/klauspost/compress/flate"

	"enhance/internal/buffers"
	"enhance/internal/workers"
)

// blockBytes is how much picture is compressed at a time. Blocks share no
// history, which costs about 1 % of size; in return they run side by side, and
// the bytes depend on this constant only, never on the number of cores.
const blockBytes = 256 << 10

// maxParallel bounds the blocks in flight, and thereby memory: each holds its
// samples, their filtered copy, the result and compressors, about 3 MB.
const maxParallel = 16

// blockRows is how many rows make a block of a picture.
func blockRows(h Header) int {
	return int(min(max(1, blockBytes/h.rowBytes()), int64(h.Height)))
}

// inOrder compresses blocks side by side and emits them in order.
func inOrder[T any](emit func(T) error) *workers.Ordered[T] {
	return workers.NewOrdered(min(runtime.GOMAXPROCS(0), maxParallel), emit)
}

// deflater compresses blocks. It is an io.Writer for its own flate.Writer.
type deflater struct {
	out      []byte
	packed   []byte // of PNG: the row before and the block's, as stored
	filtered []byte
	codes    huffman
	repeats  *flate.Writer // which looks for repetitions, too
	spare    []byte
	search   float64 // see plainShare
}

// deflaters serve one picture after another: new ones for each would make most of the
// garbage of many pictures. They come by borrowDeflater.
var deflaters = buffers.Values[deflater]{New: func() *deflater { return &deflater{} }}

// borrowDeflater returns a deflater for samples of that many bits, with nothing in it and
// room for about n bytes that come out. Who is done with it gives it back to deflaters.
func borrowDeflater(bits, n int) *deflater {
	d := deflaters.Get()
	d.search, d.out = plainShare[min(bits/16, 1)], slices.Grow(d.out[:0], n)
	return d
}

func (d *deflater) Write(p []byte) (int, error) {
	d.out = append(d.out, p...)
	return len(p), nil
}

// plainShare is the size of Huffman codes, as a share of the bytes coded, below
// which a block of 8 or of 16 bits a sample is also searched for repetitions. Flat
// areas, clipped ones above all, and the upper bytes of smooth ones repeat
// themselves; elsewhere filtered samples are noise, and looking for repetitions takes
// most of the time and finds nothing: photographs (kodak, 8 bits) become 1.1 %
// smaller by flate's level 1 at half the speed, and the sample's picture larger.
var plainShare = [2]float64{0.2, 0.375}

// flatShare is the size, as plainShare, below which nearly all bytes are 0, so that they repeat
// themselves. Between both a block of 8 bits is searched only if it has flat areas: smooth ones with a
// little noise have as short codes, and none of 180 such blocks of three developed photos became smaller.
const flatShare = 0.15

// hasFlat reports whether one in 32 of some stretches of filtered samples is nothing but zeros, as flat
// areas are.
func hasFlat(data []byte) bool {
	const (
		stretch = 32  // bytes
		apart   = 128 // from one stretch to the next
		share   = 32
	)
	flat, all := 0, 0
	for ; len(data) >= stretch; data = data[min(apart, len(data)):] {
		word := func(at int) uint64 { return binary.LittleEndian.Uint64(data[at:]) }
		if word(0)|word(8)|word(16)|word(24) == 0 {
			flat++
		}
		all++
	}
	return flat*share >= all
}

// compress appends the deflate blocks of data to d.out. Unless last they end at
// a byte boundary with the stream still open, so that the next ones can follow.
func (d *deflater) compress(data []byte, last bool) {
	start := len(d.out)
	d.out = d.codes.append(d.out, data, last)
	size, all := float64(len(d.out)-start), float64(len(data))
	if size >= d.search*all || size >= flatShare*all && d.search == plainShare[0] && !hasFlat(data) {
		return
	}
	d.spare = append(d.spare[:0], d.out[start:]...)
	d.out = d.out[:start]
	if d.findRepeats(data, last); len(d.out)-start > len(d.spare) {
		d.out = append(d.out[:start], d.spare...)
	}
}

// findRepeats is compress with repetitions.
func (d *deflater) findRepeats(data []byte, last bool) {
	var err error
	if d.repeats == nil {
		d.repeats, err = flate.NewWriter(d, flate.BestSpeed)
	} else {
		d.repeats.Reset(d)
	}
	if err == nil {
		_, err = d.repeats.Write(data)
	}
	if err == nil && last {
		err = d.repeats.Close()
	} else if err == nil {
		err = d.repeats.Flush()
	}
	if err != nil {
		panic("imgio: " + err.Error()) // the level is a constant, and writing to memory cannot fail
	}
}

// zlibHeader opens a zlib stream (RFC 1950) of deflate with a 32 KiB window,
// marked as fastest compression.
var zlibHeader = [2]byte{0x78, 0x01}

// adlerMost is how many bytes adlerUnits takes at a time: its sums of weighted bytes have 32 bits.
const adlerMost = 1 << 20

// adlerOf is the Adler-32 of p.
func adlerOf(p []byte) uint32 {
	if !hasUnits {
		return adler32.Checksum(p)
	}
	sum := uint32(1)
	for len(p) >= filterUnit {
		n := min(len(p)/filterUnit*filterUnit, adlerMost)
		var s [3]uint64
		adlerUnits(&s, &p[0], n)
		// From a = 1 and b = 0 on: a adds up the bytes, b what a is after each.
		a, b := 1+s[0], uint64(n)+filterUnit*s[1]+s[2]
		sum = adlerCombine(sum, uint32(b%adlerModulus<<16|a%adlerModulus), n)
		p = p[n:]
	}
	return adlerCombine(sum, adler32.Checksum(p), len(p))
}

const adlerModulus = 65521

// adlerCombine returns the Adler-32 of two pieces joined, from theirs and the
// length of the second (RFC 1950, section 8: both sums are linear modulo 65521).
func adlerCombine(first, second uint32, secondLen int) uint32 {
	const m = adlerModulus
	n := uint64(secondLen % m)
	a1, b1 := uint64(first&0xffff), uint64(first>>16)
	a2, b2 := uint64(second&0xffff), uint64(second>>16)
	// The second piece was summed from a = 1; in place it starts from a1.
	a := (a1 + a2 + m - 1) % m
	b := (b1 + b2 + n*(a1+m-1)) % m
	return uint32(b<<16 | a)
}
