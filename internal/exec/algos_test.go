package exec

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/model"
	"enhance/pipeline/facts"
)

// algoInfos are device facts of both kinds, for what needs no driver.
var algoInfos = map[string]*clrt.DeviceInfo{
	"cpu": {Type: clrt.CPU, NativeVectorFloat: 8, LocalMem: 32 << 10, MaxWorkGroup: 4096, BaseAlign: 128},
	"gpu": {Type: clrt.GPU, NativeVectorFloat: 1, LocalMem: 48 << 10, MaxWorkGroup: 1024, BaseAlign: 512},
}

func TestParseAlgos(t *testing.T) {
	for _, c := range []struct{ spec, step, want string }{
		{"auto", "conv_l1_d1", ""},
		{"direct-rows", "conv_l1_d1", "direct-rows"},
		{"conv_l1_*=direct-rows", "conv_l1_d1.conv_3a", "direct-rows"},
		{"conv_l1_*=direct-rows", "conv_l2_d1.conv_3a", ""},
		{"conv_l1_*=direct-rows,*=direct-tile", "conv_l2_d1", "direct-tile"},
		{"conv_l1_d5*=auto, *=direct-tile", "conv_l1_d5.conv_7a", ""},
		{"conv_l1_d5*=auto, direct-tile", "conv_l1_d6.conv_7a", "direct-tile"},
		{"*_[57]?=direct-tile,*=direct-rows", "conv_l1_d5.conv_7a", "direct-tile"},
		{"*_[57]?=direct-tile,*=direct-rows", "conv_l1_d5.conv_3a", "direct-rows"},
		{"direct-rows", "/body/0/Conv", "direct-rows"}, // as ONNX files call them
		{"/body/*=direct-rows", "/body/0/Conv", "direct-rows"},
		{"winograd-f4x3", "conv_l1_d1", "winograd-f4x3"},
		{"winograd-f4x3-tiled", "conv_l1_d1", "winograd-f4x3-tiled"},
		{"*=direct-rows,conv_l1_d1=direct-tile", "conv_l1_d1", "direct-rows"}, // the first holds
	} {
		choose, err := ParseAlgos(c.spec)
		if err != nil {
			t.Errorf("%q: %v", c.spec, err)
			continue
		}
		got := ""
		if a := choose.Algo(c.step, conv.Shape{}); a != nil {
			got = a.Name()
		}
		if got != c.want {
			t.Errorf("%q gives %q for %s, want %q", c.spec, got, c.step, c.want)
		}
	}
}

func TestParseAlgosRefuses(t *testing.T) {
	for spec, want := range map[string]string{
		"":                   "auto, ",
		"fft":                `"fft" is no algorithm: known are auto, `,
		"conv_l1_*=fft":      "direct-rows",
		"conv_[=direct-rows": `"conv_[" is not a pattern`,
		"=direct-rows":       `"" is not a pattern`,
		"direct-rows,":       `"" is no algorithm`,
		"a=b=c":              `"b=c" is no algorithm`,
		"Direct-Rows":        `"Direct-Rows" is no algorithm`,
		"conv_l1_*=":         `"" is no algorithm`,
	} {
		if _, err := ParseAlgos(spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", spec, err, want)
		}
	}
}

// FuzzParseAlgos: whatever is parsed answers for any step without panicking.
func FuzzParseAlgos(f *testing.F) {
	for _, s := range []string{"auto", "conv_l1_*=direct-rows,*=auto", "[a-z]?*=direct-tile", "\\", "x=,", "[^]=auto"} {
		f.Add(s, "conv_l1_d1.conv_3a")
	}
	f.Fuzz(func(t *testing.T, spec, step string) {
		if choose, err := ParseAlgos(spec); err == nil {
			choose.Algo(step, conv.Shape{K: 3, SrcC: []int{4}, OutC: 4, H: 8, W: 8})
		}
	})
}

func TestAlgorithmNamesAreUniqueAndTheSameEverywhere(t *testing.T) {
	want := names(Algorithms(conv.Caps{}))
	slices.Sort(want)
	if slices.Contains(want, Auto) || len(slices.Compact(slices.Clone(want))) != len(want) {
		t.Errorf("names %q are not unique", want)
	}
	for kind, info := range algoInfos {
		got := names(Algorithms(conv.CapsOf(info)))
		if got[0] != conv.Direct(conv.CapsOf(info)).Name() {
			t.Errorf("%s: %s comes first, not the direct one", kind, got[0])
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", kind, got, want)
		}
	}
}

