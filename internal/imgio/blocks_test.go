package imgio

import (
	"bytes"
	"compress/flate"
	"io"
	"math/rand/v2"
	"testing"
)

// TestDeflatersForget: what a deflater compressed before changes no byte of what it
// compresses now, be it longer, shorter, noise or repetitions: which of them a block
// gets depends on the moment.
func TestDeflatersForget(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	fresh := func() *deflater { return &deflater{search: 1} } // search all for repetitions
	used := fresh()
	for turn := range 60 {
		data := make([]byte, []int{0, 1, 100, 5000, 70000, 300000}[rng.IntN(6)])
		few, period := 1+rng.IntN(256), 1+rng.IntN(3000)
		for i := range data {
			if data[i] = byte(rng.IntN(few)); i >= period && turn%3 > 0 {
				data[i] = data[i-period]
			}
		}
		last := turn%2 == 0
		d := fresh()
		d.compress(data, last)
		used.out = used.out[:0]
		used.compress(data, last)
		if !bytes.Equal(d.out, used.out) {
			t.Fatalf("turn %d: %d bytes (%d values, period %d) become %d by a new deflater and %d by a used one, or others", turn, len(data), few, period, len(d.out), len(used.out))
		}
		got, err := io.ReadAll(flate.NewReader(bytes.NewReader(used.out)))
		if !last && err == io.ErrUnexpectedEOF { // the stream is still open
			err = nil
		}
		if err != nil || !bytes.Equal(got, data) {
			t.Fatalf("turn %d: %d bytes come back as %d: %v", turn, len(data), len(got), err)
		}
	}
}

// TestSmoothBlocks: a block of smooth noise, whose codes are short, is not searched for repetitions,
// and one that is partly flat is, and becomes smaller.
func TestSmoothBlocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	data := make([]byte, 1<<18)
	for i := range data {
		if v := rng.IntN(100); v < 12 {
			data[i] = 1
		} else if v < 24 {
			data[i] = 255
		}
	}
	plain := func(data []byte) int { return len(new(huffman).append(nil, data, true)) }
	for _, flat := range []int{0, len(data) / 2} {
		clear(data[:flat])
		for i := range data[flat:] {
			if flat > 0 && i%3 == 0 {
				data[flat+i] = byte(rng.IntN(4))
			}
		}
		d := borrowDeflater(8, 0)
		d.compress(data, true)
		n := plain(data)
		if share := float64(n) / float64(len(data)); share < flatShare || share >= plainShare[0] {
			t.Fatalf("codes have a share of %.3f: not what this is a test of", share)
		}
		if flat == 0 && (hasFlat(data) || len(d.out) != n) {
			t.Errorf("smooth noise is searched: %d bytes, codes alone %d", len(d.out), n)
		}
		if flat > 0 && (!hasFlat(data) || len(d.out) >= n*9/10) {
			t.Errorf("a flat area is not searched: %d bytes, codes alone %d", len(d.out), n)
		}
	}
}
