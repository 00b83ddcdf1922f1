package convtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/model"
)

// Config is an algorithm to be tested and where.
type Config struct {
	Algo      conv.Algo
	Device    *clrt.Device
	Caps      *conv.Caps // nil: the device's
	Precision planar.Precision
	Accuracy  Accuracy
	// Draw makes a random shape (H and W at least 1); nil takes AnyShape. An
	// algorithm for few shapes names its own, as at least half must be accepted.
	Draw func(rng *rand.Rand) conv.Shape
	// Cases is how many shapes are tried; 0: 20, or 200 with ENHANCE_LONG=1.
	Cases int
	// Pad is what lies outside a plane; Run tries the others too, unless Reflects says that the
	// algorithm knows reflection alone: in two cases one of them, by the algorithm's name, as every
	// one is a program more to compile; with ENHANCE_LONG=1 in a fifth of the cases both.
	Pad      model.PadMode
	Reflects bool
	// Act is the activation of all shapes; NoAct leaves it to Draw.
	Act fuse.Act
	// ResFirst adds the residual, which all cases have, before the activation. Run tries that where it
	// tries other padding.
	ResFirst bool
	// Families is how many different draws 20 cases have; 0: 6. The others differ
	// from them in what kernels are rarely compiled for: height, order of sources.
	Families int
}

// group is how many cases share a program, which bounds both compile time and
// program size.
const group = 20

// Run tests that an algorithm computes the convolution, with residual and
// activation, of sources and into destinations anywhere in larger rings; that
// it reads and writes nothing else; and that the result does not depend on how
// rows are divided into launches.
func Run(t *testing.T, c Config) {
	if c.Cases == 0 {
		c.Cases = Cases(20)
	}
	runPadded(t, c)
	pads := []model.PadMode{model.PadZero, model.PadEdge}
	few := c
	few.ResFirst = true
	if few.Cases, few.Families = max(c.Cases/5, 1), 3; os.Getenv("ENHANCE_LONG") != "1" {
		sum := int(c.Precision)
		for _, b := range []byte(c.Algo.Name()) {
			sum += int(b)
		}
		pads, few.Cases, few.Families = pads[sum%2:][:1], min(c.Cases, 2), 1
	}
	if c.Reflects {
		pads = []model.PadMode{model.PadReflect}
	}
	for _, few.Pad = range pads {
		t.Run(map[model.PadMode]string{model.PadReflect: "residual first", model.PadZero: "zeros, residual first",
			model.PadEdge: "edge, residual first"}[few.Pad], func(t *testing.T) { runPadded(t, few) })
	}
}

// runPadded is Run with the padding that c says.
func runPadded(t *testing.T, c Config) {
	if c.Draw == nil {
		c.Draw = AnyShape
	}
	if c.Caps == nil {
		caps := conv.CapsOf(c.Device.Info())
		c.Caps = &caps
	}
	if c.Families == 0 {
		c.Families = 6
	}
	ran := 0
	for first := 0; first < c.Cases; first += group {
		seed := uint64(first)
		b := Open(t, c.Device, c.Precision, seed)
		b.Pad, b.Act, b.ResFirst = c.Pad, c.Act, c.ResFirst
		var cases []*trial
		var kernels []conv.Kernel
		for i := first; i < min(first+group, c.Cases); i++ {
			k := newTrial(b, c, uint64(i))
			if k.impl == nil {
				continue
			}
			cases, kernels = append(cases, k), append(kernels, k.impl.Kernels()...)
			if s, _ := k.summed(); s != nil {
				kernels = append(kernels, s.Kernels()...)
			}
			if s := k.scaled(); s != nil {
				kernels = append(kernels, s.Kernels()...)
				if both, _ := k.summedOf(s); both != nil {
					kernels = append(kernels, both.Kernels()...)
				}
			}
		}
		if len(cases) == 0 {
			continue
		}
		built := b.Build(kernels)
		for _, k := range cases {
			t.Run(fmt.Sprintf("seed=%d/%s", k.seed, k), func(t *testing.T) {
				b.TB = t
				defer b.Release()
				k.run(built)
			})
			b.TB = t
		}
		ran += len(cases)
	}
	t.Logf("%s, %s: %d of %d shapes", c.Algo.Name(), c.Precision, ran, c.Cases)
	if 2*ran < c.Cases {
		t.Errorf("%s accepts only %d of %d shapes", c.Algo.Name(), ran, c.Cases)
	}
}

