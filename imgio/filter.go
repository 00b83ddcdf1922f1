package imgio

// filterRows holds the candidates of one row, each with its type byte in front.
type filterRows [5][]byte

// PNG filter types (PNG specification, section 9.2).
const (
	filterNone = iota
	filterSub
	filterUp
	filterAverage
	filterPaeth
)

// filterBlock appends the filtered rows of raw to dst. raw starts with the row
// before the first (zeros at the top of a picture). Each row gets the filter
// whose output, read as signed bytes, has the smallest sum of magnitudes: the
// heuristic that the PNG specification recommends (section 12.7).
func (f *filterRows) filterBlock(dst, raw []byte, rowBytes, bpp int) []byte {
	for i := range f {
		if cap(f[i]) < 1+rowBytes {
			f[i] = make([]byte, 1+rowBytes)
		}
		f[i] = f[i][:1+rowBytes]
		f[i][0] = byte(i)
	}
	for ; len(raw) >= 2*rowBytes; raw = raw[rowBytes:] {
		dst = append(dst, f[f.filterRow(raw[rowBytes:2*rowBytes], raw[:rowBytes], bpp)]...)
	}
	return dst
}

// filterRow fills all candidates for cur and returns the index of the best.
func (f *filterRows) filterRow(cur, prev []byte, bpp int) int {
	n := len(cur)
	prev = prev[:n]
	none, sub, up := f[filterNone][1:][:n], f[filterSub][1:][:n], f[filterUp][1:][:n]
	avg, paeth := f[filterAverage][1:][:n], f[filterPaeth][1:][:n]
	copy(none, cur)
	var sums [5]int
	for i := range min(bpp, n) { // the pixel to the left is zero
		x, b := cur[i], prev[i]
		sub[i], up[i], avg[i], paeth[i] = x, x-b, x-b/2, x-b
		for k := range sums {
			sums[k] += magnitude(f[k][1+i])
		}
	}
	left, upLeft := cur[:max(n-bpp, 0)], prev[:max(n-bpp, 0)]
	var s0, s1, s2, s3, s4 int
	for j, a := range left {
		i := j + bpp
		x, b, c := cur[i], prev[i], upLeft[j]
		v1, v2, v3 := x-a, x-b, x-byte((int(a)+int(b))/2)
		v4 := x - paethPredict(int(a), int(b), int(c))
		sub[i], up[i], avg[i], paeth[i] = v1, v2, v3, v4
		s0 += magnitude(x)
		s1 += magnitude(v1)
		s2 += magnitude(v2)
		s3 += magnitude(v3)
		s4 += magnitude(v4)
	}
	best := 0
	for k, s := range [5]int{s0, s1, s2, s3, s4} {
		sums[k] += s
		if sums[k] < sums[best] {
			best = k
		}
	}
	return best
}

// magnitude is |v| of a byte read as signed.
func magnitude(v byte) int {
	s := int(int8(v))
	m := s >> 63
	return (s ^ m) - m
}

// paethPredict returns whichever of left, above and upper left is nearest to
// a + b - c, ties in that order.
func paethPredict(a, b, c int) byte {
	pa, pb := b-c, a-c
	pc := pa + pb
	pa, pb, pc = abs(pa), abs(pb), abs(pc)
	if pa <= pb && pa <= pc {
		return byte(a)
	}
	if pb <= pc {
		return byte(b)
	}
	return byte(c)
}

func abs(v int) int {
	m := v >> 63
	return (v ^ m) - m
}
