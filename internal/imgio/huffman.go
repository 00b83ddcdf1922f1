package imgio

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// huffman writes bytes as deflate blocks of Huffman codes alone, without repetitions (RFC 1951,
// section 3.2.7). What filters leave of photographs has few repetitions, and looking for none
// is several times as fast. Its zero value is ready; a call leaves nothing that the next sees.
type huffman struct {
	counts [4][256]uint32 // of bytes, in four parts that do not wait for each other
	sorted []uint64       // symbols with their counts, see lengthsOf
	weight []int          // of its own
	length [symbols]uint8
	code   [symbols]uint32 // bits as they are written from bit 8 on, and below their number
	tables [3][256]byte    // for codeManyUnits
	runs   []run
	out    []byte
	held   uint64 // bits that are no whole byte yet
	n      uint   // their number
}

const (
	endOfBlock = 256
	symbols    = endOfBlock + 1

	sameCode  = 256 << 10 // bytes that share a code
	maxStored = 1<<16 - 1 // bytes of a block that is stored as it is

	// longestCode is short of deflate's 15 so that four codes and a rest fit into 64 bits.
	longestCode = 14
	longestRun  = 7 // of the code of the lengths
)

// append appends data to out. Unless last it ends at a byte boundary with the stream still open.
func (c *huffman) append(out, data []byte, last bool) []byte {
	c.out, c.held, c.n = out, 0, 0
	for first := true; first || len(data) > 0; first = false {
		n := min(len(data), sameCode)
		c.block(data[:n], last && n == len(data))
		data = data[n:]
	}
	if !last { // an empty stored block
		c.bits(0, 3)
		c.align()
		c.out = append(c.out, 0, 0, 0xff, 0xff)
	}
	c.align()
	out = c.out
	c.out = nil
	return out
}

// bits writes the n lower bits of v, at most 32.
func (c *huffman) bits(v uint32, n uint) {
	c.held |= uint64(v) << c.n
	for c.n += n; c.n >= 8; c.n -= 8 {
		c.out = append(c.out, byte(c.held))
		c.held >>= 8
	}
}

// align fills up the last byte.
func (c *huffman) align() {
	if c.n > 0 {
		c.bits(0, 8-c.n)
	}
}

// block writes a block with a code of its own, or as it is if that is shorter.
func (c *huffman) block(data []byte, last bool) {
	c.counts = [4][256]uint32{}
	if len(data) < manyBytes {
		c.count(data)
	} else {
		for rest := data; len(rest) > 0; rest = rest[min(countStretch, len(rest)):] {
			c.count(rest[:min(countWindow, len(rest))])
		}
		for s := range endOfBlock { // those that were not seen need a code too
			c.counts[0][s]++
		}
	}
	c.lengthsOf(c.length[:], longestCode, func(s int) uint64 {
		if s == endOfBlock {
			return 1
		}
		return uint64(c.counts[0][s]) + uint64(c.counts[1][s]) + uint64(c.counts[2][s]) + uint64(c.counts[3][s])
	})
	codesOf(c.code[:], c.length[:])
	before, held, n := len(c.out), c.held, c.n
	c.bits(finalBit(last)|2<<1, 3) // a code of its own
	c.lengths()
	c.write(data)
	end := c.code[endOfBlock]
	c.bits(end>>8, uint(end&0xff))
	if len(data) > 0 && len(c.out)-before > len(data) {
		c.out, c.held, c.n = c.out[:before], held, n
		c.stored(data, last)
	}
}

// Of many bytes those in one window of every stretch are counted: files of photographs become
// larger by 0.5 %, most of it lengths of codes for bytes that do not occur.
const (
	manyBytes    = 8 << 10
	countWindow  = 64
	countStretch = 512
)

func finalBit(last bool) uint32 {
	if last {
		return 1
	}
	return 0
}

