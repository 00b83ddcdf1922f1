package model

import "fmt"

// Rearrange says how the samples of a plane become those of another. Channels, rows and columns of
// the source are taken apart into factors, and the factors in another order and grouping make the channels,
// rows and columns of the result: what Rogozhnikov's einops calls rearrange (ICLR 2022, section 3). Both are
// numbered row-major, the outermost factor first.
type Rearrange struct {
	// Factors are the sizes of the factors of channels, rows and columns. One factor of the rows and
	// one of the columns may be 0: what the others leave.
	Factors [3][]int
	// To are the numbers of the factors that make channels, rows and columns of the result, where
	// factors are numbered in the order of Factors.
	To [3][]int
}

// maxFactors bounds the factors of a Rearrange.
const maxFactors = 16

// check checks what can be said without shapes.
func (r *Rearrange) check() error {
	n := 0
	for k, list := range r.Factors {
		open, product := 0, 1
		for _, f := range list {
			switch {
			case f == 0 && k > 0:
				open++
			case f < 1 || f > maxSide || product > maxSide/f:
				return fmt.Errorf("factors %v: want sizes whose product is 1..%d", list, maxSide)
			default:
				product *= f
			}
		}
		if n += len(list); open > 1 {
			return fmt.Errorf("factors %v: two of them are open", list)
		}
	}
	if n > maxFactors {
		return fmt.Errorf("%d factors: want at most %d", n, maxFactors)
	}
	taken, named := make([]bool, n), 0
	for _, list := range r.To {
		for _, i := range list {
			if i < 0 || i >= n || taken[i] {
				return fmt.Errorf("%v does not name each of %d factors once", r.To, n)
			}
			taken[i] = true
			named++
		}
	}
	if named != n {
		return fmt.Errorf("%v does not name each of %d factors once", r.To, n)
	}
	_, err := r.channels()
	return err
}

// channels is the number of channels of the result.
func (r *Rearrange) channels() (int, error) {
	all, c := r.all(), 1
	for _, i := range r.To[0] {
		if all[i] == 0 || c > maxChannels/all[i] {
			return 0, fmt.Errorf("factor %d of %v makes channels: want a size, and at most %d channels", i, r.Factors, maxChannels)
		}
		c *= all[i]
	}
	return c, nil
}

func (r *Rearrange) all() []int {
	return append(append(append([]int(nil), r.Factors[0]...), r.Factors[1]...), r.Factors[2]...)
}

// Sizes gives the factors for a source of shape s, without open ones.
func (r *Rearrange) Sizes(s Shape) ([]int, error) {
	sizes := r.all()
	at := 0
	for k, n := range [...]int{s.C, s.H, s.W} {
		open, product := -1, 1
		for i, f := range r.Factors[k] {
			if f == 0 {
				open = at + i
			} else {
				product *= f
			}
		}
		if n%product != 0 || open < 0 && n != product {
			return nil, fmt.Errorf("takes %d %s apart as %v", n, [...]string{"channels", "rows", "columns"}[k], r.Factors[k])
		}
		if open >= 0 {
			sizes[open] = n / product
		}
		at += len(r.Factors[k])
	}
	return sizes, nil
}

// Out is the shape of the result for a source of shape s.
func (r *Rearrange) Out(s Shape) (Shape, error) {
	sizes, err := r.Sizes(s)
	if err != nil {
		return Shape{}, err
	}
	var side [3]int
	for k, list := range r.To {
		side[k] = 1
		for _, i := range list {
			if side[k] > maxSide/sizes[i] {
				return Shape{}, fmt.Errorf("makes a side of more than %d", maxSide)
			}
			side[k] *= sizes[i]
		}
	}
	return Shape{C: side[0], H: side[1], W: side[2]}, nil
}

// Blocks says which rows depend on which: rows [b·out, (b+1)·out) of the result are made of rows
// [b·in, (b+1)·in) of a source of shape s. Where the rows of both begin with the same factors, a block is what
// follows these; otherwise it is the plane.
func (r *Rearrange) Blocks(s Shape) (in, out int) {
	sizes, err := r.Sizes(s)
	if err != nil {
		return s.H, 1
	}
	first, same := len(r.Factors[0]), 0
	for same < len(r.Factors[1]) && same < len(r.To[1]) && r.To[1][same] == first+same {
		same++
	}
	in, out = 1, 1
	for _, n := range sizes[first+same : first+len(r.Factors[1])] {
		in *= n
	}
	for _, i := range r.To[1][same:] {
		out *= sizes[i]
	}
	return in, out
}

// Move is one factor of the result: its size, which side of the source it is of (0 channels, 1 rows, 2
// columns), and how far apart there two samples are that follow each other.
type Move struct{ Size, Side, Stride int }

// Moves gives the factors of channels, rows and columns of the result, the innermost first, for a
// source of shape s.
func (r *Rearrange) Moves(s Shape) (moves [3][]Move, err error) {
	sizes, err := r.Sizes(s)
	if err != nil {
		return moves, err
	}
	all, at := make([]Move, len(sizes)), 0
	for k, list := range r.Factors {
		stride := 1
		for i := at + len(list) - 1; i >= at; i-- {
			all[i] = Move{Size: sizes[i], Side: k, Stride: stride}
			stride *= sizes[i]
		}
		at += len(list)
	}
	for k, list := range r.To {
		for i := len(list) - 1; i >= 0; i-- {
			moves[k] = append(moves[k], all[list[i]])
		}
	}
	return moves, nil
}
