package exec

import (
	"math"

	"enhance/conv"
	"enhance/conv/amx"
	"enhance/conv/mma"
	"enhance/conv/octets"
	"enhance/conv/wgmma"
	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/model"
	"enhance/winograd"
)

// Choice is an algorithm for one convolution on one device, and the reason for it.
type Choice struct {
	Algo conv.Algo
	Impl conv.Impl // made for the shape
	Why  string
}

// family is a kind of algorithms: where one of them is the automatic choice, and which of
// them tuning measures.
type family struct {
	why string
	// choose gives the algorithm, nil if none of them suits the shape, and, if it made it
	// already, what it makes of the shape.
	choose func(c conv.Caps, s conv.Shape, a conv.Arithmetic) (conv.Algo, conv.Impl)
	// candidates are worth measuring where the family suits the shape, the likeliest first.
	candidates func(c conv.Caps, s conv.Shape, a conv.Arithmetic) []conv.Algo
}

// families come in the order in which the automatic choice prefers them. The choice
// depends on the shape, the device's kind and the arithmetic, never on the memory budget
// or on how rows are divided.
var families = []family{
	{"matrix units by the warpgroup", alone(warpgroups), func(c conv.Caps, s conv.Shape, a conv.Arithmetic) []conv.Algo {
		if algo := warpgroups(c, s, a); algo != nil {
			return []conv.Algo{algo}
		}
		return nil
	}},
	{"matrix units", alone(matrixUnits), func(c conv.Caps, s conv.Shape, a conv.Arithmetic) []conv.Algo {
		algo := matrixUnits(c, s, a)
		if algo == nil {
			return nil
		}
		return append([]conv.Algo{algo}, mma.Candidates(matrixPrecision(a), c, s)...)
	}},
	{"fewer multiplications", func(c conv.Caps, s conv.Shape, a conv.Arithmetic) (conv.Algo, conv.Impl) {
		if !c.Plain && (wide(s) || waits(c, s) || c.CPU && shallow(s)) && (!c.CPU || s.FLOPs() >= worthCompiling && roomy(s)) {
			if !wide(s) && shallow(s) && s.K == 3 {
				return winograd.Algo(winograd.V4x3), nil
			}
			return winograd.Choose(c, s, a.Precision)
		}
		return nil, nil
	}, func(c conv.Caps, s conv.Shape, a conv.Arithmetic) []conv.Algo {
		return winograd.Candidates(c, s, a.Precision)
	}},
	{"direct convolution of the device's kind does every shape", func(c conv.Caps, _ conv.Shape, _ conv.Arithmetic) (conv.Algo, conv.Impl) {
		return conv.Direct(c), nil
	}, func(c conv.Caps, s conv.Shape, a conv.Arithmetic) []conv.Algo {
		return append([]conv.Algo{conv.Direct(c), conv.ImplicitGEMM{}}, conv.RowTiles(c, s, a.Precision)...)
	}},
	// The algorithm without needs, for shapes that the direct one cannot do.
	{"", func(conv.Caps, conv.Shape, conv.Arithmetic) (conv.Algo, conv.Impl) {
		return conv.Simple{}, nil
	}, func(c conv.Caps, _ conv.Shape, _ conv.Arithmetic) []conv.Algo {
		if c.CPU {
			return nil
		}
		return []conv.Algo{conv.Packed{}}
	}},
}

// Families of convolutions that read or write something else than planes of samples have one algorithm each,
// which tuning leaves alone.
var (
	windowFamilies = []family{ // by a conv.Window
		sole("every sample is read for few outputs", conv.Depthwise{}, func(_ conv.Caps, s conv.Shape) bool { return s.Window.Groups >= s.InC() }),
		sole("the kernel's window is its own", conv.Windowed{}, always),
	}
	codesFamilies = []family{
		sole("codes of 8 bits, on matrix units", mma.Codes(), func(c conv.Caps, s conv.Shape) bool { return c.Matrix && mma.SuitsCodes(s) }),
		sole("codes of 8 bits, by tiles", amx.Codes(), func(c conv.Caps, _ conv.Shape) bool { return c.Tiles }),
		sole("codes of 8 bits", conv.DirectCodes{}, always),
	}
	pairFamilies = []family{ // of bfloat16
		sole("pairs of bfloat16, by tiles", amx.Pairs(), func(c conv.Caps, _ conv.Shape) bool { return c.Tiles }),
		sole("pairs of bfloat16", conv.DirectPairs{}, always),
	}
	octetFamilies = []family{
		sole("matrix units, of octets", octets.Algo(), func(c conv.Caps, s conv.Shape) bool { return c.Octets && octets.Suits(s) }),
	}
	octetCodesFamilies = []family{ // of codes made of octets
		sole("codes of 8 bits, of octets, on matrix units", octets.Codes(), func(c conv.Caps, s conv.Shape) bool { return c.Octets && octets.SuitsCodes(s) }),
	}
)

