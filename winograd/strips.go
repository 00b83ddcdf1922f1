package winograd

import (
	_ "embed"
	"fmt"
	"runtime"
	"strings"
	"text/template"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/kerneltext"
)

//go:embed strips.cl.tmpl
var stripsText string

//go:embed strips_filter.cl.tmpl
var stripsFilterText string

var stripsFilterTemplate = kerneltext.NewTemplate("strips_filter", stripsFilterText, templateFuncs)

var stripsTemplate = kerneltext.NewTemplate("strips", stripsText, templateFuncs)

var templateFuncs = template.FuncMap{
	"seq": func(n int) []int {
		s := make([]int, n)
		for i := range s {
			s[i] = i
		}
		return s
	},
	"add": func(a ...int) int {
		n := 0
		for _, v := range a {
			n += v
		}
		return n
	},
	"mul": func(a ...int) int {
		p := 1
		for _, v := range a {
			p *= v
		}
		return p
	},
	"sub": func(a, b int) int { return a - b },
	"div": func(a, b int) int { return a / b },
	"mod": func(a, b int) int { return a % b },
	// phase is every m-th of the m·v samples in the vectors v0, v1, ...: those
	// that follow sample q.
	"phase": func(q, m, v int) string {
		return lanes(v, func(l int) (int, int) { return (q + m*l) / v, (q + m*l) % v })
	},
	// merge is samples [i·v, i·v+v) of the sequence v0[0], v1[0], ..., v0[1], ...
	// of m vectors.
	"merge": func(i, m, v int) string {
		return lanes(v, func(l int) (int, int) { return (i*v + l) % m, (i*v + l) / m })
	},
}

// lanes is a vector literal; at gives the vector and component of each lane.
func lanes(v int, at func(lane int) (vector, component int)) string {
	s := make([]string, v)
	for l := range s {
		vec, comp := at(l)
		s[l] = fmt.Sprintf("v%d.s%x", vec, comp)
	}
	return fmt.Sprintf("(float%d)(%s)", v, strings.Join(s, ", "))
}

// strips computes U from the filters (see strips_filter.cl.tmpl) and then, for a work-item's block of tiles
// (columns t) of one tile row,
//
//	for c, column x:      I[a][c][x] = Σ_r BT[a][r] · src[c][reflect(y0+r)][x]
//	for each row a of products:
//	    for c, b, t:      V[b][c][t] = Σ_j BT[b][j] · I[a][c][t·m+j]
//	    for k, b, t:      P[b][k][t] = Σ_c U[a][b][c][k] · V[b][c][t]
//	    for k, q, t:      Y[a][k][q][t] = Σ_b AT[q][b] · P[b][k][t]
//	for k, i, q, t:       dst[k][y0+i][t·m+q] = act(bias[k] + Σ_a AT[i][a]·Y[a][k][q][t]) + res
//
// Taking one row of products at a time keeps V and P small enough for the
// second-level cache even where a tile has 400 or 625 products; I and Y are
// smaller than the whole of V and M by m/N. The sum over channels runs in order.
type strips struct {
	t     *compiled
	algo  string
	shape conv.Shape
	stripGeometry
	cores   int
	workers int // work-items at most, one a core
}

// stripGeometry is the register tile of the products.
type stripGeometry struct {
	vector int // float32 lanes
	nv     int // vectors of tiles in a block
	lanes  int // output channels at a time
}

// slicePad, in floats, keeps the streams of a slice from falling on the same sets
// of a cache.
const slicePad = 16

func newStrips(c Convolution, t *compiled, caps conv.Caps, s conv.Shape) (conv.Impl, error) {
	w := &strips{t: t, algo: c.Name(), shape: s}
	w.stripGeometry = chooseStrip(s, t.M, caps.Vector)
	w.cores = caps.Cores
	if w.cores < 1 {
		w.cores = runtime.NumCPU()
	}
	w.workers = w.cores
	if c.Cap > 0 {
		w.workers = w.fitting(c.Cap)
	}
	if w.workers < 1 {
		return nil, fmt.Errorf("%s: %w", w.algo, w.capError(c.Cap))
	}
	return w, nil
}

