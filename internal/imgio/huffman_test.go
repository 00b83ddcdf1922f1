package imgio

import (
	"bytes"
	"compress/flate"
	"io"
	"math"
	"math/rand/v2"
	"testing"
)

// inflated undoes deflate with the standard library, which shares no code with ours.
func inflated(t *testing.T, packed []byte, last bool) []byte {
	t.Helper()
	if !last { // end the stream, which is open, by an empty stored block
		packed = append(bytes.Clone(packed), 1, 0, 0, 0xff, 0xff)
	}
	r := bytes.NewReader(packed)
	data, err := io.ReadAll(flate.NewReader(r))
	if err != nil || r.Len() > 0 {
		t.Fatalf("%d bytes inflate to %d and leave %d: %v", len(packed), len(data), r.Len(), err)
	}
	return data
}

// TestHuffman: bytes of any distribution come back, near the size that their entropy allows, and
// noise does not grow.
func TestHuffman(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var c huffman
	for _, n := range []int{0, 1, 2, 3, 4, 5, 1000, sameCode - 1, sameCode, sameCode + 1, 3*sameCode + 77} {
		for name, draw := range map[string]func() byte{
			"one value":  func() byte { return 7 },
			"two values": func() byte { return byte(rng.IntN(2)) * 255 },
			"noise":      func() byte { return byte(rng.Uint32()) },
			"peaked":     func() byte { return byte(int(rng.NormFloat64() * 4)) },
			"skewed":     func() byte { return byte(min(255, rng.ExpFloat64()*8)) },
			// Counts like Fibonacci's make codes longer than deflate has.
			"deep": func() byte { return byte(min(40, -math.Log(1-rng.Float64())/math.Log(math.Phi))) },
		} {
			data := make([]byte, n)
			var counts [256]float64
			for i := range data {
				data[i] = draw()
				counts[data[i]]++
			}
			bits := 0.0
			for _, k := range counts {
				if k > 0 {
					bits -= k * math.Log2(k/float64(n))
				}
			}
			for _, last := range []bool{false, true} {
				got := c.append([]byte{1, 2, 3}, data, last)
				if !bytes.Equal(got[:3], []byte{1, 2, 3}) || !bytes.Equal(inflated(t, got[3:], last), data) {
					t.Fatalf("%d bytes, %s, last %v: other bytes", n, name, last)
				}
				blocks := n/sameCode + 1
				// A Huffman code takes at most one bit a byte more than the entropy, and
				// far less of many values; a stored block five bytes.
				most := min(bits/8+float64(n)/8, float64(n)) + 120*float64(blocks) + 20
				if name == "noise" || name == "peaked" || name == "skewed" {
					most = min(bits/8*1.03, float64(n)) + 200*float64(blocks)
				}
				if float64(len(got)) > most {
					t.Errorf("%d bytes, %s: %d bytes, want at most %.0f", n, name, len(got), most)
				}
			}
		}
	}
}

// TestHuffmanAnyway: the bytes are the same however many are coded at a time.
func TestHuffmanAnyway(t *testing.T) {
	fast, many := fastCodes, manyCodes
	defer func() { fastCodes, manyCodes = fast, many }()
	rng := rand.New(rand.NewPCG(21, 22))
	var c huffman
	for n := range 400 {
		if n >= 300 {
			n = rng.IntN(2 * sameCode)
		}
		data, spread := make([]byte, n), 1+rng.ExpFloat64()*30
		for i := range data {
			data[i] = byte(int(rng.NormFloat64() * spread))
		}
		var want []byte
		for _, at := range []struct{ fast, many bool }{{false, false}, {fast, false}, {fast, many}} {
			fastCodes, manyCodes = at.fast, at.many
			got := c.append([]byte{1}, data, n%2 == 0)
			if want == nil {
				want = got
			}
			if !bytes.Equal(got, want) {
				t.Fatalf("%d bytes, four at a time %v, 64 at a time %v: other codes", n, at.fast, at.many)
			}
		}
	}
}

// TestHuffmanUnseen: bytes that stand nowhere among those that are counted come back too, and never
// grow by more than a stored block does.
func TestHuffmanUnseen(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	var c huffman
	for n := manyBytes - 1; n < 2*sameCode; n += 29973 {
		for _, share := range []float64{1, 0.02} {
			data := make([]byte, n)
			for i := range data {
				if i%sameCode%countStretch >= countWindow && rng.Float64() < share {
					data[i] = byte(rng.Uint32())
				}
			}
			got := c.append(nil, data, true)
			if !bytes.Equal(inflated(t, got, true), data) {
				t.Fatalf("%d bytes, %g of them not counted: other bytes", n, share)
			}
			if len(got) > n+8*(n/sameCode+1) {
				t.Errorf("%d bytes, %g of them not counted: %d bytes", n, share, len(got))
			}
		}
	}
}

// TestDepths: the lengths of a code cost least, by trying all pairs as Huffman does.
func TestDepths(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for n := 2; n < 60; n++ {
		weights := make([]int, n)
		for i, sum := 0, 0; i < n; i++ {
			sum += rng.IntN(1 + i*i)
			weights[i] = 1 + sum
		}
		least, left := 0, append([]int(nil), weights...)
		for len(left) > 1 { // the two smallest become one
			for k := range 2 {
				for i := k; i < len(left); i++ {
					if left[i] < left[k] {
						left[i], left[k] = left[k], left[i]
					}
				}
			}
			least += left[0] + left[1]
			left = append(left[2:], left[0]+left[1])
		}
		d := append([]int(nil), weights...)
		depths(d)
		cost, kraft := 0, 0.0
		for i, w := range weights {
			cost += w * d[i]
			kraft += math.Pow(2, -float64(d[i]))
		}
		if cost != least || kraft != 1 {
			t.Errorf("%d weights: cost %d, want %d; Kraft's sum %g", n, cost, least, kraft)
		}
	}
}

func FuzzHuffman(f *testing.F) {
	f.Add([]byte("abracadabra"), true)
	f.Add([]byte{}, false)
	f.Add(bytes.Repeat([]byte{0, 0, 0, 255}, 100), true)
	var c huffman
	f.Fuzz(func(t *testing.T, data []byte, last bool) {
		if !bytes.Equal(inflated(t, c.append(nil, data, last), last), data) {
			t.Fatal("other bytes")
		}
	})
}