// sole is a family of one algorithm.
func sole(why string, algo conv.Algo, suits func(c conv.Caps, s conv.Shape) bool) family {
	return family{why: why, choose: func(c conv.Caps, s conv.Shape, _ conv.Arithmetic) (conv.Algo, conv.Impl) {
		if !suits(c, s) {
			return nil, nil
		}
		return algo, nil
	}}
}

func always(conv.Caps, conv.Shape) bool { return true }

// familiesFor are those for a shape, and the algorithm that does every such shape, or comes nearest to that.
func familiesFor(c conv.Caps, s conv.Shape) ([]family, conv.Algo) {
	switch {
	case s.Window != nil:
		return windowFamilies, conv.Windowed{}
	case s.Octets && s.Codes:
		return octetCodesFamilies, conv.DirectCodes{}
	case s.Octets:
		return octetFamilies, conv.Simple{}
	case s.Pairs:
		return pairFamilies, conv.DirectPairs{}
	case s.Codes:
		return codesFamilies, conv.DirectCodes{}
	}
	return families, conv.Direct(c)
}

// alone is a choice that makes nothing.
func alone(choose func(conv.Caps, conv.Shape, conv.Arithmetic) conv.Algo) func(conv.Caps, conv.Shape, conv.Arithmetic) (conv.Algo, conv.Impl) {
	return func(c conv.Caps, s conv.Shape, a conv.Arithmetic) (conv.Algo, conv.Impl) { return choose(c, s, a), nil }
}

// warpgroups is the algorithm for Hopper's matrix units.
func warpgroups(c conv.Caps, s conv.Shape, _ conv.Arithmetic) conv.Algo {
	if !c.Warpgroup || !wgmma.Suits(s) {
		return nil
	}
	return wgmma.Algo()
}

// matrixUnits is the algorithm for matrix units by the warp.
func matrixUnits(c conv.Caps, s conv.Shape, a conv.Arithmetic) conv.Algo {
	if !c.Matrix || !mma.Suits(s) {
		return nil
	}
	return mma.Algo(matrixPrecision(a))
}

// matrixPrecision is how factors enter the products of matrix units.
func matrixPrecision(a conv.Arithmetic) mma.Precision {
	switch {
	case a.Precision == planar.FP16:
		return mma.FP16
	case a.TF32:
		return mma.TF32
	}
	return mma.FP32
}

// AutoAlgo is the automatic choice for a convolution where no tuning table has one: of
// the first family that does it on the device in buffers that the device allocates, or, if
// none does, that with the smallest buffers. If no algorithm does the shape, the error is that
// of the device's direct algorithm, which the choice names.
func AutoAlgo(c conv.Caps, s conv.Shape, a conv.Arithmetic) (Choice, error) {
	families, direct := familiesFor(c, s)
	var refused error
	var smallest Choice
	least, large := int64(math.MaxInt64), ""
	for _, f := range families {
		algo, impl := f.choose(c, s, a)
		if algo == nil {
			continue
		}
		var err error
		if impl == nil {
			impl, err = algo.New(c, s, a.Precision)
		}
		if err != nil {
			if algo == direct {
				refused = err
			}
			continue
		}
		why := f.why
		switch {
		case refused != nil:
			why = direct.Name() + " cannot do this shape on this device"
		case large != "":
			why = large + " needs a larger buffer than the device allocates"
		}
		n := largestBuffer(impl, s, a.Precision)
		if c.MaxAlloc == 0 || n <= c.MaxAlloc {
			return Choice{algo, impl, why}, nil
		}
		if large = algo.Name(); n < least {
			smallest, least = Choice{algo, impl, why}, n
		}
	}
	if smallest.Algo != nil {
		return smallest, nil
	}
	if refused == nil { // no family is for the shape
		_, refused = direct.New(c, s, a.Precision)
	}
	return Choice{Algo: direct}, refused
}