// picky does convolutions of 5×5 only.
type picky struct{ conv.Algo }

func (picky) Name() string { return "picky" }
func (p picky) New(c conv.Caps, s conv.Shape, r planar.Precision) (conv.Impl, error) {
	if s.K != 5 {
		return nil, errors.New("picky: does 5x5 kernels only")
	}
	return p.Algo.New(c, s, r)
}

func TestChosenAlgorithms(t *testing.T) {
	m, err := model.Load("pynet-s")
	if err != nil {
		t.Fatal(err)
	}
	info := algoInfos["cpu"]
	opt := Options{Algo: func(step string, s conv.Shape) conv.Algo {
		if s.K == 5 {
			return picky{conv.Rows{}}
		}
		return nil
	}}
	job, err := Prepare(m, 32, 32, info, opt)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range job.Explain() {
		s := &job.Program.Steps[i]
		want, why := "", ""
		switch {
		case s.Kind == fuse.Conv && s.K == 5:
			want, why = "picky", "asked for"
		case s.Kind == fuse.Conv:
			want, why = AutoName(info, ShapeOf(job.Program, s)), f.Why
			if why == "" || why == "asked for" {
				t.Errorf("%s: no reason: %q", f.Name, why)
			}
		}
		if f.Algo != want || f.Why != why || job.Algo(i) != want || job.Why(i) != why {
			t.Errorf("%s: %q because %q, want %q because %q", f.Name, f.Algo, f.Why, want, why)
		}
	}

	opt.Algo = func(string, conv.Shape) conv.Algo { return picky{conv.Rows{}} }
	_, err = Prepare(m, 32, 32, info, opt)
	var ae *AlgoError
	if !errors.As(err, &ae) {
		t.Fatalf("error %v, want an AlgoError", err)
	}
	for _, want := range []string{ae.Step, "picky: does 5x5 kernels only", "direct-rows", "3x3", "4→24 channels"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
}

// TestNarrowDevices: where the limits of a GPU are too narrow for its direct algorithm
// the choice falls back to one that can, which is not blamed on anybody's choice; where
// no algorithm can, the error says that nothing was asked for.
func TestNarrowDevices(t *testing.T) {
	m, err := model.Load("pynet-s")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		group int
		local int64
		want  string
	}{
		{1024, 48 << 10, "direct-tile"}, {16, 48 << 10, "direct-tile"}, {15, 48 << 10, "direct-naive"}, {1, 48 << 10, "direct-naive"}, {1024, 16, "direct-naive"}, {1, 16, "direct-naive"},
	} {
		info := *algoInfos["gpu"]
		info.MaxWorkGroup, info.LocalMem = c.group, c.local
		job, err := Prepare(m, 32, 32, &info, Options{})
		if err != nil {
			t.Errorf("work-groups of %d, %d bytes: %v", c.group, c.local, err)
			continue
		}
		for _, a := range facts.SumAlgos(job.Explain()) {
			if a.Algo != c.want {
				t.Errorf("work-groups of %d, %d bytes: %d convolutions by %s, want %s", c.group, c.local, a.Steps, a.Algo, c.want)
			}
		}
		shape := conv.Shape{K: 3, SrcC: []int{16}, OutC: 16, H: 32, W: 32}
		if first := Candidates(conv.CapsOf(&info), shape, conv.Arithmetic{})[0].Name(); first != c.want {
			t.Errorf("work-groups of %d, %d bytes: tuning begins with %s", c.group, c.local, first)
		}
	}

	j := &Job{Program: &fuse.Program{Steps: []fuse.Step{{Name: "wide", Kind: fuse.Conv, K: 2*planar.Rim + 3}}}, Info: algoInfos["gpu"], caps: conv.CapsOf(algoInfos["gpu"]),
		steps: make([]jobStep, 1)}
	wide := conv.Shape{K: 2*planar.Rim + 3, SrcC: []int{4}, OutC: 4, H: 32, W: 32}
	if err := j.chooseAlgo(0, wide); err != nil || j.steps[0].algo != "direct-naive" {
		t.Errorf("a kernel wider than the rim: %s, %v", j.steps[0].algo, err)
	}
	wide.SrcC = make([]int, conv.MaxSources+1)
	var none *AlgoError
	if err := j.chooseAlgo(0, wide); !errors.As(err, &none) || none.Asked || len(none.Able) > 0 {
		t.Errorf("what no algorithm does: %v", err)
	}
	j.opt.Algo = func(string, conv.Shape) conv.Algo { return conv.Tile{} }
	if err := j.chooseAlgo(0, wide); !errors.As(err, &none) || !none.Asked {
		t.Errorf("what was asked for does not do it: %v", err)
	}
}

