package winograd

import (
	_ "embed"
	"fmt"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/kerneltext"
	"enhance/internal/planar"
)

var (
	//go:embed tiled_in.cl.tmpl
	tiledInText string
	//go:embed tiled_gemm.cl.tmpl
	tiledGemmText string
	//go:embed tiled_out.cl.tmpl
	tiledOutText string

	tiledIn   = kerneltext.NewTemplate("tiled_in", tiledInText, templateFuncs)
	tiledGemm = kerneltext.NewTemplate("tiled_gemm", tiledGemmText, templateFuncs)
	tiledOut  = kerneltext.NewTemplate("tiled_out", tiledOutText, templateFuncs)
)

// tiled computes, for strips of tile rows,
//
//	V[p][c][t] = (BT d B)[p] of input channel c under tile t
//	M[p][k][t] = Σ_c U[p][c][k] · V[p][c][t]
//	dst = act(bias[k] + (AT M A) of tile t) + res
//
// by one kernel each. V lies in the storage type or in float32, M in float32, so that sums may
// go on in it. A launch is divided so that V and M fit the scratch (see divide).
type tiled struct {
	t     *compiled
	algo  string
	shape conv.Shape
	halfV bool
	split Split
	limit int64
	wide  int // tiles of a work-group of the transforms
	high  int // work-items of it for each
	gemm  gemmTile
	group func(outs int) (conv.Impl, error)
}

// Group implements conv.Grouping: every output has sums of its own.
func (w *tiled) Group(outs int) (conv.Impl, error) { return w.group(outs) }

// tiledThreads is the work-group size of the transforms by rule.
const tiledThreads = 128

// gemmTile is the blocking of the matrix products: bk outputs × bt tiles for a
// work-group, tk × 8 for a work-item, cc channels staged.
type gemmTile struct{ bk, bt, tk, cc int }

func (g gemmTile) threads() int { return g.bk / g.tk * g.bt / 8 }

// local is the local memory of a work-group in bytes.
func (g gemmTile) local() int { return 2 * g.cc * (g.bk + g.bt) * 4 }

func (g gemmTile) name() string { return fmt.Sprintf("wino_gemm_%dx%d_%d_%d", g.bk, g.bt, g.tk, g.cc) }

// fits says what of a device is too small for the products, nil if nothing is.
func (g gemmTile) fits(c conv.Caps) error {
	if g.threads() > c.MaxWorkGroup || int64(g.local()) > c.LocalMem {
		return fmt.Errorf("products need work-groups of %d and %d bytes of local memory, the device allows %d and %d", g.threads(), g.local(), c.MaxWorkGroup, c.LocalMem)
	}
	return nil
}

var gemmTiles = []gemmTile{
	{bk: 128, bt: 128, tk: 8, cc: 8}, {bk: 96, bt: 128, tk: 8, cc: 8}, {bk: 64, bt: 128, tk: 8, cc: 8},
	{bk: 48, bt: 128, tk: 8, cc: 8}, {bk: 32, bt: 256, tk: 8, cc: 8}, {bk: 16, bt: 256, tk: 4, cc: 8},
}

// chooseGemm is the blocking with the fewest outputs of padding, larger blocks
// first, among those the device can run.
func chooseGemm(k int, c conv.Caps) (gemmTile, error) {
	best, bestPad := gemmTile{}, 0
	for _, g := range gemmTiles {
		if g.fits(c) != nil {
			continue
		}
		if pad := ceilDiv(k, g.bk) * g.bk; best.bk == 0 || pad < bestPad {
			best, bestPad = g, pad
		}
	}
	if best.bk == 0 {
		return best, fmt.Errorf("winograd: no matrix product fits work-groups of %d and %d bytes of local memory", c.MaxWorkGroup, c.LocalMem)
	}
	return best, nil
}

func newTiled(c Convolution, t *compiled, caps conv.Caps, s conv.Shape, p planar.Precision) (conv.Impl, error) {
	w := &tiled{t: t, algo: c.Name(), shape: s, halfV: p == planar.FP16 && !c.WideV, split: c.Split, wide: 32}
	w.group = func(outs int) (conv.Impl, error) {
		part := s
		part.OutC = outs
		return newTiled(c, t, caps, part, p)
	}
	if t.N > 8 {
		w.wide = 16 // more products for each tile: half the tiles
	}
	w.high = tiledThreads / w.wide
	if g := c.Groups; g != (Groups{}) {
		w.wide, w.high = g.Wide, g.High
	}
	if n := w.wide * w.high; caps.MaxWorkGroup < n {
		return nil, fmt.Errorf("%s needs work-groups of %d, the device allows %d", w.algo, n, caps.MaxWorkGroup)
	}
	if need := int64(max(w.localIn(), w.localOut())); need > caps.LocalMem {
		return nil, fmt.Errorf("%s needs %d bytes of local memory, the device has %d", w.algo, need, caps.LocalMem)
	}
	var err error
	if g := c.Groups; g != (Groups{}) {
		w.gemm = gemmTile{g.Outputs, g.Tiles, g.Each, g.Stage}
		err = w.gemm.fits(caps)
	} else {
		w.gemm, err = chooseGemm(s.OutC, caps)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", w.algo, err)
	}
	less := w.LessScratch()
	if w.limit = c.Cap; w.limit <= 0 {
		w.limit = max(TiledCap, less[0])
	}
	if least := less[len(less)-1]; w.limit < least {
		return nil, fmt.Errorf("%s: %w", w.algo, &CapError{Cap: w.limit, Smallest: least, What: fmt.Sprintf("one row of %d tiles", w.tp())})
	}
	return w, nil
}

