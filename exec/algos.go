package exec

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"enhance/conv"
	"enhance/conv/mma"
	"enhance/conv/wgmma"
	"enhance/fuse"
	"enhance/internal/suggest"
	"enhance/model"
	"enhance/planar"
	"enhance/winograd"
)

// Algorithms lists every convolution algorithm, the device's own direct one
// first. The list has the same names on every device: what an algorithm cannot do
// on one, its New says.
func Algorithms(c conv.Caps) []conv.Algo {
	all := conv.Registry(c)
	for _, v := range winograd.Variants() {
		all = append(all, winograd.Algo(v), winograd.Convolution{Variant: v, Form: winograd.Fused})
	}
	for _, p := range []mma.Precision{mma.FP16, mma.TF32, mma.FP32} {
		all = append(all, mma.Algo(p))
	}
	return append(all, wgmma.Algo())
}

// algoByName finds an algorithm, nil if there is none. Beyond the list there are
// variants, which tuning chooses from: forms of Winograd's, divisions of
// the matrix units' work (mma-m2x1-r2x4-w3x3-p2), register tiles of direct-rows
// (direct-rows-o6v2) and work-groups of other shapes (see conv.Shaped).
func algoByName(name string) conv.Algo {
	all := Algorithms(conv.Caps{})
	find := func(name string) conv.Algo {
		for _, a := range all {
			if a.Name() == name {
				return a
			}
		}
		return nil
	}
	if a := find(name); a != nil {
		return a
	}
	if a, ok := winograd.Named(name); ok {
		return a
	}
	if a, ok := mma.Named(name); ok {
		return a
	}
	if a, ok := conv.RowTileNamed(name); ok {
		return a
	}
	if a, ok := conv.TileGroupNamed(name); ok {
		return a
	}
	if a, ok := conv.ImplicitGroupNamed(name); ok {
		return a
	}
	return nil
}

// worthCompiling is the work of a layer on a CPU that pays for compiling its
// Winograd kernel: a kernel takes about a second the first time, layers share it,
// and one of them saves half of its time or more every time.
const worthCompiling = 3e9

// AutoAlgo is the automatic choice of an algorithm where no tuning table has one,
// and the reason for it. It depends on the shape, the device's kind and the precision, never on the memory
// budget or on how rows are divided.
func AutoAlgo(c conv.Caps, s conv.Shape, p planar.Precision) (algo conv.Algo, why string) {
	if a := warpgroupAlgo(c, s, p); a != nil {
		return a, "matrix units by the warpgroup"
	}
	if a := matrixAlgo(c, p); a != nil && mma.Suits(s) {
		if _, err := a.New(c, s, p); err == nil {
			return a, "matrix units"
		}
	}
	if (wide(s) || waits(c, s)) && (!c.CPU || s.FLOPs() >= worthCompiling && roomy(s)) {
		if a, ok := winograd.Choose(c, s, p); ok {
			return a, "fewer multiplications"
		}
	}
	return directAlgo(c, s, p)
}

// directAlgo is the direct algorithm of the device's kind, or, where the device's
// limits are too narrow or the kernel too wide for it, the one that has no needs.
func directAlgo(c conv.Caps, s conv.Shape, p planar.Precision) (algo conv.Algo, why string) {
	direct := conv.Direct(c)
	if _, err := direct.New(c, s, p); err != nil {
		if _, err := (conv.Simple{}).New(c, s, p); err == nil {
			return conv.Simple{}, direct.Name() + " cannot do this shape on this device"
		}
	}
	return direct, "direct convolution of the device's kind does every shape"
}

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

// warpgroupAlgo is the algorithm for Hopper's units, nil if the device has none or
// they do not suit the shape.
func warpgroupAlgo(c conv.Caps, s conv.Shape, p planar.Precision) conv.Algo {
	if !c.Warpgroup || !wgmma.Suits(s) {
		return nil
	}
	a := wgmma.Algo()
	if _, err := a.New(c, s, p); err != nil {
		return nil
	}
	return a
}

// SuitsWarpgroups reports whether the automatic choice for some convolution of a
// network is one by warpgroups, where a device has them: whether it pays to ask.
func SuitsWarpgroups(m *model.Model) bool {
	const side = 512 // any that networks take
	p, err := fuse.Fuse(m.Graph, side, side)
	if err != nil {
		return false
	}
	for i := range p.Steps {
		if s := &p.Steps[i]; s.Kind == fuse.Conv && wgmma.Suits(ShapeOf(p, s)) {
			return true
		}
	}
	return false
}

