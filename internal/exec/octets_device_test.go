package exec_test

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"enhance/clrt"
	"enhance/conv"
	"enhance/conv/wgmma"
	"enhance/internal/convtest"
	"enhance/internal/exec"
	"enhance/internal/modeltest"
	"enhance/internal/planar"
	"enhance/memplan"
	"enhance/model"
	"enhance/pipeline/facts"
)

// dncnn is the topology of DnCNN: seventeen convolutions of 64 channels, padded with zeros, and a difference.
func dncnn() *model.Model {
	b := model.NewBuilder(3)
	x := 0
	for i := range 16 {
		name := fmt.Sprintf("conv%d", i)
		x = b.LeakyReLU(name+".act", b.Conv(name, name, x, 64, 3), 0)
	}
	g, err := b.Graph(b.Add("out", b.Conv("last", "last", x, 3, 3), 0))
	if err != nil {
		panic(err)
	}
	for i := range g.Nodes {
		if g.Nodes[i].Op == model.OpConv {
			g.Nodes[i].Pad = model.PadZero
		}
	}
	return modeltest.Model("dncnn", g)
}

// octetsNets are the networks of the tests below, with the packed sides of a 12 MP photo.
func octetsNets(t testing.TB) []*picture {
	var all []*picture
	for _, name := range strings.Fields(cmp.Or(os.Getenv("ENHANCE_OCTETS_NETS"), "fast best")) {
		p := &picture{TB: t, name: name, info: convtest.Device(t).Info(), opt: exec.Options{Precision: planar.FP16, Units: conv.Units{Octets: true, Matrix: true, Warpgroup: true}}}
		if p.m = dncnn(); name != "dncnn" {
			var err error
			if p.m, err = model.Load(name); err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, p)
	}
	return all
}

func (p *picture) sides(small bool) (h, w int) {
	switch {
	case p.name == "dncnn" && small:
		return 33, 70
	case p.name == "dncnn":
		return 3000, 4000
	case strings.HasPrefix(p.name, "pynet-random") && !small:
		return 1440, 1984
	case small:
		return p.m.Convention.PaddedSides(48, 72)
	}
	return p.m.Convention.PaddedSides(1500, 2000)
}

// TestOctetsPrograms compiles the programs of these networks, those of ENHANCE_OCTETS_SHARE ("0/4": the first
// of each four), for small pictures with ENHANCE_OCTETS_SMALL=1.
func TestOctetsPrograms(t *testing.T) {
	dev := convtest.Units(t, wgmma.Probe)
	share, shares := 0, 1
	fmt.Sscanf(os.Getenv("ENHANCE_OCTETS_SHARE"), "%d/%d", &share, &shares)
	ctx, err := clrt.NewContext(dev)
	if err != nil {
		t.Fatal(err)
	}
	defer ctx.Close()
	seen := map[string]bool{}
	for _, p := range octetsNets(t) {
		h, w := p.sides(os.Getenv("ENHANCE_OCTETS_SMALL") == "1")
		p.opt.Octets = os.Getenv("ENHANCE_OCTETS") != "0"
		job, err := exec.Prepare(p.m, h, w, p.info, p.opt)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range job.Sources() {
			if seen[text] {
				continue
			}
			if seen[text] = true; len(seen)%shares != share {
				continue
			}
			prog, err := ctx.Build(text, conv.BuildOptions)
			if err != nil {
				t.Errorf("%s: %v", p.name, err)
				continue
			}
			prog.Close()
		}
	}
}

// TestOctetsUnits runs small pictures through whole networks: the same bytes under every plan, as close to the
// definition as fp16 is.
func TestOctetsUnits(t *testing.T) {
	convtest.Units(t, wgmma.Probe)
	for _, p := range octetsNets(t) {
		t.Run(p.name, func(t *testing.T) {
			h, w := p.sides(true)
			in := p.m.Graph.Nodes[0].C
			p.TB, p.opt.Poison = t, true
			p.in = &tensor{c: in, h: h, w: w, v: model.FormulaTensor("octets", p.name, in*h*w)}
			least, err := exec.Minimum(p.m, h, w, p.info, p.opt)
			if err != nil {
				t.Fatal(err)
			}
			p.run("free", func(*exec.Options) {})
			p.run("whole planes", func(o *exec.Options) { o.WholePlanes = true })
			p.run("5 rows", func(o *exec.Options) { o.Rows = 5 })
			p.run("the least budget", func(o *exec.Options) { o.Budget = memplan.Limit(least) })
			if !p.close() {
				t.Error("not compared")
			}
		})
	}
}