// stored writes data as it is.
func (c *huffman) stored(data []byte, last bool) {
	for len(data) > 0 {
		n := min(len(data), maxStored)
		c.bits(finalBit(last && n == len(data)), 3)
		c.align()
		c.out = binary.LittleEndian.AppendUint16(c.out, uint16(n))
		c.out = binary.LittleEndian.AppendUint16(c.out, ^uint16(n))
		c.out = append(c.out, data[:n]...)
		data = data[n:]
	}
}

// count adds the bytes of data to the counts.
func (c *huffman) count(data []byte) {
	a, b, d, e := &c.counts[0], &c.counts[1], &c.counts[2], &c.counts[3]
	for ; len(data) >= 8; data = data[8:] {
		v := binary.LittleEndian.Uint64(data)
		a[byte(v)]++
		b[byte(v>>8)]++
		d[byte(v>>16)]++
		e[byte(v>>24)]++
		a[byte(v>>32)]++
		b[byte(v>>40)]++
		d[byte(v>>48)]++
		e[byte(v>>56)]++
	}
	for _, v := range data {
		a[v]++
	}
}

// write writes the codes of data.
func (c *huffman) write(data []byte) {
	c.out = slices.Grow(c.out, len(data)/8*longestCode+32)
	out, at := c.out[:cap(c.out)], len(c.out)
	held, n, code := c.held, uint32(c.n), (*[256]uint32)(c.code[:256])
	if k := len(data) / codesUnit * codesUnit; manyCodes && k > 0 {
		for s, v := range code {
			c.tables[0][s], c.tables[1][s], c.tables[2][s] = byte(v>>8), byte(v>>16), byte(v)
		}
		written, rest, left := codeManyUnits(&out[at], &data[0], k, &c.tables, held, uint64(n))
		at, held, n, data = at+written, rest, uint32(left), data[k:]
	}
	if k := len(data) / codeUnit * codeUnit; fastCodes && k > 0 {
		written, rest, left := codeUnits(&out[at], &data[0], k, code, held, uint64(n))
		at, held, n, data = at+written, rest, uint32(left), data[k:]
	}
	for ; len(data) >= 4; data = data[4:] {
		p, q, r, s := code[data[0]], code[data[1]], code[data[2]], code[data[3]]
		pl, ql, rl, sl := p&0xff, q&0xff, r&0xff, s&0xff
		two := uint64(p>>8) | uint64(q>>8)<<(pl&63)
		more := uint64(r>>8) | uint64(s>>8)<<(rl&63)
		held |= (two | more<<((pl+ql)&63)) << (n & 63)
		n += pl + ql + rl + sl
		binary.LittleEndian.PutUint64(out[at:], held)
		at += int(n >> 3)
		held >>= n &^ 7 & 63
		n &= 7
	}
	c.out, c.held, c.n = out[:at], held, uint(n)
	for _, v := range data {
		p := code[v]
		c.bits(p>>8, uint(p&0xff))
	}
}

// lengthsOf gives the symbols that are there the lengths of their codes, at most so long: Huffman's,
// by the method of A. Moffat and J. Katajainen, "In-Place Calculation of Minimum-Redundancy
// Codes" (1995), where those that are too long are cut and others made longer for it. There are
// at least two codes.
func (c *huffman) lengthsOf(length []uint8, most int, count func(s int) uint64) {
	const symbolBits = 9
	c.sorted = c.sorted[:0]
	for s := range length {
		if n := count(s); n > 0 {
			c.sorted = append(c.sorted, n<<symbolBits|uint64(s))
		}
	}
	clear(length)
	for s := 0; len(c.sorted) < 2; s++ {
		if count(s) == 0 {
			c.sorted = append(c.sorted, 1<<symbolBits|uint64(s))
		}
	}
	slices.Sort(c.sorted)
	c.weight = c.weight[:0]
	for _, v := range c.sorted {
		c.weight = append(c.weight, int(v>>symbolBits))
	}
	depths(c.weight)
	// With so many codes of each length the sum of 2^-length is 1, before and after the cut.
	var codes [symbols]int
	for _, d := range c.weight {
		codes[min(d, most)]++
	}
	sum := 0
	for l := 1; l <= most; l++ {
		sum += codes[l] << (most - l)
	}
	for ; sum > 1<<most; sum-- {
		l := most - 1
		for codes[l] == 0 {
			l--
		}
		codes[most]--
		codes[l]--
		codes[l+1] += 2
	}
	l := most
	for _, v := range c.sorted { // the rarest first
		for codes[l] == 0 {
			l--
		}
		codes[l]--
		length[v&(1<<symbolBits-1)] = uint8(l)
	}
}