// matrixAlgo is the algorithm for the device's matrix units in a precision, nil
// if it has none.
func matrixAlgo(c conv.Caps, p planar.Precision) conv.Algo {
	if !c.Matrix {
		return nil
	}
	return mma.Algo(matrixPrecision(c, p))
}

// matrixPrecision is how factors enter the products of matrix units.
func matrixPrecision(c conv.Caps, p planar.Precision) mma.Precision {
	switch {
	case p == planar.FP16:
		return mma.FP16
	case c.TF32:
		return mma.TF32
	}
	return mma.FP32
}

// Auto is the name of the automatic choice in ParseAlgos.
const Auto = "auto"

// algoClause gives the algorithm for the steps that a pattern matches; a nil
// algorithm is the automatic choice.
type algoClause struct {
	pattern string
	algo    conv.Algo
}

// ParseAlgos reads a choice of algorithms: "auto", the name of an algorithm for
// all convolutions, or clauses PATTERN=NAME separated by commas, of which the
// first whose pattern matches a step's name holds:
//
//	conv_l1_*=winograd-f4x3,conv_l2_d8.conv_7a=implicit-gemm,*=auto
//
// In patterns * stands for any characters and ? for one; [..] is a set. Steps that
// no clause matches are chosen automatically. The result is an [Options].Algo.
func ParseAlgos(spec string) (func(step string, s conv.Shape) conv.Algo, error) {
	clauses, err := parseAlgos(spec)
	if err != nil {
		return nil, err
	}
	return func(step string, _ conv.Shape) conv.Algo {
		for _, c := range clauses {
			if c.matches(step) {
				return c.algo
			}
		}
		return nil
	}, nil
}

// MatchAlgos reports a clause of spec whose pattern matches no convolution of a
// program: a misspelt name must not pass for a choice. A pattern that matches
// only steps that earlier clauses took is fine.
func MatchAlgos(spec string, p *fuse.Program) error {
	clauses, err := parseAlgos(spec)
	if err != nil {
		return err
	}
	for _, c := range clauses {
		found, example := false, ""
		for i := range p.Steps {
			if s := &p.Steps[i]; s.Kind == fuse.Conv {
				found, example = found || c.matches(s.Name), s.Name
			}
		}
		if !found {
			return fmt.Errorf("no convolution of the network is called %q: its last one is %q", c.pattern, example)
		}
	}
	return nil
}

// matches ignores path.Match's error: the pattern was tried when it was parsed.
func (c *algoClause) matches(step string) bool {
	ok, _ := path.Match(c.pattern, step)
	return ok
}

func parseAlgos(spec string) ([]algoClause, error) {
	var clauses []algoClause
	for _, text := range strings.Split(spec, ",") {
		pattern, name, ok := strings.Cut(text, "=")
		if !ok {
			pattern, name = "*", text
		}
		pattern, name = strings.TrimSpace(pattern), strings.TrimSpace(name)
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			return nil, fmt.Errorf("%q is not a pattern for names of layers, such as conv_l1_*", pattern)
		}
		c := algoClause{pattern: pattern, algo: algoByName(name)}
		if c.algo == nil && name != Auto {
			known := append([]string{Auto}, names(Algorithms(conv.Caps{}))...)
			return nil, fmt.Errorf("%q is no algorithm: known are %s%s", name, strings.Join(known, ", "), suggest.Question(name, known))
		}
		clauses = append(clauses, c)
	}
	return clauses, nil
}