// AutoName names the automatic choice in full precision.
func AutoName(i *clrt.DeviceInfo, s conv.Shape) string {
	c, _ := AutoAlgo(conv.CapsOf(i), s, conv.Arithmetic{})
	return c.Algo.Name()
}

// match parses a choice and holds it against a program.
func match(spec string, p *fuse.Program) error {
	s, err := ParseAlgos(spec)
	if err != nil {
		return err
	}
	return s.Match(p)
}

func TestMatchAlgos(t *testing.T) {
	m, err := model.Load("pynet-s")
	if err != nil {
		t.Fatal(err)
	}
	p, err := fuse.Fuse(m.Graph, 32, 32)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range []string{"auto", "conv_l1_*=direct-rows", "skip=direct-rows,*=auto", "*=auto,skip=direct-rows"} {
		if err := match(spec, p); err != nil {
			t.Errorf("%q: %v", spec, err)
		}
	}
	if err := match("conv_l9_*=direct-rows,*=auto", p); err == nil || !strings.Contains(err.Error(), `"conv_l9_*"`) {
		t.Errorf("a pattern that matches nothing: error %v", err)
	}
	if err := match("pool1=direct-rows", p); err == nil {
		t.Error("a pattern that matches no convolution was accepted")
	}
}

// TestExplain holds the explanation against the plan: shares sum to one, what
// is said to live in an arena lies inside it.
func TestExplain(t *testing.T) {
	m, err := model.Load("pynet-random:x,level=4,width=4")
	if err != nil {
		t.Fatal(err)
	}
	for kind, info := range algoInfos {
		for _, opt := range []Options{{WholePlanes: true}, {Rows: 4}} {
			job, err := Prepare(m, 64, 64, info, opt)
			if err != nil {
				t.Fatal(err)
			}
			steps := job.Explain()
			sum, flops, rings := 0.0, int64(0), 0
			for _, f := range steps {
				sum += f.Share
				flops += f.FLOPs
				if o := f.Output; o.Offset+o.Bytes > job.Plan.Arenas[o.Arena] {
					t.Errorf("%s %+v: %s ends after its arena", kind, opt, f.Name)
				} else if o.Rows < o.Of {
					rings++
				}
			}
			if d := sum - 1; d > 1e-9 || d < -1e-9 {
				t.Errorf("%s: shares sum to %g", kind, sum)
			}
			if flops != job.Plan.Cost.FLOPs {
				t.Errorf("%s: %d operations explained, %d planned", kind, flops, job.Plan.Cost.FLOPs)
			}
			if opt.WholePlanes != (rings == 0) {
				t.Errorf("%s: %d rings with %+v", kind, rings, opt)
			}
			for _, s := range facts.SumAlgos(steps) {
				flops -= s.FLOPs
			}
			if flops != 0 {
				t.Errorf("%s: the sums by algorithm miss %d operations", kind, flops)
			}
		}
	}
}

// TestSlowCompilers: a device whose compiler takes minutes for large kernels gets the plain
// algorithm only, also by tuning.
func TestSlowCompilers(t *testing.T) {
	slow := *algoInfos["cpu"]
	slow.Platform = "rusticl"
	caps, plain := conv.CapsOf(&slow), conv.Simple{}.Name()
	if !caps.Plain || conv.CapsOf(algoInfos["cpu"]).Plain {
		t.Fatal("compilers are told apart by the platform's name")
	}
	for _, b := range model.Builtins() {
		m, err := model.Load(b.Name)
		if err != nil {
			t.Fatal(err)
		}
		job, err := Prepare(m, 64, 96, &slow, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range job.Program.Steps {
			s := &job.Program.Steps[i]
			if s.Kind != fuse.Conv {
				continue
			}
			if job.Algo(i) != plain {
				t.Errorf("%s, %s: %s, want %s", b.Name, s.Name, job.Algo(i), plain)
			}
			if all := names(Candidates(caps, ShapeOf(job.Program, s), conv.Arithmetic{})); len(all) != 1 || all[0] != plain {
				t.Errorf("%s, %s: tuning would measure %q", b.Name, s.Name, all)
			}
		}
	}
}