func (w *tiled) scratch() Scratch {
	return Scratch{N: w.t.N, C: w.shape.InC(), K: w.shape.OutC, ElemV: w.elemV(), ElemM: 4}
}

// elemV is the bytes of a number of V.
func (w *tiled) elemV() int {
	if w.halfV {
		return 2
	}
	return 4
}

// tp is the distance between tile rows in V and M: aligned for vector loads.
func (w *tiled) tp() int { return ceilDiv(ceilDiv(w.shape.W, w.t.M), 8) * 8 }

// patch is the size of the input samples of a work-group in local memory.
func (w *tiled) patch() (rows, h, width int) {
	rows = 1
	if w.t.N <= 8 {
		rows = 2 // share what vertical neighbours overlap
	}
	return rows, rows*w.t.M + w.t.R - 1, ceilDiv(4-w.t.R/2+w.wide*w.t.M+w.t.R-1, 4) * 4
}

func (w *tiled) phase() int { return phasePitch(w.wide+(w.t.R-2)/w.t.M+1, w.t.M) }

func (w *tiled) localIn() int {
	_, h, width := w.patch()
	return 4 * (h*width + w.t.N*w.t.M*w.phase())
}

func (w *tiled) localOut() int { return 4 * (w.t.M*w.t.N*w.wide + w.t.M*w.t.M*w.phase()) }

// phasePitch is the distance, at least n, between the m phases of a line in local
// memory for which 32 neighbouring columns fall on the most different banks.
func phasePitch(n, m int) int {
	best, bestMax := n, 33
	for pitch := n; pitch < n+32; pitch++ {
		var banks [32]int
		worst := 0
		for x := range 32 {
			b := (x%m*pitch + x/m) % 32
			banks[b]++
			worst = max(worst, banks[b])
		}
		if worst < bestMax {
			best, bestMax = pitch, worst
		}
		if bestMax == 1 || pitch >= n+15 && bestMax == 2 {
			break
		}
	}
	return best
}

func (w *tiled) Kernels() []conv.Kernel {
	typeV := "float"
	if w.halfV {
		typeV = "half"
	}
	in := fmt.Sprintf("wino_in_%s_%s_%dx%d", w.t.variant, typeV, w.wide, w.high)
	out := fmt.Sprintf("wino_out_%s_%dx%d", w.t.variant, w.wide, w.high)
	rows, h, width := w.patch()
	g := w.gemm
	common := map[string]any{
		"N": w.t.N, "M": w.t.M, "T": w.t.T(), "R": w.t.R, "Wide": w.wide, "High": w.high,
		"TypeV": typeV, "HalfV": w.halfV, "Rows": rows, "PatchH": h, "PatchW": width, "Phase": w.phase(),
		"BK": g.bk, "BT": g.bt, "TK": g.tk, "CC": g.cc, "Threads": g.threads(),
		"LoadsU": ceilDiv(g.cc*g.bk/4, g.threads()), "LoadsV": ceilDiv(g.cc*g.bt/4, g.threads()),
	}
	return []conv.Kernel{
		render(tiledIn, in, common, emitter(w.t.input, in+"_bt", "float")),
		render(tiledGemm, g.name()+"_"+typeV, common),
		render(tiledOut, out, common, emitter(w.t.output, out+"_at", "float")),
	}
}

// render executes a kernel's template with its name and functions added.
func render(t *kerneltext.Template, name string, data map[string]any, functions ...func() (string, error)) conv.Kernel {
	text, err := emitAll(functions...)
	if err != nil {
		panic("winograd: " + name + ": " + err.Error()) // names and types are constants of this package
	}
	all := map[string]any{"Name": name, "Functions": text}
	for k, v := range data {
		all[k] = v
	}
	return conv.Kernel{Name: name, Source: t.Fill(all)}
}

func (w *tiled) kpad() int   { return ceilDiv(w.shape.OutC, w.gemm.bk) * w.gemm.bk }
func (w *tiled) biasAt() int { return w.t.N * w.t.N * w.shape.InC() * w.kpad() }

func (w *tiled) PackedLen() int { return w.biasAt() + w.shape.OutC }

