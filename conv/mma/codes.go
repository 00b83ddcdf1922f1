package mma

import (
	_ "embed"
	"fmt"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/kerneltext"
	"enhance/internal/planar"
)

//go:embed codes.cl
var codesCL string

// Codes is the convolution of codes of 8 bits ([conv.Integer]), for devices that pass [Probe]. Its sums are of
// integers, so that results are those of conv.DirectCodes to the bit.
func Codes() conv.Algo { return codesAlgo{} }

// SuitsCodes reports whether Codes is expected to beat direct convolution of codes.
func SuitsCodes(s conv.Shape) bool { return s.W > planar.Rim }

type codesAlgo struct {
	variant *codesVariant // nil: the one that suits the shape
}

// codesVariant is how a work-group divides its tile (see codes.cl).
type codesVariant struct {
	mt    int // m-tiles of 16 outputs per warp
	wo    int // warps along the outputs
	wr    int // warps along the rows
	rows  int // rows per warp
	words int // lines of the source in a stage
	tiles int // tiles of a work-group, at most maxTiles
	reuse int // 1 if a row of pixels is loaded once for all rows of the kernel
}

// maxTiles is how many tiles below each other the kernel's table of rows has room for.
const maxTiles = 8

// codesLocal is how much local memory a work-group may use: all devices with these instructions
// have it, and Probe has tried it.
const codesLocal = 96 << 10

func (v codesVariant) String() string {
	return fmt.Sprintf("m%dx%d-r%dx%d-w%d-t%d-u%d", v.mt, v.wo, v.rows, v.wr, v.words, v.tiles, v.reuse)
}

func (v codesVariant) group() int   { return 32 * v.wo * v.wr }
func (v codesVariant) tileH() int   { return v.rows * v.wr }
func (v codesVariant) outputs() int { return 16 * v.mt * v.wo }
func (v codesVariant) stages(channels int) int {
	return ceilDiv(planar.Words(channels), v.words)
}

// tapWords is how many words of weights a warp reads for a tap of a stage.
func (v codesVariant) tapWords() int { return v.mt * 16 * v.words }

// stageWords is how many words of weights a work-group copies for a stage.
func (v codesVariant) stageWords(k int) int { return k * k * v.wo * v.tapWords() }

// localBytes is the size of two patches and of the weights of all stages, if that is one, or of two.
func (v codesVariant) localBytes(k, channels int) int {
	left := (k/2 + 1) / 2 * 2
	line := ((v.tileH()+k-1)*(32+2*left) + 49) / 32 * 32
	return 4*(2*(v.words*line+32)+min(v.stages(channels), 2)*v.stageWords(k)) + 8*(maxTiles*v.tileH()+k-1) + 12*v.outputs()
}

// chooseCodes gives the variant for a shape: as many lines in a stage as local memory holds, up to 16, and
// stages of one size.
func chooseCodes(c conv.Caps, s conv.Shape) codesVariant {
	v := codesVariant{mt: min(ceilDiv(s.OutC, 16), 3), wo: 1, wr: 4, rows: 1, tiles: 1}
	switch fragments := ceilDiv(s.OutC, 16); {
	case fragments == 5 || fragments == 6:
		v.wo = 2
	case fragments > 3:
		v.mt, v.wo = 2, 2
	}
	lines := planar.Words(s.InC())
	for v.words = 16; v.localBytes(s.K, s.InC()) > codesLocal; {
		switch { // large kernels have many weights
		case v.words > 4:
			v.words -= 4
		case v.wo > 1:
			v.wo--
		default:
			v.mt--
		}
	}
	v.words = ceilDiv(ceilDiv(lines, ceilDiv(lines, v.words)), 4) * 4
	groups := ceilDiv(s.W, tileW) * ceilDiv(s.H, v.tileH()) * ceilDiv(s.OutC, v.outputs())
	v.tiles = min(max(groups/(16*max(c.Cores, 1)), 1), maxTiles)
	return v
}

func (a codesAlgo) Name() string {
	if a.variant != nil {
		return "mma-codes-" + a.variant.String()
	}
	return "mma-codes"
}