// stripHeader is the bytes before U and the slices: the number of the next item.
const stripHeader = 64

// filterChannels is how many input channels a work-item transforms filters of.
const filterChannels = 8

// filters is the size of U, in floats, as far as the slices.
func (w *strips) filters() int {
	return ceilDiv(w.t.N*w.t.N*w.shape.InC()*w.blocksK()*w.lanes, 32) * 32
}

// fixed is the bytes before the slices.
func (w *strips) fixed() int64 { return stripHeader + 4*int64(w.filters()) }

// fitting is how many workers have room in that many bytes, one a core at most.
func (w *strips) fitting(bytes int64) int {
	return int(min((bytes-w.fixed())/w.slice(), int64(w.cores)))
}

func (w *strips) capError(limit int64) error {
	return &CapError{Cap: limit, Smallest: w.fixed() + w.slice(), What: fmt.Sprintf("one block of %d tiles", w.block())}
}

// chooseStrip is the register tile with the least waste in columns and outputs,
// then the fewest loads for each multiply-add.
func chooseStrip(s conv.Shape, m, vector int) stripGeometry {
	g := stripGeometry{vector: 8}
	registers := 16
	switch {
	case vector >= 16:
		g.vector, registers = 16, 32
	case vector > 0 && vector < 8:
		g.vector, registers = 4, 32
	}
	tiles := ceilDiv(s.W, m)
	best := 0.0
	for nv := 1; nv <= 3; nv++ {
		for l := 1; l <= min(s.OutC, 28); l++ {
			if l*nv+nv+1 > registers-1 {
				continue
			}
			useful := float64(s.OutC) / float64(ceilDiv(s.OutC, l)*l) * float64(tiles) / float64(ceilDiv(tiles, nv*g.vector)*nv*g.vector)
			loads := float64(nv+l) / float64(l*nv)
			busy := min(1, float64(l*nv)/10)
			if score := useful * busy / (1 + loads/2); score > best {
				best, g.nv, g.lanes = score, nv, l
			}
		}
	}
	return g
}

func (w *strips) block() int   { return w.nv * w.vector }
func (w *strips) blocksK() int { return ceilDiv(w.shape.OutC, w.lanes) }

// offsets are where the parts of a slice begin, in floats, and its size.
type stripOffsets struct{ v, p, y, d, z, size int }

// strideI, strideV and strideY are the distances, in floats, between rows a of I,
// products b of V and rows a of Y.
func (w *strips) strideI() int { return w.shape.InC()*w.t.M*w.padded() + slicePad }
func (w *strips) strideV() int { return w.shape.InC()*w.block() + slicePad }
func (w *strips) strideY() int { return w.blocksK()*w.lanes*w.t.M*w.block() + slicePad }

// padded is the length of a phase of a line: tiles and the overhang of the last.
func (w *strips) padded() int { return w.block() + w.vector }

func (w *strips) offsets() stripOffsets {
	t, n := w.t, w.block()
	var o stripOffsets
	o.v = t.N * w.strideI()
	o.p = o.v + t.N*w.strideV()
	o.y = o.p + t.N*w.lanes*n
	o.d = o.y + t.N*w.strideY()
	o.z = o.d + t.T()*t.M*w.padded()
	o.size = o.z + t.M*t.M*n
	o.size = ceilDiv(o.size, 32) * 32
	return o
}

// slice is the scratch of one work-item in bytes.
func (w *strips) slice() int64 { return 4 * int64(w.offsets().size) }

func (w *strips) name() string {
	return fmt.Sprintf("wino_strips_%s_o%d_v%dx%d", w.t.variant, w.lanes, w.nv, w.vector) + actSuffix(w.shape)
}