// AnyShape draws kernels of 1 to 9, one to four sources, channels and outputs
// both odd and round, and planes down to one sample; few are large.
func AnyShape(rng *rand.Rand) conv.Shape {
	s := conv.Shape{K: 1 + 2*rng.IntN(5), Act: fuse.Act(rng.IntN(3))}
	for range 1 + max(0, rng.IntN(6)-2) {
		s.SrcC = append(s.SrcC, 1+rng.IntN(7))
	}
	s.OutC = 1 + rng.IntN(12)
	if rng.IntN(3) == 0 { // as networks have them
		for i := range s.SrcC {
			s.SrcC[i] = 4 * (1 + rng.IntN(4))
		}
		s.OutC = 8 * (1 + rng.IntN(4))
	}
	s.H, s.W = 1+rng.IntN(20), 1+rng.IntN(40)
	switch rng.IntN(5) {
	case 0: // smaller than the kernel
		s.H, s.W = 1+rng.IntN(4), 1+rng.IntN(5)
	case 1: // wider than any tile
		s.H, s.W = 1+rng.IntN(8), 60+rng.IntN(100)
	}
	return s
}

// shape draws the shape of a case: one of its group's families, varied.
func (c *Config) shape(seed uint64, rng *rand.Rand) conv.Shape {
	s := c.Draw(rand.New(rand.NewPCG(seed/group, seed%group%uint64(c.Families))))
	if seed%group < uint64(c.Families) {
		return s
	}
	if w := s.Window; w != nil { // which Draw made anew
		w.SrcH += rng.IntN(12)
		s.H, s.W = w.Out(w.SrcH, w.SrcW)
	} else {
		s.H = 1 + rng.IntN(max(2*s.H, 10))
	}
	if s.Octets { // whose last source alone may end within an octet
		return s
	}
	rng.Shuffle(len(s.SrcC), func(i, j int) { s.SrcC[i], s.SrcC[j] = s.SrcC[j], s.SrcC[i] })
	if s.Act != fuse.Sigmoid {
		s.Act = fuse.Act(rng.IntN(2)) // none or leaky ReLU
	}
	return s
}

// trial is one shape with its data.
type trial struct {
	*Bench
	Operands
	conf Config
	seed uint64
	impl conv.Impl // nil if the algorithm does not do the shape
	pre  fuse.Act  // what a Scaling form applies first
}

func newTrial(b *Bench, c Config, seed uint64) *trial {
	rng := rand.New(rand.NewPCG(seed, 9))
	k := &trial{Bench: b, Operands: Operands{Shape: c.shape(seed, rng)}, conf: c, seed: seed}
	if k.Shape.Pad = c.Pad; c.Act != fuse.NoAct {
		k.Shape.Act = c.Act
	}
	if k.Shape.ResFirst = c.ResFirst; c.ResFirst && k.Shape.Act == fuse.NoAct {
		k.Shape.Act = fuse.LeakyReLU
	}
	impl, err := c.Algo.New(*c.Caps, k.Shape, c.Precision)
	if err != nil {
		b.Logf("seed %d: %s: not done: %v", seed, k, err)
		return k
	}
	k.impl = impl
	old := b.Rng
	b.Rng = rng // so that a case is the same whichever came before
	defer func() { b.Rng = old }()
	for _, n := range k.Shape.SrcC {
		h, w := k.sourceSides()
		k.Src = append(k.Src, b.Random(n, h, w))
		if k.Shape.Pairs && !k.Shape.Split {
			BFloats(k.Src[len(k.Src)-1])
		}
	}
	if rng.IntN(2) == 0 || c.ResFirst {
		if k.Res = b.Random(k.Shape.OutC, k.Shape.H, k.Shape.W); k.Shape.PairsOut {
			BFloats(k.Res)
		}
	}
	k.Slope = float32(rng.IntN(4)) / 8
	k.pre = fuse.Act(rng.IntN(2)) // none or leaky ReLU, which the host computes to the bit
	n := k.taps()
	scale := float32(math.Sqrt(6 / float64(n)))
	for range n * k.Shape.OutC {
		k.Weight = append(k.Weight, (2*rng.Float32()-1)*scale)
	}
	for range k.Shape.OutC {
		k.Bias = append(k.Bias, 2*rng.Float32()-1)
	}
	if k.Shape.Act == fuse.PReLU {
		k.Slopes, k.Slope = Randoms(rng, k.Shape.OutC), conv.SlopesAt(impl.PackedLen())
	}
	if k.Shape.Act == fuse.Clipped {
		k.Slope++
	}
	return k
}

