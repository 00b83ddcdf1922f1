package colour

import "sort"

// spline is a natural cubic spline through points: its second derivative is 0 at both ends.
type spline struct {
	points [][2]float64
	bends  []float64 // second derivatives at the points
}

// newSpline solves for the second derivatives. There must be at least two points, of rising x.
func newSpline(points [][2]float64) *spline {
	n := len(points)
	s := &spline{points: points, bends: make([]float64, n)}
	// The tridiagonal system of continuous first derivatives, eliminated downwards.
	upper, right := make([]float64, n), make([]float64, n)
	for i := 1; i < n-1; i++ {
		before, after := points[i][0]-points[i-1][0], points[i+1][0]-points[i][0]
		rise := (points[i+1][1]-points[i][1])/after - (points[i][1]-points[i-1][1])/before
		diagonal := 2*(before+after) - before*upper[i-1]
		upper[i] = after / diagonal
		right[i] = (6*rise - before*right[i-1]) / diagonal
	}
	for i := n - 2; i > 0; i-- {
		s.bends[i] = right[i] - upper[i]*s.bends[i+1]
	}
	return s
}

// at is the spline at x, within 0 to 1; beyond its ends it is as at them.
func (s *spline) at(x float64) float64 {
	n := len(s.points)
	x = min(max(x, s.points[0][0]), s.points[n-1][0])
	i := min(max(sort.Search(n, func(k int) bool { return s.points[k][0] > x }), 1), n-1)
	p, q := s.points[i-1], s.points[i]
	h := q[0] - p[0]
	a, b := (q[0]-x)/h, (x-p[0])/h
	y := a*p[1] + b*q[1] + ((a*a*a-a)*s.bends[i-1]+(b*b*b-b)*s.bends[i])*h*h/6
	return min(max(y, 0), 1)
}