func (w *strips) Kernels() []conv.Kernel {
	n, typ := w.name(), fmt.Sprintf("float%d", w.vector)
	functions, err := emitAll(emitter(w.t.input, n+"_bt", typ), emitter(w.t.output, n+"_at", typ))
	if err != nil {
		panic("winograd: strips: " + err.Error()) // names and types are constants of this file
	}
	values := map[string]any{
		"Name": n, "Functions": functions, "N": w.t.N, "M": w.t.M, "T": w.t.T(), "R": w.t.R, "V": w.vector, "NV": w.nv,
		"Lanes": w.lanes, "Block": w.block(), "Padded": w.padded(), "Sigmoid": w.shape.Act == fuse.Sigmoid,
		"Channels": filterChannels, "G": w.factors(),
	}
	return []conv.Kernel{{Name: n + "_filter", Source: stripsFilterTemplate.Fill(values)}, {Name: n, Source: stripsTemplate.Fill(values)}}
}

// factors is G as a list of constants.
func (w *strips) factors() string {
	var s []string
	for _, row := range w.t.G.Float64() {
		for _, v := range row {
			s = append(s, fmt.Sprintf("%.9ef", v))
		}
	}
	return strings.Join(s, ", ")
}

// biasAt is where the bias begins in the packed weights.
func (w *strips) biasAt() int { return w.t.R * w.t.R * w.shape.InC() * w.blocksK() * w.lanes }

func (w *strips) PackedLen() int { return w.biasAt() + w.blocksK()*w.lanes }

// Pack lays out the weights as [block][c][R][R][lanes] and the bias as [block][lanes].
func (w *strips) Pack(weights, bias []float32) []float32 {
	taps := w.shape.InC() * w.t.R * w.t.R // of an output
	out := make([]float32, w.PackedLen())
	for k := range w.shape.OutC {
		to := out[k/w.lanes*taps*w.lanes+k%w.lanes:]
		for i, v := range weights[k*taps:][:taps] {
			to[i*w.lanes] = v
		}
	}
	copy(out[w.biasAt():], bias[:w.shape.OutC])
	return out
}

func (w *strips) Granule() int { return w.t.M }

func (w *strips) blocksX() int { return ceilDiv(ceilDiv(w.shape.W, w.t.M), w.block()) }

// items is the number of blocks of tiles in rows rows.
func (w *strips) items(rows int) int { return ceilDiv(rows, w.t.M) * w.blocksX() }

func (w *strips) Scratch(rows int) int64 {
	return w.fixed() + int64(min(w.items(rows), w.workers))*w.slice()
}

// LessScratch is one worker's.
func (w *strips) LessScratch() []int64 { return []int64{w.fixed() + w.slice()} }

func (w *strips) Launch(q *clrt.Queue, k []*clrt.Kernel, packed *clrt.Buffer, a *conv.Args) error {
	if err := checkRows(w.algo, a, w.t.M); err != nil {
		return err
	}
	items := w.items(a.Y1 - a.Y0)
	workers := min(items, w.workers, w.fitting(scratchSize(a.Scratch)))
	if workers < 1 {
		return fmt.Errorf("%s: %w", w.algo, w.capError(scratchSize(a.Scratch)))
	}
	args := new(conv.KernelArgs).Buffer(packed).Buffer(a.Scratch).Int(w.shape.InC())
	if err := args.Launch(q, k[0], []int{w.blocksK(), ceilDiv(w.shape.InC(), filterChannels)}, []int{1, 1}); err != nil {
		return err
	}
	o := w.offsets()
	args = new(conv.KernelArgs).Sources(a).Buffer(packed).Int(w.biasAt()).Residual(a).Ring(a.Dst).
		Buffer(a.Scratch).Int(16+w.filters(), o.size, w.strideI(), w.strideV(), w.strideY()).
		Int8([8]int32{int32(o.v), int32(o.p), int32(o.y), int32(o.d), int32(o.z)}).
		Int(a.Y0/w.t.M, a.Y1, items, w.blocksX(), int(w.shape.Act)).Float(a.Slope)
	return args.Launch(q, k[1], []int{workers}, []int{1})
}

// checkRows refuses launches that do not begin at a tile row or have no rows.
func checkRows(algo string, a *conv.Args, m int) error {
	if a.Y0%m != 0 || a.Y0 < 0 || a.Y1 <= a.Y0 || a.Y1 > a.Dst.H {
		return fmt.Errorf("%s: launch over rows %d to %d of %d; launches start at multiples of %d and have rows", algo, a.Y0, a.Y1, a.Dst.H, m)
	}
	return nil
}
