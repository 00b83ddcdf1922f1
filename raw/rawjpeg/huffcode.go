package rawjpeg

import (
	"encoding/binary"
	"slices"
)

// huffCode is an optimal Huffman code for symbols of given frequencies.
type huffCode struct {
	counts         [16]byte // codes of length i+1
	values         []byte   // symbols in the order of their codes
	codes, lengths []int    // by symbol
}

func newHuffCode(freq []int) *huffCode {
	h := &huffCode{codes: make([]int, len(freq)), lengths: codeLengths(freq)}
	code := 0
	for l := 1; l <= 16; l++ { // T.81 annex C
		for s, n := range h.lengths {
			if n == l {
				h.counts[l-1]++
				h.values = append(h.values, byte(s))
				h.codes[s] = code
				code++
			}
		}
		code <<= 1
	}
	return h
}

// appendTable appends the code as a segment of tables, for class and destination as in
// its first byte.
func (h *huffCode) appendTable(out []byte, which byte) []byte {
	out = append(out, 0xFF, mDHT)
	out = binary.BigEndian.AppendUint16(out, uint16(19+len(h.values)))
	out = append(out, which)
	out = append(out, h.counts[:]...)
	return append(out, h.values...)
}

// codeLengths returns a Huffman code length of at most 16 for every symbol
// that occurs (T.81 annex K.2). One more symbol of frequency 1 takes part and
// is then dropped, so that no code is all ones.
func codeLengths(freq []int) []int {
	type node struct {
		freq  int
		leafs []int
	}
	nodes := []node{{1, []int{len(freq)}}}
	for s, f := range freq {
		if f > 0 {
			nodes = append(nodes, node{f, []int{s}})
		}
	}
	length := make([]int, len(freq)+1)
	for len(nodes) > 1 {
		// Merge the two rarest.
		for k := range 2 {
			least := k
			for i := k + 1; i < len(nodes); i++ {
				if nodes[i].freq < nodes[least].freq {
					least = i
				}
			}
			nodes[k], nodes[least] = nodes[least], nodes[k]
		}
		merged := node{nodes[0].freq + nodes[1].freq, append(nodes[0].leafs, nodes[1].leafs...)}
		for _, s := range merged.leafs {
			length[s]++
		}
		nodes = append(nodes[2:], merged)
	}
	if slices.Max(length) > 16 {
		// Too deep only when frequencies grow like Fibonacci numbers; flatter
		// ones give a shorter code that is hardly longer on average.
		flatter := make([]int, len(freq))
		for s, f := range freq {
			flatter[s] = (f + 1) / 2
		}
		return codeLengths(flatter)
	}
	return length[:len(freq)]
}
