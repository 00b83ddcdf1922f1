package winograd

import (
	"fmt"
	"strings"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/planar"
)

// Form is how a convolution's stages are divided among kernels.
type Form uint8

const (
	// ByDevice is Strips on a CPU and Tiled elsewhere.
	ByDevice Form = iota
	// Strips is for CPUs: one kernel whose work-items each carry a block of tiles
	// of one tile row through all stages inside the cache (strips.go).
	Strips
	// Tiled is for GPUs: an input transform, a batch of matrix products and an
	// output transform, with V and M in global memory (tiled.go).
	Tiled
	// Fused is for GPUs: all stages in one kernel, V and M in local memory and
	// registers (fused.go).
	Fused
)

var formNames = [...]string{"", "strips", "tiled", "fused"}

// TiledCap is the default byte cap of the tiled form: V and M of a strip stay
// within the second-level cache of large GPUs, which saves most of the traffic of
// the matrix products.
const TiledCap = 32 << 20

// Split is what the tiled form divides first where V and M of a launch do not fit its
// scratch memory. It does not change the result.
type Split uint8

const (
	// ByRows takes fewer rows of tiles at a time and, where one row does not fit, fewer
	// input channels.
	ByRows Split = iota
	// ByChannels takes fewer input channels of all rows at a time, and fails where a few
	// of them do not fit. It transforms no less and adds to M in memory each time, which
	// costs more than ByRows: it is there to be compared.
	ByChannels
)

// Convolution is Winograd convolution as an algorithm of package conv. The zero
// value of the other fields is a sensible default.
type Convolution struct {
	Variant Variant
	Form    Form
	// Cap bounds the scratch bytes of a launch, V and M together; transformed
	// filters count apart. A launch does with what Args.Scratch has if that is less. Launches
	// are divided as Split says (Tiled) or among fewer workers (Strips) so that it is never
	// passed, which does not change the result. A cap below the least that can be is refused
	// by New with a *CapError. 0 means TiledCap, or one row of tiles if that is
	// larger, and in strips one worker for each core.
	Cap   int64
	Split Split
	// WideV keeps V in float32 where activations are stored in fp16. Rounding V
	// costs several times the error of storing the result; only the tiled form
	// has a V in memory that could be rounded.
	WideV bool
	// Groups are the work-groups' shapes, of Form Tiled or Fused only.
	Groups Groups
}

// Algo is the convolution by a variant in the form that suits the device.
func Algo(v Variant) conv.Algo { return Convolution{Variant: v} }

// Name is "winograd-" and the variant, with what other fields ask for.
func (c Convolution) Name() string {
	n := "winograd-" + string(c.Variant)
	if c.Form != ByDevice && int(c.Form) < len(formNames) {
		n += "-" + formNames[c.Form]
	}
	if c.WideV {
		n += "-v32"
	}
	return n + c.Groups.words(c.Form)
}

// New refuses kernels of another size than the variant's, and devices that lack what
// the form needs.
func (c Convolution) New(caps conv.Caps, s conv.Shape, p planar.Precision) (conv.Impl, error) {
	t, err := c.Variant.compiled()
	if err != nil {
		return nil, err
	}
	if s.K != t.R {
		return nil, fmt.Errorf("%s does %dx%[2]d kernels, not %dx%[3]d", c.Name(), t.R, s.K)
	}
	if s.Codes || s.Octets || s.OctetsOut || s.Pairs || s.PairsOut || s.Split || s.InC() < 1 || s.OutC < 1 || s.H < 1 || s.W < 1 || len(s.SrcC) > conv.MaxSources {
		return nil, fmt.Errorf("%s: shape %v of %d sources is not a convolution", c.Name(), s, len(s.SrcC))
	}
	form := c.Form
	if form == ByDevice {
		form = Tiled
		if caps.CPU {
			form = Strips
		}
	}
	if c.Split != ByRows && form != Tiled {
		return nil, fmt.Errorf("%s: only the tiled form splits by channels", c.Name())
	}
	if !c.Groups.sane(c.Form) {
		return nil, fmt.Errorf("%s: the kernels do not take such work-groups", c.Name())
	}
	switch form {
	case Strips:
		return newStrips(c, t, caps, s)
	case Tiled:
		return newTiled(c, t, caps, s, p)
	case Fused:
		return newFused(c, t, caps, s)
	}
	return nil, fmt.Errorf("%s: form %d is not known", c.Name(), c.Form)
}

// act is the suffix of kernels that include the sigmoid: exp makes long code.
func actSuffix(s conv.Shape) string {
	if s.Act == fuse.Sigmoid {
		return "_sigmoid"
	}
	return ""
}

// scratchSize is 0 where there is none.
func scratchSize(b *clrt.Buffer) int64 {
	if b == nil {
		return 0
	}
	return b.Size()
}

// emitAll prints programs as functions, one after another.
func emitAll(fs ...func() (string, error)) (string, error) {
	var b strings.Builder
	for _, f := range fs {
		s, err := f()
		if err != nil {
			return "", err
		}
		b.WriteString(s)
	}
	return b.String(), nil
}

func emitter(p *Program, name, vectorType string) func() (string, error) {
	return func() (string, error) { return p.EmitOpenCL(name, vectorType) }
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