func (k *trial) String() string {
	s := k.Shape
	if w := s.Window; w != nil {
		return fmt.Sprintf("%dx%d_stride_%dx%d_dilation_%dx%d_pads_%d,%d,%d,%d_mode%d_%d_to_%d_in_%d_on_%dx%d_act%d", w.KH, w.KW,
			w.StrideH, w.StrideW, w.DilationH, w.DilationW,
			w.Top, w.Left, w.Bottom, w.Right, w.Pad, s.InC(), s.OutC, w.Groups, s.H, s.W, s.Act)
	}
	text := fmt.Sprintf("k%d_%v_to_%d_on_%dx%d_act%d", s.K, s.SrcC, s.OutC, s.H, s.W, s.Act)
	if s.Octets || s.OctetsOut {
		text += fmt.Sprintf("_octets_%v_to_%v", s.Octets, s.OctetsOut)
	}
	if s.Pairs {
		text += fmt.Sprintf("_pairs_split_%v_to_%v", s.Split, s.PairsOut)
	}
	return text
}

func (k *trial) run(built map[string]*clrt.Kernel) {
	k.Rng = rand.New(rand.NewPCG(k.seed, 10))
	kernels := k.kernels(k.impl, built)
	packed := k.impl.Pack(k.Weight, k.Bias)
	if len(packed) != k.impl.PackedLen() {
		k.Fatalf("Pack gives %d values, PackedLen says %d", len(packed), k.impl.PackedLen())
	}
	weights := k.Floats(append(packed, k.Slopes...))
	granule := k.impl.Granule()
	if granule < 1 {
		k.Fatalf("granule %d", granule)
	}

	h := k.Shape.H
	whole := NewPlane(k.Shape.OutC, h, k.Shape.W)
	k.launch(kernels, weights, whole, 0, h)
	k.compare(whole)
	for range 2 {
		parts := NewPlane(k.Shape.OutC, h, k.Shape.W)
		var cuts []int
		for y := 0; y < h; {
			y1 := min(h, y+granule*(1+k.Rng.IntN(1+h/granule/2)))
			k.launch(kernels, weights, parts, y, y1)
			y, cuts = y1, append(cuts, y1)
		}
		k.Same(fmt.Sprintf("launches up to rows %v", cuts), parts, whole)
	}
	if s, p := k.summed(); s != nil {
		k.sums(s, p, built, weights, whole)
	}
	if s := k.scaled(); s != nil {
		k.normalises(s, built, weights)
	}
}

// launch runs rows [y0,y1) and puts them into out. It returns the scratch.
func (k *trial) launch(kernels []*clrt.Kernel, weights *clrt.Buffer, out *Plane, y0, y1 int) *clrt.Buffer {
	scratch, err := k.Launch(&k.Operands, k.impl, kernels, weights, out, y0, y1, k.impl.Scratch(y1-y0))
	k.Must(err)
	return scratch
}

// compare holds a result against the reference.
func (k *trial) compare(got *Plane) {
	k.Helper()
	want, allowed := k.Reference(k.Precision, k.conf.Accuracy)
	worst, at := 0.0, 0
	for i := range want {
		d := math.Abs(float64(got.V[i])-want[i]) / allowed[i]
		if math.IsNaN(d) {
			d = math.Inf(1)
		}
		if d > worst {
			worst, at = d, i
		}
	}
	if worst > 1 {
		s := k.Shape
		k.Errorf("channel %d, row %d, column %d is %v, want %v ± %.2g", at/(s.H*s.W), at/s.W%s.H, at%s.W, got.V[at], want[at], allowed[at])
	}
	if k.conf.Accuracy != (Accuracy{}) {
		k.Logf("largest error is %.2g of what is allowed", worst)
	}
}
