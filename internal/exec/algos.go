package exec

import (
	"fmt"
	"path"
	"strings"

	"enhance/conv"
	"enhance/conv/amx"
	"enhance/conv/mma"
	"enhance/conv/octets"
	"enhance/conv/wgmma"
	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/internal/suggest"
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
	return append(all, wgmma.Algo(), octets.Algo(), amx.Codes(), amx.Pairs())
}

// algoByName finds an algorithm, nil if there is none. Beyond the list there are
// variants, which tuning chooses from: forms of Winograd's, divisions of
// the matrix units' work (mma-m2x1-r2x4-w3x3-p2), register tiles of direct-rows
// (direct-rows-o6v2) and work-groups of other shapes (see conv.Shaped).
func algoByName(name string) conv.Algo {
	for _, a := range Algorithms(conv.Caps{}) {
		if a.Name() == name {
			return a
		}
	}
	for _, named := range []func(string) (conv.Algo, bool){anyAlgo(winograd.Named), mma.Named, anyAlgo(conv.RowTileNamed),
		anyAlgo(conv.TileGroupNamed), anyAlgo(conv.ImplicitGroupNamed)} {
		if a, ok := named(name); ok {
			return a
		}
	}
	return nil
}

func anyAlgo[A conv.Algo](named func(string) (A, bool)) func(string) (conv.Algo, bool) {
	return func(name string) (conv.Algo, bool) { return named(name) }
}

func names(algos []conv.Algo) []string {
	var s []string
	for _, a := range algos {
		s = append(s, a.Name())
	}
	return s
}

// Auto is the name of the automatic choice in ParseAlgos.
const Auto = "auto"

// AlgoSpec is a choice of algorithms by the names of steps; see ParseAlgos. Nil chooses
// all automatically.
type AlgoSpec struct{ clauses []algoClause }

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
// no clause matches are chosen automatically, as are convolutions that are not square and of
// stride 1.
func ParseAlgos(spec string) (*AlgoSpec, error) {
	s := &AlgoSpec{}
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
		s.clauses = append(s.clauses, c)
	}
	return s, nil
}

// Algo is the algorithm for a step, nil for the automatic choice: an [Options].Algo.
func (s *AlgoSpec) Algo(step string, _ conv.Shape) conv.Algo {
	if s == nil {
		return nil
	}
	for _, c := range s.clauses {
		if c.matches(step) {
			return c.algo
		}
	}
	return nil
}

// Match reports a clause whose pattern matches no convolution of a program: a misspelt
// name must not pass for a choice. A pattern that matches only steps that earlier
// clauses took is fine.
func (s *AlgoSpec) Match(p *fuse.Program) error {
	if s == nil {
		return nil
	}
	for _, c := range s.clauses {
		found, example := false, ""
		for i := range p.Steps {
			if step := &p.Steps[i]; step.Selectable() {
				found, example = found || c.matches(step.Name), step.Name
			}
		}
		if !found {
			return fmt.Errorf("no convolution of the network is called %q: its last one is %q", c.pattern, example)
		}
	}
	return nil
}

// matches ignores path.Match's error: the pattern was tried when it was parsed. Names are no
// paths, although those of ONNX files have slashes: * matches them too.
func (c *algoClause) matches(step string) bool {
	plain := func(s string) string { return strings.ReplaceAll(s, "/", "\x00") }
	ok, _ := path.Match(plain(c.pattern), plain(step))
	return ok
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
	s := fmt.Sprintf("step %s (%d→%d channels, %dx%[4]d): %[5]s", e.Step, e.Shape.InC(), e.Shape.OutC, e.Shape.K, strings.TrimPrefix(e.Err.Error(), "conv: "))
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
