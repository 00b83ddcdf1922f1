package convtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/planar"
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
	s.H = 1 + rng.IntN(max(2*s.H, 10))
	rng.Shuffle(len(s.SrcC), func(i, j int) { s.SrcC[i], s.SrcC[j] = s.SrcC[j], s.SrcC[i] })
	if s.Act != fuse.Sigmoid {
		s.Act = fuse.Act(rng.IntN(2)) // none or leaky ReLU
	}
	return s
}

// trial is one shape with its data.
type trial struct {
	*Bench
	conf         Config
	seed         uint64
	shape        conv.Shape
	impl         conv.Impl // nil if the algorithm does not do the shape
	src          []*Plane
	res          *Plane // nil if there is no residual
	slope        float32
	weight, bias []float32
	pre          fuse.Act // what a Scaling form applies first
	scales       planar.Ring
	preSlope     float32
}

func newTrial(b *Bench, c Config, seed uint64) *trial {
	rng := rand.New(rand.NewPCG(seed, 9))
	k := &trial{Bench: b, conf: c, seed: seed, shape: c.shape(seed, rng)}
	impl, err := c.Algo.New(*c.Caps, k.shape, c.Precision)
	if err != nil {
		b.Logf("seed %d: %s: not done: %v", seed, k, err)
		return k
	}
	k.impl = impl
	old := b.Rng
	b.Rng = rng // so that a case is the same whichever came before
	defer func() { b.Rng = old }()
	for _, n := range k.shape.SrcC {
		k.src = append(k.src, b.Random(n, k.shape.H, k.shape.W))
	}
	if rng.IntN(2) == 0 {
		k.res = b.Random(k.shape.OutC, k.shape.H, k.shape.W)
	}
	k.slope = float32(rng.IntN(4)) / 8
	k.pre = fuse.Act(rng.IntN(2)) // none or leaky ReLU, which the host computes to the bit
	n := k.shape.InC() * k.shape.K * k.shape.K
	scale := float32(math.Sqrt(6 / float64(n)))
	for range n * k.shape.OutC {
		k.weight = append(k.weight, (2*rng.Float32()-1)*scale)
	}
	for range k.shape.OutC {
		k.bias = append(k.bias, 2*rng.Float32()-1)
	}
	return k
}

func (k *trial) String() string {
	s := k.shape
	return fmt.Sprintf("k%d_%v_to_%d_on_%dx%d_act%d", s.K, s.SrcC, s.OutC, s.H, s.W, s.Act)
}

func (k *trial) run(built map[string]*clrt.Kernel) {
	k.Rng = rand.New(rand.NewPCG(k.seed, 10))
	kernels := k.kernels(k.impl, built)
	packed := k.impl.Pack(k.weight, k.bias)
	if len(packed) != k.impl.PackedLen() {
		k.Fatalf("Pack gives %d values, PackedLen says %d", len(packed), k.impl.PackedLen())
	}
	weights := k.Floats(packed)
	granule := k.impl.Granule()
	if granule < 1 {
		k.Fatalf("granule %d", granule)
	}

	h := k.shape.H
	whole := NewPlane(k.shape.OutC, h, k.shape.W)
	k.launch(kernels, weights, whole, 0, h)
	k.compare(whole)
	for range 2 {
		parts := NewPlane(k.shape.OutC, h, k.shape.W)
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

// launch runs rows [y0,y1) with nothing in memory but what they need, and puts
// them into out. It returns the scratch.
func (k *trial) launch(kernels []*clrt.Kernel, weights *clrt.Buffer, out *Plane, y0, y1 int) *clrt.Buffer {
	s := k.shape
	first, end := s.H, 0
	for y := y0; y < y1; y++ {
		for i := range s.K {
			r := fuse.Reflect(y+i-s.K/2, s.H)
			first, end = min(first, r), max(end, r+1)
		}
	}
	a := &conv.Args{Y0: y0, Y1: y1, Slope: k.slope, Scales: k.scales, PreSlope: k.preSlope}
	var sources []*Ring
	for _, p := range k.src {
		sources = append(sources, k.Source(p, k.Anywhere(p.C, end-first, s.H), first, end))
		a.Src = append(a.Src, sources[len(sources)-1].Ring)
	}
	dst := k.Target(s.OutC, s.H, s.W, k.Anywhere(s.OutC, y1-y0, s.H))
	a.Dst = dst.Ring
	if k.res != nil {
		sources = append(sources, k.Source(k.res, k.Anywhere(s.OutC, y1-y0, s.H), y0, y1))
		a.Res = sources[len(sources)-1].Ring
	}
	need := k.impl.Scratch(y1 - y0)
	guard := k.Noise(need+256, planar.FP32)
	a.Scratch = k.Buffer(guard)
	k.Must(k.impl.Launch(k.Queue, kernels, weights, a))
	dst.Take(out, y0, y1)
	for i, r := range sources {
		r.Unchanged(fmt.Sprintf("source %d", i))
	}
	after := make([]byte, 256)
	k.Must(k.Queue.Read(a.Scratch, need, after))
	if !slices.Equal(after, guard[need:]) {
		k.Errorf("a launch of %d rows wrote past the %d bytes of scratch it asked for", y1-y0, need)
	}
	return a.Scratch
}

// compare holds a result against the reference.
func (k *trial) compare(got *Plane) {
	k.Helper()
	want, allowed := k.reference()
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
		s := k.shape
		k.Errorf("channel %d, row %d, column %d is %v, want %v ± %.2g", at/(s.H*s.W), at/s.W%s.H, at%s.W, got.V[at], want[at], allowed[at])
	}
	if k.conf.Accuracy != (Accuracy{}) {
		k.Logf("largest error is %.2g of what is allowed", worst)
	}
}
