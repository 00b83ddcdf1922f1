package wgmma

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"enhance/clrt"
	"enhance/conv"
	"enhance/fuse"
	"enhance/model"
	"enhance/planar"
)

// benchShapes are the largest convolutions of PyNET and pynet-s on a 12 MP photo.
var benchShapes = map[string][][5]int{
	"pynet": {{128, 1440, 1984, 9, 32}, {32, 1440, 1984, 9, 32}, {128, 1440, 1984, 7, 32}, {32, 1440, 1984, 7, 32}, {128, 1440, 1984, 5, 32}, {32, 1440, 1984, 5, 32}, {64, 720, 992, 5, 64}, {192, 720, 992, 7, 64}, {256, 720, 992, 5, 64}, {256, 360, 496, 5, 128},
		{512, 360, 496, 3, 128}, {64, 720, 992, 3, 64}, {512, 90, 124, 3, 512}, {32, 1440, 1984, 3, 32}, {16, 2880, 3968, 3, 16}, {16, 2880, 3968, 3, 3}},
	"pynet-s": {{4, 1440, 1984, 3, 24}, {24, 1440, 1984, 3, 24}, {48, 1440, 1984, 5, 12}, {24, 1440, 1984, 5, 12}, {12, 1440, 1984, 3, 12}, {12, 1440, 1984, 5, 12},
		{80, 720, 992, 5, 20}, {40, 720, 992, 5, 20}, {20, 720, 992, 3, 20}, {64, 360, 496, 3, 64}, {96, 180, 248, 3, 96}},
}

// BenchmarkShapes times convolutions by events of the device and reports the
// compiler's figures. ENHANCE_WGMMA_VARIANTS names variants to try beside the one
// chosen: "block,buffers,piece,slots" separated by blanks.
func BenchmarkShapes(b *testing.B) {
	dev := hopper(b)
	var tried []variant
	for _, text := range strings.Fields(os.Getenv("ENHANCE_WGMMA_VARIANTS")) {
		var v variant
		if _, err := fmt.Sscanf(strings.ReplaceAll(text, ",", " "), "%d %d %d %d", &v.block, &v.buffers, &v.piece, &v.slots); err != nil {
			b.Fatalf("ENHANCE_WGMMA_VARIANTS: %q: %v", text, err)
		}
		tried = append(tried, v)
	}
	for _, net := range []string{"pynet", "pynet-s"} {
		for _, d := range benchShapes[net] {
			s := conv.Shape{K: d[3], SrcC: []int{d[0]}, OutC: d[4], H: d[1], W: d[2], Act: fuse.LeakyReLU}
			for _, v := range append([]variant{choose(s)}, tried...) {
				made, err := (algo{variant: &v}).New(capsOf(dev), s, planar.FP16)
				if err != nil {
					b.Logf("%s: %v", v, err)
					continue
				}
				for form, m := range forms(made.(*impl)) {
					b.Run(fmt.Sprintf("%s/%s/%s/%s", net, s, v, form), func(b *testing.B) { benchShape(b, dev, m) })
				}
			}
		}
	}
}

// forms are a convolution, with statistics, and, where there is such a form, with a
// norm taken in, and with both.
func forms(m *impl) map[string]*impl {
	bare := *m
	bare.shape.Act = fuse.NoAct
	sums, _ := bare.Summed()
	all := map[string]*impl{"plain": m, "sums": sums.(*impl)}
	if scaled, ok := bare.Scaled(fuse.LeakyReLU).(*impl); ok {
		both, _ := scaled.Summed()
		all["scaled"], all["both"] = scaled, both.(*impl)
	}
	return all
}

var (
	registers = regexp.MustCompile(`Used (\d+) registers`)
	spills    = regexp.MustCompile(`(\d+) bytes spill stores`)
)

func benchShape(b *testing.B, dev *clrt.Device, m *impl) {
	s := m.shape
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	ctx, err := clrt.NewContext(dev)
	must(err)
	defer ctx.Close()
	q, err := ctx.NewQueue()
	must(err)
	const p = planar.FP16
	start := time.Now()
	prog, err := ctx.Build(conv.ProgramSource(m, p), "-cl-std=CL1.2 -cl-nv-verbose")
	must(err)
	built := time.Since(start).Seconds()
	kern, err := prog.Kernel(m.name())
	must(err)
	ring := func(c int) planar.Ring {
		t := fuse.Tensor{Shape: model.Shape{C: c, H: s.H, W: s.W}}
		buf, err := ctx.NewBuffer(planar.RowBytes(t, p)*int64(s.H)+planar.RimBytes(t, p), "ring")
		must(err)
		must(fillRandom(q, buf, p))
		return planar.NewRing(buf, 0, t, s.H)
	}
	args := &conv.Args{Src: []planar.Ring{ring(s.InC())}, Dst: ring(s.OutC), Y1: s.H, Slope: 0.2}
	args.Scratch, err = ctx.NewBuffer(max(m.Scratch(s.H), 1), "statistics")
	must(err)
	scales, err := ctx.NewBuffer(int64(4*2*s.InC()), "scales")
	must(err)
	must(fillRandom(q, scales, planar.FP32))
	args.Scales = planar.NewRing(scales, 0, fuse.Tensor{Storage: fuse.Scales, Shape: model.Shape{C: s.InC(), H: 1, W: 1}}, 1)
	rng := rand.New(rand.NewPCG(1, 2))
	packed := m.Pack(randoms(rng, s.OutC*s.InC()*s.K*s.K), randoms(rng, s.OutC))
	raw := make([]byte, 0, 4*len(packed))
	for _, v := range packed {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	w, err := ctx.NewBuffer(int64(len(raw)), "weights")
	must(err)
	must(q.Write(w, 0, raw))
	list, global, local := m.launch(w, args)
	must(kern.SetArgs(list...))
	var took []float64
	for len(took) < 7 || b.Loop() {
		ev, err := q.Launch(kern, global, local)
		must(err)
		_, _, start, end, err := ev.Times()
		must(err)
		must(ev.Close())
		took = append(took, float64(end-start)/1e9)
	}
	took = took[2:]
	slices.Sort(took)
	seconds := took[len(took)/2]
	b.ReportMetric(2*float64(s.K*s.K*s.InC()*s.OutC)*float64(s.H*s.W)/seconds/1e12, "TFLOP/s")
	b.ReportMetric(seconds*1e3, "ms")
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(built, "s-to-build")
	log := prog.BuildLog()
	for unit, re := range map[string]*regexp.Regexp{"registers": registers, "spill-bytes": spills} {
		if f := re.FindStringSubmatch(log); f != nil {
			var n float64
			fmt.Sscan(f[1], &n)
			b.ReportMetric(n, unit)
		}
	}
}

// fillRandom fills a ring's buffer with numbers in -1..1.
func fillRandom(q *clrt.Queue, buf *clrt.Buffer, p planar.Precision) error {
	rng := rand.New(rand.NewPCG(5, 6))
	var block []byte
	for _, v := range randoms(rng, 1<<20) {
		if p == planar.FP16 {
			block = binary.LittleEndian.AppendUint16(block, planar.Half(v))
		} else {
			block = binary.LittleEndian.AppendUint32(block, math.Float32bits(v))
		}
	}
	for off := int64(0); off < buf.Size(); off += int64(len(block)) {
		if err := q.Write(buf, off, block[:min(int64(len(block)), buf.Size()-off)]); err != nil {
			return err
		}
	}
	return nil
}

// randoms is n numbers in -1..1.
func randoms(rng *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = 2*rng.Float32() - 1
	}
	return v
}