// Pack lays out U as [p][c][kpad] and then the bias.
func (w *tiled) Pack(weights, bias []float32) []float32 {
	k := w.shape.OutC
	u := w.t.pack(weights, k, w.shape.InC())
	out := make([]float32, w.PackedLen())
	for i := range len(u) / k {
		copy(out[i*w.kpad():], u[i*k:][:k])
	}
	copy(out[w.biasAt():], bias[:k])
	return out
}

func (w *tiled) Granule() int { return w.t.M }

// Scratch is that of the highest strip.
func (w *tiled) Scratch(rows int) int64 {
	d, err := w.divide(rows, w.limit)
	if err != nil {
		return w.limit // Launch says what is wrong
	}
	return w.scratch().part(d.channels[0].Len()).Bytes(int64(d.strips[0].Len()) * int64(w.tp()))
}

// LessScratch is one row of tiles over all input channels, over half of them, and so
// on down to one step of the products' kernel.
func (w *tiled) LessScratch() []int64 {
	var less []int64
	for c := w.shape.InC(); ; c = ceilDiv(c/2, w.gemm.cc) * w.gemm.cc {
		less = append(less, w.scratch().part(c).Bytes(int64(w.tp())))
		if c <= w.gemm.cc {
			return less
		}
	}
}

// division is how a launch is divided: into strips of tile rows, each of which takes
// the ranges of input channels one after another.
type division struct{ strips, channels []Range }

// divide divides a launch over rows so that V and M of a strip and a range of channels
// fit limit bytes: into the fewest strips of all channels if a row of tiles fits, else into
// rows of tiles and the fewest ranges of channels; or as Split says. Ranges begin at
// multiples of what the products' kernel takes at a time, so that sums have the same order,
// to the bit, however many there are.
func (w *tiled) divide(rows int, limit int64) (d division, err error) {
	s, tileRows := w.scratch(), ceilDiv(rows, w.t.M)
	switch {
	case w.split == ByChannels:
		d.strips = []Range{{0, tileRows}}
	case s.Bytes(int64(w.tp())) > limit:
		d.strips = evenRanges(tileRows, 1)
	default:
		d.channels = []Range{{0, s.C}}
		d.strips, err = s.SplitRows(tileRows, w.tp(), limit)
		return d, err
	}
	d.channels, err = s.SplitChannels(int64(d.strips[0].Len())*int64(w.tp()), w.gemm.cc, limit)
	return d, err
}

func (w *tiled) Launch(q *clrt.Queue, k []*clrt.Kernel, packed *clrt.Buffer, a *conv.Args) error {
	if err := checkRows(w.algo, a, w.t.M); err != nil {
		return err
	}
	d, err := w.divide(a.Y1-a.Y0, min(w.limit, scratchSize(a.Scratch)))
	if err != nil {
		return fmt.Errorf("%s: %w", w.algo, err)
	}
	for _, p := range d.strips {
		if err := w.strip(q, k, packed, a, a.Y0/w.t.M+p.From, p.Len(), d.channels); err != nil {
			return err
		}
	}
	return nil
}

// strip runs the three kernels over rows tile rows from row0 on, the first two for
// each range of input channels.
func (w *tiled) strip(q *clrt.Queue, k []*clrt.Kernel, packed *clrt.Buffer, a *conv.Args, row0, rows int, channels []Range) error {
	inC, outC, tp := w.shape.InC(), w.shape.OutC, w.tp()
	n2, tiles := w.t.N*w.t.N, rows*tp
	mAt := int(int64(n2) * int64(channels[0].Len()) * int64(tiles) * int64(w.elemV()) / 4)
	blocks, high := ceilDiv(ceilDiv(w.shape.W, w.t.M), w.wide), w.high
	patchRows, _, _ := w.patch()
	for _, r := range channels {
		c0, cs := r.From, r.Len()
		args := new(conv.KernelArgs).Sources(a).Buffer(a.Scratch).Int(c0, row0, rows, tp)
		if err := args.Launch(q, k[0], []int{blocks * w.wide, ceilDiv(rows, patchRows) * high, cs}, []int{w.wide, high, 1}); err != nil {
			return err
		}
		g := w.gemm
		args = new(conv.KernelArgs).Buffer(packed).Buffer(a.Scratch).Buffer(a.Scratch).Int(mAt, inC, c0, cs, w.kpad(), outC, tiles, oneIf(c0 > 0))
		if err := args.Launch(q, k[1], []int{ceilDiv(tiles, g.bt) * g.threads(), ceilDiv(outC, g.bk), n2}, []int{g.threads(), 1, 1}); err != nil {
			return err
		}
	}
	args := new(conv.KernelArgs).Buffer(a.Scratch).Int(mAt).Buffer(packed).Int(w.biasAt()).Residual(a).Ring(a.Dst).
		Int(row0, rows, tp, a.Y1, int(w.shape.Act)).Float(a.Slope)
	return args.Launch(q, k[2], []int{blocks * w.wide, rows * high, outC}, []int{w.wide, high, 1})
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}