func (a codesAlgo) New(c conv.Caps, s conv.Shape, _ planar.Precision) (conv.Impl, error) {
	switch {
	case !s.Codes || s.Octets:
		return nil, fmt.Errorf("conv: %s does convolutions of codes of 8 bits", a.Name())
	case !c.Matrix:
		return nil, fmt.Errorf("conv: %s needs matrix units, as NVIDIA GPUs have", a.Name())
	case len(s.SrcC) != 1 || s.InC() < 1 || s.OutC < 1 || s.Window != nil:
		return nil, fmt.Errorf("conv: %s: shape %v of %d sources is not a convolution of one tensor", a.Name(), s, len(s.SrcC))
	case s.K%2 == 0 || s.K/2 > planar.Rim:
		return nil, fmt.Errorf("conv: %s does odd kernels up to %dx%[2]d, not %dx%[3]d", a.Name(), 2*planar.Rim+1, s.K)
	case s.W <= planar.Rim:
		return nil, fmt.Errorf("conv: %s does planes of more than %d columns, not %d", a.Name(), planar.Rim, s.W)
	}
	v := chooseCodes(c, s)
	if a.variant != nil {
		v = *a.variant
	}
	if n := v.localBytes(s.K, s.InC()); n > codesLocal {
		return nil, fmt.Errorf("conv: %s needs %d bytes of local memory, there are %d", a.Name(), n, codesLocal)
	}
	if v.group() > c.MaxWorkGroup {
		return nil, fmt.Errorf("conv: %s needs work-groups of %d, the device allows %d", a.Name(), v.group(), c.MaxWorkGroup)
	}
	return &codesImpl{s, v}, nil
}

type codesImpl struct {
	shape   conv.Shape
	variant codesVariant
}

func (m *codesImpl) stages() int { return m.variant.stages(m.shape.InC()) }

// resident is 1 if all weights of a work-group are in local memory at once.
func (m *codesImpl) resident() int {
	if m.stages() == 1 {
		return 1
	}
	return 0
}

func (m *codesImpl) name() string {
	v, store := m.variant, ""
	if m.shape.Store {
		store = "_store"
	}
	return fmt.Sprintf("conv_mma_codes_k%d_m%dx%d_r%dx%d_w%d_%d%d_act%d%s", m.shape.K, v.mt, v.wo, v.rows, v.wr, v.words, m.resident(), v.reuse, m.shape.Act, store)
}

func (m *codesImpl) Kernels() []conv.Kernel {
	v := m.variant
	flag := map[bool]int{true: 1}
	text := kerneltext.Define(codesCL, "NAME", m.name(), "KS", m.shape.K, "MT", v.mt, "WO", v.wo, "WR", v.wr, "ROWS", v.rows, "WORDS", v.words,
		"RESIDENT", m.resident(), "REUSE", v.reuse, "TILES", maxTiles, "ACT", int(m.shape.Act), "STORE", flag[m.shape.Store])
	return []conv.Kernel{{Name: m.name(), Source: instructionsCL + planar.CodesSource() + commonCL + text + undefs(codesCL)}}
}

func (m *codesImpl) Granule() int      { return 1 }
func (m *codesImpl) Scratch(int) int64 { return 0 }

func (m *codesImpl) Launch(q *clrt.Queue, k []*clrt.Kernel, packed *clrt.Buffer, a *conv.Args) error {
	args, global, local := m.launch(packed, a)
	return args.Launch(q, k[0], global, local)
}

// launch lists the kernel's arguments and sizes.
func (m *codesImpl) launch(packed *clrt.Buffer, a *conv.Args) (args *conv.KernelArgs, global, local []int) {
	v, first, outs := m.variant, m.firstAt(), m.outputs()
	args = new(conv.KernelArgs).Ring(a.Src[0]).Buffer(packed).Int(m.stages(), first, first+outs, first+2*outs, int(int32(a.Zero.Word()))).Residual(a).Ring(a.Dst).
		Int(m.shape.OutC, a.Y0, a.Y1, v.tiles).Float(a.Slope).Float(a.Store.Inverse).Float(float32(a.Store.Zero))
	return args, []int{m.groups() * v.group(), ceilDiv(a.Dst.W, tileW), ceilDiv(a.Y1-a.Y0, v.tiles*v.tileH())}, []int{v.group(), 1, 1}
}