// largestBuffer is the least that the largest buffer of a convolution can be: for its
// parameters, those of a group of outputs where it has groups, for the scratch memory of a
// launch, or for the fewest rows that it makes.
func largestBuffer(impl conv.Impl, s conv.Shape, p planar.Precision) int64 {
	weights := int64(impl.PackedLen()) * 4
	if sizes := groupSizes(impl, &fuse.Step{}, s.OutC, weights); len(sizes) > 0 {
		weights = sizes[len(sizes)-1]
	}
	rows := max(impl.Granule(), 1)
	scratch := impl.Scratch(rows)
	if d, ok := impl.(conv.Dividing); ok {
		if less := d.LessScratch(); len(less) > 0 {
			scratch = min(scratch, less[len(less)-1])
		}
	}
	return max(weights, scratch, int64(min(rows, s.H))*int64(s.W)*int64(s.OutC)*int64(p.Bytes()))
}

// Candidates lists algorithms worth measuring for a shape: the automatic choice first,
// then the likeliest of all families, then their next ones. Where the automatic choice
// keeps to algorithms without scratch memory or granules of rows (see wide), so do
// they: what a photo needs at least must not grow by tuning.
func Candidates(c conv.Caps, s conv.Shape, a conv.Arithmetic) []conv.Algo {
	first, _ := AutoAlgo(c, s, a)
	if c.Plain {
		return []conv.Algo{first.Algo}
	}
	list, seen := []conv.Algo{first.Algo}, map[string]bool{first.Algo.Name(): true}
	lists, most := make([][]conv.Algo, len(families)), 0
	for k, f := range families {
		lists[k] = f.candidates(c, s, a)
		most = max(most, len(lists[k]))
	}
	for rank := range most {
		for _, of := range lists {
			if rank >= len(of) || seen[of[rank].Name()] {
				continue
			}
			impl, err := of[rank].New(c, s, a.Precision)
			if err == nil && (wide(s) || c.CPU && shallow(s) || impl.Granule() <= 1 && impl.Scratch(s.H) == 0) {
				seen[of[rank].Name()] = true
				list = append(list, of[rank])
			}
		}
	}
	return list
}

// worthCompiling is the work of a layer on a CPU that pays for compiling its
// Winograd kernel: a kernel takes about a second the first time, layers share it,
// and one of them saves half of its time or more every time.
const worthCompiling = 3e9

// wide reports whether a layer has the channels for Winograd to be worth its
// price in memory: tiles make rows come in fours and sixes, which every ring on
// the way to them must hold. For pynet-s, whose wide layers lie deep, where a row
// stands for eight of the photo, that quadrupled the smallest budget of a 100 MP
// photo for a few percent of time.
func wide(s conv.Shape) bool {
	least := 32 * 32
	if s.K <= 3 {
		least = 128 * 128
	}
	return s.InC() >= 32 && s.OutC >= 32 && s.InC()*s.OutC >= least
}

// shallow reports whether a layer is of a network that pads with zeros, as pynet-m and most imported ones do, and has
// the channels that make Winograd worth its price there: such layers mostly lie at the picture's
// own size, where a row more is no more than that. DnCNN takes 1.15 processor seconds for 512×512
// in place of 1.6, with 33 MB in place of 25; max takes a quarter less time. Of 3×3 they run by F(4,3) at all widths: F(6,3), which is
// expected to be a little faster on wide rows, would need 300 MiB for DnCNN on 24 megapixels in place of 217.
func shallow(s conv.Shape) bool { return s.Pad == model.PadZero && s.InC() >= 64 && s.OutC >= 48 }

// waits reports whether a layer's whole plane is waited for under any plan, so that
// tiles cost nothing: without an activation of its own it has an instance norm
// behind it.
func waits(c conv.Caps, s conv.Shape) bool {
	return c.CPU && s.Act == fuse.NoAct && s.InC() >= 32 && s.OutC >= 32
}

// roomy reports whether transformed weights, four times the plain ones or more,
// are smaller than what the layer reads and writes. On a CPU both are the same
// memory.
func roomy(s conv.Shape) bool {
	const times = 4
	return times*s.K*s.K*s.InC()*s.OutC <= s.H*s.W*(s.InC()+s.OutC)
}

// SuitsWarpgroups reports whether the automatic choice for some convolution of a
// network is one by warpgroups, where a device has them: whether it pays to ask.
func SuitsWarpgroups(m *model.Model) bool {
	const side = 512 // any that networks take
	p, err := fuse.Fuse(m.Graph, side, side)
	if err != nil {
		return false
	}
	all := conv.Units{Matrix: true, Warpgroup: true, Octets: true}
	opt := Options{Precision: planar.FP16, Units: all}
	opt.storeOctets(p, conv.Caps{MaxWorkGroup: 1024, Units: all})
	for i := range p.Steps {
		if s := &p.Steps[i]; s.Kind == fuse.Conv && wgmma.Suits(ShapeOf(p, s)) {
			return true
		}
	}
	return p.HasOctets()
}
