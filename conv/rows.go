package conv

import (
	_ "embed"
	"fmt"

	"enhance/clrt"
	"enhance/internal/fuse"
	"enhance/internal/kerneltext"
	"enhance/internal/planar"
)

//go:embed rows.cl.tmpl
var rowsText string

var rowsTemplate = kerneltext.NewTemplate("rows", rowsText, kerneltext.Funcs)

// Rows is direct convolution for CPUs: register tiles of output channels by
// vectors of columns, no local memory, no barriers. It computes
//
//	for o, y, x: acc = bias[o]
//	    for c, ky, kx: acc = fma(w[o][c][ky][kx], src[c][reflect(y+ky-k/2)][x+kx-k/2], acc)
//	    dst[o][y][x] = act(acc) + res[o][y][x]
type Rows struct{}

func (Rows) Name() string { return "direct-rows" }

func (Rows) New(c Caps, s Shape, _ planar.Precision) (Impl, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	if s.K/2 > planar.Rim {
		return nil, fmt.Errorf("conv: direct-rows does kernels up to %dx%[1]d, not %dx%[2]d", 2*planar.Rim+1, s.K)
	}
	r := &rowsImpl{shape: s, vector: 8}
	switch {
	case c.Vector >= 16:
		r.vector = 16
	case c.Vector > 0 && c.Vector < 8:
		r.vector = 4
	}
	r.lanes, r.tile = registerTile(s, r.vector)
	return r, nil
}

type rowsImpl struct {
	shape               Shape
	vector, lanes, tile int // floats per vector, outputs per block, vectors per tile
}

// registerTile chooses how many outputs and how many vectors of columns to keep
// in registers. AVX-512 has 32 vector registers, everything else 16 that matter
// (or 32 of 4 floats): lanes×tile accumulators, tile inputs and one weight must
// fit. Less padding of outputs wins, then fewer loads per multiply-add. The
// plane's size plays no part, so that a new size costs no compilation.
func registerTile(s Shape, vector int) (lanes, tile int) {
	registers := 16
	if vector != 8 {
		registers = 32
	}
	best := 0.0
	for _, t := range []int{1, 2, 3, 4} {
		for l := 1; l <= 16; l++ {
			if l*t+t+1 > registers-1 || l > s.OutC {
				continue
			}
			blocks := (s.OutC + l - 1) / l
			useful := float64(s.OutC) / float64(blocks*l)
			// Two loads (inputs, and weights by broadcast) and two multiply-adds
			// start in a cycle; short dependency chains leave units idle; higher
			// tiles waste more at the end of a line.
			loads := float64(t+l) / float64(l*t)
			busy := min(1, float64(l*t)/10)
			if score := useful * busy / (1 + loads/2) / (1 + 0.03*float64(t)); score > best {
				best, lanes, tile = score, l, t
			}
		}
	}
	return lanes, tile
}

func (r *rowsImpl) name() string {
	name := fmt.Sprintf("conv_rows_k%d_o%d_v%dx%d", r.shape.K, r.lanes, r.tile, r.vector)
	if r.shape.Act == fuse.Sigmoid {
		name += "_sigmoid" // exp makes long code: only where it is needed
	}
	return name
}

func (r *rowsImpl) Kernels() []Kernel {
	text := rowsTemplate.Fill(struct {
		Name                   string
		K, Lanes, Tile, Vector int
		Sigmoid                bool
	}{r.name(), r.shape.K, r.lanes, r.tile, r.vector, r.shape.Act == fuse.Sigmoid})
	return []Kernel{{r.name(), text}}
}

func (r *rowsImpl) blocks() int { return (r.shape.OutC + r.lanes - 1) / r.lanes }

func (r *rowsImpl) PackedLen() int {
	return r.blocks() * r.lanes * (r.shape.InC()*r.shape.K*r.shape.K + 1)
}

func (r *rowsImpl) Pack(weights, bias []float32) []float32 {
	return block(r.shape, r.lanes, weights, bias)
}

func (r *rowsImpl) Granule() int      { return 1 }
func (r *rowsImpl) Scratch(int) int64 { return 0 }
func (r *rowsImpl) biasAt() (offset int) {
	return r.blocks() * r.lanes * r.shape.InC() * r.shape.K * r.shape.K
}

func (r *rowsImpl) Launch(q *clrt.Queue, k []*clrt.Kernel, packed *clrt.Buffer, a *Args) error {
	args := new(KernelArgs).Sources(a).Buffer(packed).Int(r.biasAt()).Residual(a).Ring(a.Dst).Int(a.Y0, int(r.shape.Act)).Float(a.Slope)
	return args.Launch(q, k[0], []int{r.blocks(), a.Y1 - a.Y0}, []int{1, 1})
}
