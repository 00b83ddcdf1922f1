package mma

import (
	"fmt"

	"enhance/conv"
)

// Names in which a variant is part: mma-m2x1-r2x4-w9x2-a1 has tiles of 2·16 outputs
// by 1 warp, 2 rows by 4 warps, 2 pieces of 9 taps in local memory, lines copied ahead.

// String is the part of a name that says the variant.
func (v variant) String() string {
	return fmt.Sprintf("m%dx%d-r%dx%d-w%dx%d-a%d", v.mt, v.wo, v.rows, v.wr, v.piece, v.slots, v.ahead)
}

// Named finds the convolution by the name of one of the algorithms that Algo and
// Candidates give.
func Named(name string) (conv.Algo, bool) {
	for _, p := range []Precision{FP16, TF32, FP32} {
		a := algo{precision: p}
		if name == a.Name() {
			return a, true
		}
		var v variant
		_, err := fmt.Sscanf(name, a.Name()+"-m%dx%d-r%dx%d-w%dx%d-a%d", &v.mt, &v.wo, &v.rows, &v.wr, &v.piece, &v.slots, &v.ahead)
		if a.variant = &v; err == nil && a.Name() == name && v.sane() {
			return a, true
		}
	}
	return nil, false
}

// sane bounds the fields of a variant from outside, so that no product of them
// is too large.
func (v variant) sane() bool {
	for _, n := range []int{v.mt, v.wo, v.wr, v.rows, v.piece, v.slots} {
		if n < 1 || n > 16 {
			return false
		}
	}
	return v.slots >= 2 && (v.ahead == 0 || v.ahead == 1 && v.slots == 2)
}

// Candidates are variants worth measuring for a shape beside the one that Algo
// takes, the likeliest first. New refuses none of them.
func Candidates(p Precision, c conv.Caps, s conv.Shape) []conv.Algo {
	own := choose(p, s, c.LocalMem)
	tiles := ceilDiv(s.OutC, 16)
	var list []conv.Algo
	seen := map[variant]bool{own: true}
	try := func(change func(*variant)) {
		v := own
		change(&v)
		if seen[v] || !v.sane() || v.mt*v.wo > 2*tiles || v.ahead == 0 && v.piece > s.K {
			return
		}
		seen[v] = true
		if a := (algo{p, &v}); a.accepts(c, s) {
			list = append(list, a)
		}
	}
	try(func(v *variant) { v.wr, v.rows = 8, 1 })
	if own.ahead == 1 {
		try(func(v *variant) { v.ahead, v.piece, v.slots = 0, pieceOf(s.K), 3 })
	}
	try(func(v *variant) { v.rows = 1 })
	try(func(v *variant) { v.wo, v.wr = 2, 2 })
	try(func(v *variant) { v.mt, v.wo, v.wr = min(tiles, 4), 1, 4; v.rows = 1 })
	try(func(v *variant) { v.wr, v.rows = 2, 4 })
	try(func(v *variant) { v.mt, v.wo = 1, min(tiles, 4); v.wr = 2 })
	try(func(v *variant) { v.wo, v.wr = 1, 8 })
	if own.ahead == 0 {
		try(func(v *variant) { v.piece = 1 })
	}
	return list
}

// accepts reports whether New takes the shape.
func (a algo) accepts(c conv.Caps, s conv.Shape) bool {
	_, err := a.New(c, s, a.precision.Storage())
	return err == nil
}
