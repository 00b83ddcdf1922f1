package rawjpeg

import "enhance/raw/rawerr"

// lutBits is how many bits of a code one table look-up resolves. Difference
// categories seldom have longer codes, and the table stays in the first-level
// cache.
const lutBits = 11

// huffTable decodes difference categories (SSSS, T.81 H.1.2.2), or the runs and
// categories of AC coefficients (RRRRSSSS, F.1.2.2).
type huffTable struct {
	// lut, by the next lutBits bits: code length<<8 | value, 0 if the code
	// is longer than that.
	lut [1 << lutBits]uint16
	// For longer codes: codes of length l are below limit[l], left aligned in
	// 17 bits; values[code>>(16-l) + base[l]] is the value.
	limit  [17]uint32
	base   [17]int
	values []byte
}

// checkCategories refuses differences of more than 16 bits.
func checkCategories(values []byte) error {
	for _, v := range values {
		if v > 16 {
			return rawerr.Formatf(where, "Huffman table has difference category %d, largest is 16", v)
		}
	}
	return nil
}

// newHuffTable builds the table of counts[i] codes of length i+1 (T.81 annex C).
func newHuffTable(counts [16]byte, values []byte) (*huffTable, error) {
	t := &huffTable{values: append([]byte(nil), values...)}
	code, k := 0, 0
	for l := 1; l <= 16; l++ {
		t.base[l] = k - code
		for range counts[l-1] {
			if code >= 1<<l {
				return nil, rawerr.Formatf(where, "Huffman table has too many codes of length %d", l)
			}
			if l <= lutBits {
				first := code << (lutBits - l)
				for i := range 1 << (lutBits - l) {
					t.lut[first+i] = uint16(l)<<8 | uint16(t.values[k])
				}
			}
			code++
			k++
		}
		t.limit[l] = uint32(code) << (16 - l)
		code <<= 1
	}
	return t, nil
}

// long resolves a code longer than lutBits from the next 16 bits. It returns
// length 0 if no code fits.
func (t *huffTable) long(next uint32) (length int, value byte) {
	for l := lutBits + 1; l <= 16; l++ {
		if next < t.limit[l] {
			return l, t.values[int(next>>(16-l))+t.base[l]]
		}
	}
	return 0, 0
}