// depths replaces weights, at least two in ascending order, by their depths in a tree of least
// cost, which descend. In between a is the tree: inner nodes from the left, whose weights become
// the numbers of the nodes above them.
func depths(a []int) {
	n, leaf, root := len(a), 0, 0
	for next := range n - 1 {
		sum := 0
		for range 2 {
			if leaf >= n || root < next && a[root] < a[leaf] {
				sum += a[root]
				a[root] = next
				root++
			} else {
				sum += a[leaf]
				leaf++
			}
		}
		a[next] = sum
	}
	a[n-2] = 0
	for next := n - 3; next >= 0; next-- {
		a[next] = a[a[next]] + 1
	}
	root = n - 2
	next := n - 1
	for free, depth := 1, 0; free > 0; depth++ {
		inner := 0
		for root >= 0 && a[root] == depth {
			inner++
			root--
		}
		for ; free > inner; free-- {
			a[next] = depth
			next--
		}
		free = 2 * inner
	}
}

// codesOf gives the codes of lengths: ascending by length and symbol, the first bit lowest.
func codesOf(code []uint32, length []uint8) {
	var next, count [16]uint32
	for _, l := range length {
		count[l]++
	}
	count[0] = 0
	for l := 1; l < len(next); l++ {
		next[l] = (next[l-1] + count[l-1]) << 1
	}
	for s, l := range length {
		if code[s] = 0; l > 0 {
			code[s] = uint32(bits.Reverse16(uint16(next[l]))>>(16-l))<<8 | uint32(l)
			next[l]++
		}
	}
}

// run is a length, or a symbol that repeats some.
type run struct {
	symbol uint8
	extra  uint8 // how often, less the least
	bits   uint8 // of extra
}

// lengths writes the lengths of the code, and that there is one code of a distance, which is
// never used: some readers want one.
func (c *huffman) lengths() {
	all := append(c.length[:], 1)
	c.runs = c.runs[:0]
	for i := 0; i < len(all); {
		l, n := all[i], 1
		for i+n < len(all) && all[i+n] == l {
			n++
		}
		i += n
		if l > 0 {
			c.runs = append(c.runs, run{symbol: l})
			n--
		}
		for n > 0 {
			r, k := run{symbol: l}, 1
			switch {
			case l == 0 && n >= 11:
				k = min(n, 138)
				r = run{18, uint8(k - 11), 7}
			case l == 0 && n >= 3:
				k = n
				r = run{17, uint8(k - 3), 3}
			case l > 0 && n >= 3:
				k = min(n, 6)
				r = run{16, uint8(k - 3), 2}
			}
			c.runs = append(c.runs, r)
			n -= k
		}
	}
	var length [19]uint8
	var code [19]uint32
	c.lengthsOf(length[:], longestRun, func(s int) (n uint64) {
		for _, r := range c.runs {
			if int(r.symbol) == s {
				n++
			}
		}
		return n
	})
	codesOf(code[:], length[:])
	order := [19]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}
	n := len(order)
	for n > 4 && length[order[n-1]] == 0 {
		n--
	}
	c.bits(0, 5) // 257 lengths of symbols
	c.bits(0, 5) // one of a distance
	c.bits(uint32(n-4), 4)
	for _, s := range order[:n] {
		c.bits(uint32(length[s]), 3)
	}
	for _, r := range c.runs {
		c.bits(code[r.symbol]>>8, uint(code[r.symbol]&0xff))
		c.bits(uint32(r.extra), uint(r.bits))
	}
}
