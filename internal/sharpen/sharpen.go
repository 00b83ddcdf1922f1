// Package sharpen restores the contrast of fine detail that a lens and a sensor's filters
// take, row by row.
//
// It is unsharp masking of the square root of luminance, which is about as even to the eye
// as an encoded picture: detail is the difference to a mean over 5x5 pixels with binomial
// weights. Detail that is no stronger than the noise is left alone, a bound keeps halos
// low, and all components of a pixel are scaled alike, so that hues stay.
//
// A Window is used as a highlights.Window is; it holds back two rows.
package sharpen

import "math"

const (
	Reach    = 2    // rows above and below
	MostPart = 0.12 // by which a square root of luminance may change, of itself
	Levels   = 256  // of the noise table
)

// Settings say how much to sharpen.
type Settings struct {
	// Amount is the share of detail that is added; 0 sharpens nothing.
	Amount float64
	// Noise is the standard deviation of what is no detail, at a square root of luminance.
	Noise func(root float64) float64
	// Luminance are the weights of the components.
	Luminance [3]float64
}

// Window sharpens one picture.
type Window struct {
	width, height int
	amount        float32
	weights       [3]float32
	noise         [Levels + 1]float32 // variances
	rows          [][]float32
	base, added   int // numbers of rows[0], and of the row that Add takes next
	next          int
}

// New returns a Window for a picture of so many pixels.
func New(width, height int, s Settings) *Window {
	w := &Window{width: width, height: height, amount: float32(s.Amount)}
	for c, v := range s.Luminance {
		w.weights[c] = float32(v)
	}
	for i := range w.noise {
		n := s.Noise(float64(i) / Levels)
		w.noise[i] = float32(n*n) + 1e-9
	}
	return w
}

// Extra is how many numbers follow the three components of a source row.
func (w *Window) Extra() int { return w.width }

// Held is how many source rows are held at most, besides those that come and go.
func (w *Window) Held() int { return 2*Reach + 1 }

// Measure fills the numbers that follow a row's components.
func (w *Window) Measure(row []float32) {
	r, g, b, root := row[:w.width], row[w.width:][:w.width], row[2*w.width:][:w.width], row[3*w.width:][:w.width]
	k := w.weights
	for x, v := range r {
		// The conversions forbid fused multiply-add: every machine rounds alike.
		y := float32(k[0]*v) + float32(k[1]*g[x]) + float32(k[2]*b[x])
		root[x] = float32(math.Sqrt(float64(max(y, 0))))
	}
}

// Add takes the next measured row, until Drop gives it back.
func (w *Window) Add(row []float32) {
	w.rows = append(w.rows, row)
	w.added++
}

// Ready gives the rows of the result, first to end-1, that the rows added since the
// last call make possible.
func (w *Window) Ready() (first, end int) {
	first, w.next = w.next, max(w.next, w.added-Reach)
	if w.added == w.height {
		w.next = w.height
	}
	return first, w.next
}

// Drop gives back the source rows that no row but those that Ready gave needs.
func (w *Window) Drop() [][]float32 {
	n := min(max(w.next-Reach-w.base, 0), len(w.rows))
	if w.next == w.height {
		n = len(w.rows)
	}
	used := w.rows[:n:n]
	w.rows = append([][]float32(nil), w.rows[n:]...)
	w.base += n
	return used
}

// roots are the square roots of luminance of row y; beyond the picture its edge goes on.
func (w *Window) roots(y int) []float32 {
	return w.rows[min(max(y, 0), w.height-1)-w.base][3*w.width:][:w.width]
}

// Make makes row y of the result, which Ready gave. dst has its components; the first is
// used for the means meanwhile.
func (w *Window) Make(y int, dst [][]float32) error {
	a, b, c, d, e := w.roots(y-2), w.roots(y-1), w.roots(y), w.roots(y+1), w.roots(y+2)
	b, c, d, e = b[:len(a)], c[:len(a)], d[:len(a)], e[:len(a)]
	column, scale := dst[0][:len(a)], dst[1][:len(a)]
	for x := range a {
		column[x] = (a[x] + e[x]) + 4*(b[x]+d[x]) + 6*c[x]
	}
	n := w.width
	edge := func(x int) float32 { return column[min(max(x, 0), n-1)] }
	for x := range min(Reach, n) {
		scale[x] = w.scale(c[x], (edge(x-2)+edge(x+2))+4*(edge(x-1)+edge(x+1))+6*edge(x))
	}
	for x := Reach; x < n-Reach; x++ {
		k := column[x-2:][:5:5]
		scale[x] = w.scale(c[x], (k[0]+k[4])+4*(k[1]+k[3])+6*k[2])
	}
	for x := max(Reach, n-Reach); x < n; x++ {
		scale[x] = w.scale(c[x], (edge(x-2)+edge(x+2))+4*(edge(x-1)+edge(x+1))+6*edge(x))
	}
	row := w.rows[y-w.base]
	for _, k := range []int{0, 2, 1} { // the second holds the scales
		to, from := dst[k][:n], row[k*n:][:n]
		for x, v := range from {
			to[x] = v * scale[x]
		}
	}
	return nil
}

// scale is what a pixel is multiplied by whose root differs from the mean, 256 times
// which is sum.
func (w *Window) scale(root, sum float32) float32 {
	if !(root > 1.0/Levels) {
		return 1
	}
	detail := root - sum*(1.0/256)
	power := float32(detail * detail)
	change := w.amount * detail * power / ((power + w.noise[int(min(root, 1)*Levels)]) * root)
	change = 1 + min(max(change, -MostPart), MostPart)
	return float32(change * change)
}

// Variances are those of what is no detail, by the square root of luminance in Levels steps.
func (w *Window) Variances() []float32 { return w.noise[:] }

// Amount is the share of detail that is added.
func (w *Window) Amount() float32 { return w.amount }
