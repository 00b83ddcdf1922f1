package winograd

import "fmt"

// SubKernel is a block of taps of a k×k kernel, treated as an R×R kernel of its own:
// the taps at rows Row..Row+Rows−1 and columns Col..Col+Cols−1, the rest of the R×R
// square being zero. The convolution is the sum of those of its sub-kernels, each of
// which reads its input Row rows further down and Col columns further right:
//
//	y[i,j] = Σ_subkernels Σ_(a,b) subkernel[a,b] · d[i+Row+a, j+Col+b]
type SubKernel struct {
	Row, Col   int // first tap
	Rows, Cols int // taps that exist, at most R each
	R          int // side of the kernel that computes it
}

// maxKernel bounds the side of a kernel to decompose.
const maxKernel = 255

// Decompose cuts a k×k kernel into ⌈k/r⌉² sub-kernels of r×r taps, row by row; sub-kernels
// at the last row and column have fewer taps if r does not divide k. The order is
// the one in which partial sums are to be added.
func Decompose(k, r int) ([]SubKernel, error) {
	if k < 1 || k > maxKernel || r < 1 || r > k {
		return nil, fmt.Errorf("winograd decompose: kernel %d into sub-kernels of %d, need 1 <= sub-kernel <= kernel <= %d", k, r, maxKernel)
	}
	var kernels []SubKernel
	for y := 0; y < k; y += r {
		for x := 0; x < k; x += r {
			kernels = append(kernels, SubKernel{Row: y, Col: x, Rows: min(r, k-y), Cols: min(r, k-x), R: r})
		}
	}
	return kernels, nil
}

// Taps copies the sub-kernel's taps out of the weights w, row-major (k, c, side, side),
// into (k, c, R, R) with zeros where the sub-kernel has no taps, ready for
// TransformFilter.
func (p SubKernel) Taps(w []float32, k, c, side int) ([]float32, error) {
	if p.Row < 0 || p.Col < 0 || p.Rows < 1 || p.Cols < 1 || p.Rows > p.R || p.Cols > p.R || p.R > maxKernel ||
		side > maxKernel || p.Row+p.Rows > side || p.Col+p.Cols > side {
		return nil, fmt.Errorf("winograd decompose: sub-kernel %+v does not lie in a %d×%d kernel", p, side, side)
	}
	if err := checkFilter(len(w), k, c, side); err != nil {
		return nil, err
	}
	out := make([]float32, k*c*p.R*p.R)
	for f := range k * c {
		for a := range p.Rows {
			src := w[(f*side+p.Row+a)*side+p.Col:][:p.Cols]
			copy(out[(f*p.R+a)*p.R:], src)
		}
	}
	return out, nil
}

// Multiplications is the number of multiplications for each output sample, input
// channel and output channel when each sub-kernel is computed with t: sub-kernels·(N/M)².
// A direct k×k convolution has k².
func Multiplications(kernels []SubKernel, t *Transform) float64 {
	f := float64(t.N) / float64(t.M)
	return float64(len(kernels)) * f * f
}