// FindAlgos lists the algorithms that a list of patterns names, separated by
// commas, in the order of Algorithms. A pattern that names none is an error.
func FindAlgos(c conv.Caps, patterns string) ([]conv.Algo, error) {
	all := Algorithms(c)
	picked := make([]bool, len(all))
	for _, p := range strings.Split(patterns, ",") {
		p, found := strings.TrimSpace(p), false
		for i, a := range all {
			if ok, err := path.Match(p, a.Name()); err == nil && ok {
				picked[i], found = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("%q is no algorithm: known are %s%s", p, strings.Join(names(all), ", "), suggest.Question(p, names(all)))
		}
	}
	var out []conv.Algo
	for i, a := range all {
		if picked[i] {
			out = append(out, a)
		}
	}
	return out, nil
}

func names(algos []conv.Algo) []string {
	var s []string
	for _, a := range algos {
		s = append(s, a.Name())
	}
	return s
}

// AlgoError says that the algorithm of a step does not do its shape on the device.
type AlgoError struct {
	Asked bool // the algorithm was asked for; false: nothing that could be chosen does it
	Step  string
	Algo  string
	Shape conv.Shape
	Able  []string // algorithms that do it on this device
	Err   error    // what the algorithm says
}

func (e *AlgoError) Error() string {
	s := fmt.Sprintf("step %s (%d→%d channels, %d×%[4]d): %[5]s", e.Step, e.Shape.InC(), e.Shape.OutC, e.Shape.K, strings.TrimPrefix(e.Err.Error(), "conv: "))
	if len(e.Able) > 0 {
		s += ": " + strings.Join(e.Able, ", ") + " can"
	}
	return s
}

func (e *AlgoError) Unwrap() error { return e.Err }

// refused makes the error of an algorithm that cannot do a step, and finds those
// that can.
func refused(c conv.Caps, p planar.Precision, step string, s conv.Shape, algo string, err error) *AlgoError {
	e := &AlgoError{Step: step, Algo: algo, Shape: s, Err: err}
	for _, a := range Algorithms(c) {
		if _, err := a.New(c, s, p); err == nil {
			e.Able = append(e.Able, a.Name())
		}
	}
	return e
}

// chooseAlgos gives every convolution its algorithm.
func (j *Job) chooseAlgos() error {
	p := j.Program
	exact := beforeNorms(p)
	j.steps = make([]jobStep, len(p.Steps))
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Kind != fuse.Conv {
			continue
		}
		j.steps[i].exact = exact[i]
		if err := j.chooseAlgo(i, ShapeOf(p, s)); err != nil {
			return err
		}
	}
	return nil
}

// chooseAlgo gives step i its algorithm: the one asked for, or else that of the
// tuning table, or else the rule's.
func (j *Job) chooseAlgo(i int, shape conv.Shape) (err error) {
	var algo conv.Algo
	var impl conv.Impl
	why, caps := "asked for", j.capsFor(i)
	if j.opt.Algo != nil {
		algo = j.opt.Algo(j.Program.Steps[i].Name, shape)
	}
	asked := algo != nil
	switch {
	case algo != nil:
	case caps.TF32 != j.caps.TF32:
		algo, why = AutoAlgo(caps, shape, j.opt.Precision)
		why += "; before a norm, so no tf32"
	case takesNorm(j.Program, i, caps, shape, j.opt.Precision):
		algo, why = AutoAlgo(caps, shape, j.opt.Precision)
	default:
		if algo, impl, why = j.tuned(shape); algo != nil {
			break
		}
		algo, why = AutoAlgo(j.caps, shape, j.opt.Precision)
		j.fromRule++
	}
	if impl == nil {
		if impl, err = algo.New(j.caps, shape, j.opt.Precision); err != nil {
			e := refused(j.caps, j.opt.Precision, j.Program.Steps[i].Name, shape, algo.Name(), err)
			e.Asked = asked
			return e
		}
	}
	if asked {
		if j.asked++; !slices.Contains(j.askedFor, algo.Name()) {
			j.askedFor = append(j.askedFor, algo.Name())
		}
	}
	j.steps[i].conv, j.steps[i].algo, j.steps[i].why = impl, algo.Name(), why
	return nil
}

// ShapeOf is the shape of convolution step s of program p.
func ShapeOf(p *fuse.Program, s *fuse.Step) conv.Shape {
	t := p.Tensors[s.Dst.Tensor]
	shape := conv.Shape{K: s.K, OutC: s.Dst.C, Act: s.Act, H: t.H, W: t.W}
	for _, v := range s.Src {
		shape.SrcC = append(shape.SrcC, v.C)
	}
	return shape
}

// Algo names the algorithm of step i, "" if it is no convolution.
func (j *Job) Algo(i int) string { return j.steps[i].algo }

// Why says why step i has its algorithm, "" if it is no convolution.
func (j *Job) Why(i int) string { return j.steps[i].why }
