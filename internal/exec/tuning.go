package exec

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"sync"

	"enhance/clrt"
	"enhance/conv"
	"enhance/conv/amx"
	"enhance/conv/mma"
	"enhance/conv/octets"
	"enhance/conv/wgmma"
	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/internal/tune"
	"enhance/model"
	"enhance/pipeline/facts"
	"enhance/winograd"
)

// tuningGeneration is part of KernelHash. Raise it when code that writes kernels
// or chooses among them changes so that old findings no longer hold.
const tuningGeneration = "1"

// KernelHash names the kernel sources of this build, 16 hexadecimal digits.
var KernelHash = sync.OnceValue(func() string {
	h := sha256.New()
	for _, text := range []string{tuningGeneration, planar.Source(planar.FP32, model.PadReflect),
		planar.Source(planar.FP16, model.PadReflect), conv.Sources(), mma.Sources(), wgmma.Sources(), octets.Sources(), amx.Sources(), winograd.Sources()} {
		h.Write([]byte(text))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
})

// TuningDevice is what a table of a device holds for, with the kernels of this
// build.
func TuningDevice(i *clrt.DeviceInfo) tune.Device {
	return tune.Device{Platform: i.Platform, Name: i.Name, Driver: i.DriverVersion, Kernels: KernelHash()}
}

// Caps is what algorithms are told of a device under these options.
func (o *Options) Caps(i *clrt.DeviceInfo) conv.Caps {
	c := conv.CapsOf(i)
	c.Units = o.Units
	if o.smallBuffers {
		c.MaxAlloc = 1
	}
	return c
}

// arithmetic is what the options ask for, as far as the device has it.
func (o *Options) arithmetic() conv.Arithmetic {
	return conv.Arithmetic{Precision: o.Precision, TF32: o.TF32 && o.Matrix && o.Precision == planar.FP32}
}

// tunedAs is the shape that is measured in place of s: activations that take much the same
// time count as one.
func tunedAs(s conv.Shape) conv.Shape {
	if s.Act > fuse.Sigmoid {
		s.Act = fuse.LeakyReLU
	}
	return s
}

// tuned is the choice that the table has for a shape, false if it has none or one that
// cannot do it; the latter would be that of another build.
func (j *Job) tuned(s conv.Shape) (Choice, bool) {
	if s.Window != nil || s.Codes || s.Octets || s.Pairs {
		return Choice{}, false
	}
	key := tune.Key(tunedAs(s), j.arith.String())
	found, ok := j.opt.Tuned.Lookup(key)
	if !ok || !found.Measured() {
		return Choice{}, false
	}
	algo := algoByName(found.Algo)
	if algo == nil {
		return Choice{}, false
	}
	impl, err := algo.New(j.caps, s, j.opt.Precision)
	if err != nil || j.caps.MaxAlloc > 0 && largestBuffer(impl, s, j.opt.Precision) > j.caps.MaxAlloc {
		return Choice{}, false
	}
	j.choices.tuned(key, found.Algo)
	why := "tuned: measured faster than the default on this device"
	if found.Algo == found.Default {
		why = "tuned: nothing measured was clearly faster than the default"
	}
	return Choice{algo, impl, why}, true
}

// choiceCount counts the convolutions of a job by where their algorithm comes from.
type choiceCount struct {
	fromTable, fromRule, asked int               // a table, AutoAlgo, Options.Algo
	byKey                      map[string]string // algorithm by key of the table, as far as used
	askedFor                   []string          // by Options.Algo, each once
}

func (c *choiceCount) tuned(key, algo string) {
	if c.byKey == nil {
		c.byKey = map[string]string{}
	}
	c.byKey[key] = algo
	c.fromTable++
}

func (c *choiceCount) askFor(algo string) {
	if c.asked++; !slices.Contains(c.askedFor, algo) {
		c.askedFor = append(c.askedFor, algo)
	}
}

// facts sum up the choices for so many convolutions.
func (c *choiceCount) facts(convolutions int) facts.Tuning {
	t := facts.Tuning{Asked: c.asked, Automatic: convolutions - c.asked, AskedFor: strings.Join(c.askedFor, ", ")}
	switch {
	case c.fromTable == 0 && c.fromRule == 0:
	case c.fromTable == 0:
		t.State = "defaults"
	case c.fromRule > 0:
		t.State, t.Hash = "partly tuned", tune.Hash(c.byKey)
	default:
		t.State, t.Hash = "tuned", tune.Hash(c.byKey)
	}
	return t
}

// Tuning of the job.
func (j *Job) Tuning() facts.Tuning {
	n := 0
	for i := range j.steps {
		if j.steps[i].conv != nil {
			n++
		}
	}
	return j.choices.facts(n)
}

// PrecisionName is "fp32", "tf32", "fp16" or "bf16".
func (j *Job) PrecisionName() string {
	if j.opt.BF16 {
		return "bf16"
	}
	return j.arith.String()
}

// BF16 reports whether the options ask for bfloat16.
func (j *Job) BF16() bool { return j.opt.BF16 }

// TF32 reports whether float32 factors are rounded to tf32 in matrix units.
func (j *Job) TF32() bool { return j.arith.TF32 }

// TuneTasks lists the distinct convolutions of a network whose algorithm is chosen
// automatically and which take no norm along (see Choice.takesNorm), those with the most work
// first, with the algorithms worth measuring.
func TuneTasks(m *model.Model, h, w int, info *clrt.DeviceInfo, opt Options) ([]tune.Task, error) {
	p, err := fuse.Fuse(m.Graph, h, w)
	if err != nil {
		return nil, err
	}
	caps := opt.Caps(info)
	arith := opt.arithmetic()
	opt.storeOctets(p, caps)
	opt.storePairs(p, caps)
	exact := beforeNorms(p)
	work := map[string]float64{}
	var tasks []tune.Task
	for i := range p.Steps {
		s := &p.Steps[i]
		if !s.Selectable() {
			continue
		}
		shape := tunedAs(ShapeOf(p, s))
		if shape.Octets || shape.Pairs { // for which there is one family
			continue
		}
		if arith.TF32 && exact[i] || opt.Algo != nil && opt.Algo(s.Name, shape) != nil {
			continue
		}
		if besideNorm(p, i) {
			if c, err := AutoAlgo(caps, shape, arith); err == nil && c.takesNorm() {
				continue
			}
		}
		key := tune.Key(shape, arith.String())
		if work[key] == 0 {
			tasks = append(tasks, tune.Task{Key: key, Precision: arith.String(), Shape: shape, Candidates: Candidates(caps, shape, arith)})
		}
		work[key] += shape.FLOPs()
	}
	slices.SortStableFunc(tasks, func(a, b tune.Task) int { return cmp.Compare(work[b.Key], work[a.Key]) })
	return tasks, nil
}
