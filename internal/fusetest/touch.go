// Package fusetest says in the plainest words which rows a fused step reads, for
// tests of whatever derives that in a cleverer way.
package fusetest

import (
	"enhance/internal/fuse"
	"enhance/model"
)

// mirror steps an index back into 0..n-1 one reflection at a time.
func mirror(i, n int) int {
	for i < 0 || i >= n {
		if n == 1 {
			return 0
		}
		if i < 0 {
			i = -i
		} else {
			i = 2*(n-1) - i
		}
	}
	return i
}

// beside is the row or column that stands for i, or -1 where a zero does.
func beside(pad model.PadMode, i, n int) int {
	inside := i >= 0 && i < n
	switch {
	case inside:
		return i
	case pad == model.PadZero:
		return -1
	case pad == model.PadEdge && i < 0:
		return 0
	case pad == model.PadEdge:
		return n - 1
	}
	return mirror(i, n)
}

// Touched lists the rows of tensor t that step s reads to make row y of its
// destination, by the definition of its operation; a row may appear twice.
func Touched(p *fuse.Program, s *fuse.Step, t, y int) []int {
	var rows []int
	h := p.Tensors[t].H
	if s.Affine == t {
		rows = append(rows, 0)
	}
	if s.Res.Tensor == t {
		rows = append(rows, y)
	}
	for k, v := range s.Src {
		if v.Tensor == t && s.Picture != nil {
			rows = append(rows, pictureRows(s, k, h, y)...)
		} else if v.Tensor == t {
			rows = append(rows, sourceRows(p, s, h, y)...)
		}
	}
	return rows
}

func sourceRows(p *fuse.Program, s *fuse.Step, h, y int) []int {
	var rows []int
	switch s.Kind {
	case fuse.Conv:
		if s.Windowed() {
			return foreignRows(s, h, y)
		}
		for i := range s.K {
			if at := beside(p.Pad, y+i-s.K/2, h); at >= 0 {
				rows = append(rows, at)
			}
		}
	case fuse.MaxPool:
		rows = []int{2 * y, 2*y + 1}
	case fuse.Upsample:
		// The row at or above the source coordinate, and the next one. Rows with
		// weight 0 are listed too: a kernel may load them.
		var y0 int
		if s.AlignCorners {
			for (y0+1)*(2*h-1) <= y*(h-1) {
				y0++
			}
		} else {
			for 4*(y0+1) <= 2*y-1 { // (y+½)/2-½ = (2y-1)/4
				y0++
			}
		}
		rows = []int{y0, min(y0+1, h-1)}
	case fuse.Shuffle:
		rows = []int{y / 2}
	case fuse.Apply:
		return foreignRows(s, h, y)
	case fuse.Affine, fuse.Merge:
		for r := range h {
			rows = append(rows, r)
		}
	default:
		rows = []int{y}
	}
	return rows
}

// pictureRows is sourceRows of the steps of a picture, for their source k.
func pictureRows(s *fuse.Step, k, h, y int) (rows []int) {
	const side = 16
	var first, end int
	switch s.Kind {
	case fuse.Cells:
		first, end = s.Picture.Y0+side*y, min(s.Picture.Y0+side*(y+1), s.Picture.Y1)
	case fuse.Colours:
		first, end = y-1, y+2
	case fuse.Sharpen:
		first, end = y-2, y+3
	default:
		if first, end = s.Picture.Y0+y, s.Picture.Y0+y+1; k == 1 {
			for first = -1; side*(first+1)+side/2 <= y; first++ { // the last whose centre is not below
			}
			end = first + 2
		}
	}
	for r := max(first, 0); r < min(end, h); r++ {
		rows = append(rows, r)
	}
	return rows
}

// foreignRows is sourceRows of the operations that imported networks bring.
func foreignRows(s *fuse.Step, h, y int) []int {
	n := s.Node
	w := &n.Window
	var rows []int
	switch n.Op {
	case model.OpBinary:
		return []int{min(y, h-1)} // one sample may stand for a plane
	case model.OpCrop:
		return []int{y*w.StrideH + w.Top}
	case model.OpPad:
		if at := beside(n.Pad, y-w.Top, h); at >= 0 && (n.Pad != model.PadConstant || at == y-w.Top) {
			return []int{at}
		}
		return nil
	case model.OpConv, model.OpPool:
		for i := range w.KH {
			at := y*w.StrideH + i*w.DilationH - w.Top
			if n.Op == model.OpConv {
				at = beside(n.Pad, at, h)
			}
			if at >= 0 && at < h {
				rows = append(rows, at)
			}
		}
		return rows
	case model.OpDepthToSpace:
		return []int{y / n.Factor}
	case model.OpSpaceToDepth:
		for i := range n.Factor {
			rows = append(rows, y*n.Factor+i)
		}
		return rows
	case model.OpRearrange:
		return rearrangedRows(s.Moves, y)
	case model.OpResize:
		t := &s.Rows[y]
		return t.At
	}
	return []int{y}
}

// rearrangedRows follows the row numbers of the samples of row y through the factors of a
// rearrangement, whatever their channels and columns are. A factor of the rows of the result
// has the one value that y gives it; others have all of theirs.
func rearrangedRows(moves [3][]model.Move, y int) (rows []int) {
	seen := map[int]bool{}
	var follow func(side, index, row int, rest []model.Move)
	follow = func(side, index, row int, rest []model.Move) {
		if len(rest) == 0 {
			switch {
			case side < 2:
				follow(side+1, y, row, moves[side+1])
			case !seen[row]:
				seen[row] = true
				rows = append(rows, row)
			}
			return
		}
		m := rest[0]
		from, to := 0, m.Size
		if side == 1 {
			from, to = index%m.Size, index%m.Size+1
		}
		if m.Side != 1 {
			to = from + 1 // it moves no row, so that one of its values is enough
		}
		for i := from; i < to; i++ {
			add := 0
			if m.Side == 1 {
				add = i * m.Stride
			}
			follow(side, index/m.Size, row+add, rest[1:])
		}
	}
	follow(0, y, 0, moves[0])
	return rows
}
