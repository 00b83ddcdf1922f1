package opcode

import (
	"fmt"
	"math"
)

// Rectilinear is WarpRectilinear and WarpRectilinear2: pixel (x, y) of the
// result is where the image has its pixel at the place that Source gives.
type Rectilinear struct {
	Planes     []RectilinearPlane // one, or one for each plane
	CX, CY     float64            // centre in parts of width and height
	Reciprocal bool               // the radial factor divides
}

// RectilinearPlane are the coefficients of a plane: the radial factor is
// Radial[0] + Radial[1]·r + Radial[2]·r² + ... for radii from MinRadius to
// MaxRadius, and held at the nearer of those beyond.
type RectilinearPlane struct {
	Radial               []float64
	Tangential           [2]float64
	MinRadius, MaxRadius float64
}

// Fisheye is WarpFisheye: the source radius is K[0]·θ + K[1]·θ³ + K[2]·θ⁵ +
// K[3]·θ⁷, θ being the arc tangent of the result's radius.
type Fisheye struct {
	Planes [][4]float64
	CX, CY float64
}

// Warp is an operation that moves pixels.
type Warp interface {
	// Source gives where the pixel at normalised place dx, dy from the centre
	// comes from, in the same measure (see Centre).
	Source(plane int, dx, dy float64) (sx, sy float64)
	// Center is the centre in parts of width and height.
	Center() (cx, cy float64)
	// Separate reports whether planes differ.
	Separate() bool
}

// maxWarpPlanes is the number of planes that a camera image may have in DNG.
const maxWarpPlanes = 4

func (p *parser) warpPlanes() (n uint32, problem string) {
	n = p.uint32()
	if !p.short && (n < 1 || n > maxWarpPlanes) {
		problem = fmt.Sprintf("it is for %d planes, want 1 to %d", n, maxWarpPlanes)
	}
	return n, problem
}

// readRectilinear reads terms radial coefficients a plane: of even powers of r,
// or, in the second form, of all powers, with a range of radii.
func readRectilinear(p *parser, terms uint64, second bool) (any, string) {
	w := &Rectilinear{}
	n, problem := p.warpPlanes()
	if problem != "" {
		return nil, problem
	}
	for range n {
		count := terms + 2
		if second {
			count += 2
		}
		v, ok := p.float64s(count)
		if !ok {
			return nil, notFinite
		}
		if v == nil {
			return nil, ""
		}
		q := RectilinearPlane{Radial: v[:terms:terms], Tangential: [2]float64(v[terms : terms+2]), MaxRadius: 1}
		if second {
			q.MinRadius, q.MaxRadius = v[terms+2], v[terms+3]
			if !(q.MinRadius >= 0 && q.MinRadius < q.MaxRadius && q.MaxRadius <= 1) {
				return nil, fmt.Sprintf("it is for radii from %g to %g, want a range within 0 to 1", q.MinRadius, q.MaxRadius)
			}
		} else {
			q.Radial = []float64{v[0], 0, v[1], 0, v[2], 0, v[3]}
		}
		w.Planes = append(w.Planes, q)
	}
	w.CX, w.CY = p.float64(), p.float64()
	if second {
		w.Reciprocal = p.uint32() != 0
	}
	if !p.short && (!inside(w.CX) || !inside(w.CY)) {
		return nil, notInside
	}
	return w, ""
}

// Center implements Warp.
func (w *Rectilinear) Center() (cx, cy float64) { return w.CX, w.CY }

// Separate implements Warp.
func (w *Rectilinear) Separate() bool { return len(w.Planes) > 1 }

// Source implements Warp.
func (w *Rectilinear) Source(plane int, dx, dy float64) (sx, sy float64) {
	q := &w.Planes[min(plane, len(w.Planes)-1)]
	r2 := float64(dx*dx) + float64(dy*dy)
	r := min(max(math.Sqrt(r2), q.MinRadius), q.MaxRadius)
	f := 0.0
	for i := len(q.Radial) - 1; i >= 0; i-- {
		f = float64(f*r) + q.Radial[i]
	}
	if w.Reciprocal {
		f = 1 / f
	}
	t := q.Tangential
	sx = float64(f*dx) + float64(t[0]*2*dx*dy) + float64(t[1]*(r2+float64(2*dx*dx)))
	sy = float64(f*dy) + float64(t[1]*2*dx*dy) + float64(t[0]*(r2+float64(2*dy*dy)))
	return sx, sy
}

func readFisheye(p *parser) (any, string) {
	w := &Fisheye{}
	n, problem := p.warpPlanes()
	if problem != "" {
		return nil, problem
	}
	for range n {
		v, ok := p.float64s(4)
		if !ok {
			return nil, notFinite
		}
		if v == nil {
			return nil, ""
		}
		w.Planes = append(w.Planes, [4]float64(v))
	}
	w.CX, w.CY = p.float64(), p.float64()
	if !p.short && (!inside(w.CX) || !inside(w.CY)) {
		return nil, notInside
	}
	return w, ""
}

// Center implements Warp.
func (w *Fisheye) Center() (cx, cy float64) { return w.CX, w.CY }

// Separate implements Warp.
func (w *Fisheye) Separate() bool { return len(w.Planes) > 1 }

// Source implements Warp.
func (w *Fisheye) Source(plane int, dx, dy float64) (sx, sy float64) {
	k := &w.Planes[min(plane, len(w.Planes)-1)]
	r := math.Hypot(dx, dy)
	f := k[0]
	if r > 0 {
		theta := math.Atan(r)
		t2 := float64(theta * theta)
		f = (k[0] + float64(t2*(k[1]+float64(t2*(k[2]+float64(t2*k[3])))))) * theta / r
	}
	return f * dx, f * dy
}

// TrimBounds cuts the frame to a rectangle. Operations after it count from its
// corner.
type TrimBounds struct{ Top, Left, Bottom, Right uint32 }

func readTrim(p *parser) (any, string) {
	t := &TrimBounds{p.uint32(), p.uint32(), p.uint32(), p.uint32()}
	if !p.short && (t.Top >= t.Bottom || t.Left >= t.Right) {
		return nil, "its rectangle is empty"
	}
	return t, ""
}

// Trim cuts a frame. It reports false if the rectangle is not inside it.
func (t *TrimBounds) Trim(f Frame) (Frame, bool) {
	if uint64(t.Bottom) > uint64(f.Height) || uint64(t.Right) > uint64(f.Width) {
		return f, false
	}
	return Frame{X0: f.X0 + int(t.Left), Y0: f.Y0 + int(t.Top), Width: int(t.Right - t.Left), Height: int(t.Bottom - t.Top)}, true
}