// BenchmarkOctets times kernels of 12 MP by the device's clock: those of each step with whole planes, and all
// under the plan that is the default, or PyNET's for 64 MiB. Their results have the same sums. With
// ENHANCE_OCTETS=0 these are planes. The first run keeps its result in the file ENHANCE_OCTETS_RESULT, others
// compare theirs with it.
func BenchmarkOctets(b *testing.B) {
	dev := convtest.Units(b, wgmma.Probe)
	for _, p := range octetsNets(b) {
		for _, whole := range []bool{true, false} {
			h, w := p.sides(false)
			opt := p.opt
			if strings.HasPrefix(p.name, "pynet-random") && !whole {
				opt.Budget = memplan.Limit(64 << 20)
			}
			opt.WholePlanes, opt.Profiler = whole, exec.NewProfile("device", nil, 0, nil)
			opt.Octets = os.Getenv("ENHANCE_OCTETS") != "0"
			in := p.m.Graph.Nodes[0].C
			job, err := exec.Prepare(p.m, h, w, p.info, opt)
			if err != nil {
				b.Fatal(err)
			}
			ctx, err := clrt.NewContext(dev)
			if err != nil {
				b.Fatal(err)
			}
			e, err := job.Open(ctx)
			if err != nil {
				b.Fatal(err)
			}
			t := job.Program.Tensors[job.Program.Output]
			src := &tensor{c: in, h: h, w: w, v: make([]float32, in*h*w)}
			for i := range src.v {
				src.v[i] = float32(i%251) / 251
			}
			out := &tensor{c: t.C, h: t.H, w: t.W, v: make([]float32, t.Elems())}
			least := time.Hour
			const runs = 4
			for range runs {
				start := time.Now()
				if err := e.Run(context.Background(), source{src}, sink{out}, nil); err != nil {
					b.Fatal(err)
				}
				least = min(least, time.Since(start))
			}
			r := opt.Profiler.Report(nil)
			fmt.Printf("%s whole=%v octets=%v: kernels %.3f ms a run, %d launches, gaps %.2f ms, run %v at least, peak %d MiB, sum %x\n", p.name, whole, opt.Octets, r.Kernels*1e3/runs, r.Launches/runs, r.Gaps*1e3/runs, least.Round(10*time.Microsecond), e.Peak()>>20, sumOf(out.v))
			if path := os.Getenv("ENHANCE_OCTETS_RESULT"); path != "" && whole {
				fmt.Println(compared(path, out))
			}
			if whole {
				slices.SortFunc(r.Steps, func(a, b facts.StepProfile) int { return cmp.Compare(b.Seconds, a.Seconds) })
				for _, s := range r.Steps {
					fmt.Printf("    %.4f ms %5.0f GB/s %5.0f TFLOP/s %s %s %s\n", s.Seconds*1e3/runs, float64(s.Bytes)/s.Seconds/1e9, float64(s.FLOPs)/s.Seconds/1e12, s.Name, s.Kind, s.Algo)
				}
			}
			e.Close()
			ctx.Close()
		}
	}
}

// sumOf tells results apart.
func sumOf(v []float32) uint32 {
	h := crc32.NewIEEE()
	binary.Write(h, binary.LittleEndian, v)
	return h.Sum32()
}

// compared keeps a result in a file, or says how far it is from the one there: as a whole and in the block that is furthest.
func compared(path string, got *tensor) string {
	raw, err := os.ReadFile(path)
	if err != nil {
		raw, err = binary.Append(nil, binary.LittleEndian, got.v)
		if err == nil {
			err = os.WriteFile(path, raw, 0o644)
		}
		return fmt.Sprintf("result kept: %v", err)
	}
	want := make([]float32, len(got.v))
	if _, err := binary.Decode(raw, binary.LittleEndian, want); err != nil {
		return err.Error()
	}
	const side = 32
	across := (got.w + side - 1) / side
	squares, all := make([]float64, got.c*((got.h+side-1)/side)*across), 0.0
	for i, v := range got.v {
		d := float64(v) - float64(want[i])
		all += d * d
		y := i / got.w
		squares[(y/got.h*((got.h+side-1)/side)+y%got.h/side)*across+i%got.w/side] += d * d
	}
	worst := slices.Index(squares, slices.Max(squares))
	decibels := func(square float64, n int) float64 { return -10 * math.Log10(square/float64(n)) }
	return fmt.Sprintf("result compared: %.2f dB, of %d blocks number %d is furthest: %.2f dB", decibels(all, len(want)), len(squares), worst, decibels(squares[worst], side*side))
}
