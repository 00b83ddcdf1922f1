package exec

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"

	"enhance/clrt"
	"enhance/conv"
	"enhance/conv/mma"
	"enhance/conv/wgmma"
	"enhance/fuse"
	"enhance/model"
	"enhance/planar"
	"enhance/tune"
	"enhance/winograd"
)

// tuningGeneration is part of KernelHash. Raise it when code that writes kernels
// or chooses among them changes so that old findings no longer hold.
const tuningGeneration = "1"

// KernelHash names the kernel sources of this build, 16 hexadecimal digits.
var KernelHash = sync.OnceValue(func() string {
	h := sha256.New()
	for _, text := range []string{tuningGeneration, planar.Source(planar.FP32), planar.Source(planar.FP16), conv.Sources(), mma.Sources(), wgmma.Sources(), winograd.Sources()} {
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
	c.Matrix, c.TF32, c.Warpgroup = o.Matrix, o.TF32, o.Warpgroup
	return c
}

// tuned is the algorithm that the table has for a shape, nil if it has none or one
// that cannot do it; the latter would be that of another build.
func (j *Job) tuned(s conv.Shape) (algo conv.Algo, impl conv.Impl, why string) {
	key := tune.Key(s, tune.Precision(j.caps, j.opt.Precision))
	c, ok := j.opt.Tuned.Lookup(key)
	if !ok || !c.Measured() {
		return nil, nil, ""
	}
	if algo = algoByName(c.Algo); algo == nil {
		return nil, nil, ""
	}
	impl, err := algo.New(j.caps, s, j.opt.Precision)
	if err != nil {
		return nil, nil, ""
	}
	if j.decisions == nil {
		j.decisions = map[string]string{}
	}
	j.decisions[key] = c.Algo
	j.fromTable++
	if c.Algo == c.Default {
		return algo, impl, "tuned: nothing measured was clearly faster than the default"
	}
	return algo, impl, "tuned: measured faster than the default on this device"
}

// takesNorm reports whether the automatic choice for convolution i of a program may
// take the norm beside it along, its statistics in the store or its scales in the
// load. Tuning measures and checks plain convolutions: another choice would run in a
// form that was not checked, or lose what that form saves. So it leaves these alone.
func takesNorm(p *fuse.Program, i int, c conv.Caps, shape conv.Shape, precision planar.Precision) bool {
	s, beside := &p.Steps[i], false
	for k := range p.Steps {
		n := &p.Steps[k]
		beside = beside || n.Kind == fuse.RowStats && n.Src[0] == s.Dst
		for _, v := range s.Src {
			beside = beside || n.Kind == fuse.Pointwise && n.Affine != fuse.None && n.Dst.Tensor == v.Tensor
		}
	}
	if !beside {
		return false
	}
	algo, _ := AutoAlgo(c, shape, precision)
	impl, err := algo.New(c, shape, precision)
	if err != nil {
		return false
	}
	_, scales := impl.(conv.Scaling)
	_, sums := impl.(conv.Summing)
	return scales || sums
}

// Tuning says whether a job's automatic choices came from a table.
type Tuning struct {
	// State is "tuned" if all of them were measured, "defaults" if none, "partly
	// tuned", or "" where nothing was chosen automatically.
	State string `json:"state"`
	// Asked is how many convolutions have an algorithm that was asked for, AskedFor
	// which, with commas between them, and Automatic how many others there are.
	Asked     int    `json:"asked"`
	AskedFor  string `json:"asked_for,omitempty"`
	Automatic int    `json:"automatic"`
	// Hash names the choices that came from the table: equal hashes are equal
	// choices, whatever else the table holds. "" if there are none.
	Hash string `json:"hash,omitempty"`
}

// Tuning of the job.
func (j *Job) Tuning() Tuning {
	t := Tuning{Asked: j.asked, Automatic: -j.asked, AskedFor: strings.Join(j.askedFor, ", ")}
	for i := range j.steps {
		if j.steps[i].conv != nil {
			t.Automatic++
		}
	}
	switch {
	case j.fromTable == 0 && j.fromRule == 0:
		return t
	case j.fromTable == 0:
		t.State = "defaults"
		return t
	}
	t.State, t.Hash = "tuned", tune.Hash(j.decisions)
	if j.fromRule > 0 {
		t.State = "partly tuned"
	}
	return t
}

// String says where the algorithms come from: "defaults", "tuned for this device
// (choices a1b2c3)", "8 by --algo (direct-naive), the other 12 defaults", or "" where
// there is no convolution.
func (t Tuning) String() string {
	chosen := t.State
	if t.Hash != "" {
		chosen += fmt.Sprintf(" for this device (choices %s)", t.Hash)
	}
	if t.Asked == 0 {
		return chosen
	}
	asked := fmt.Sprintf("%d by --algo (%s)", t.Asked, t.AskedFor)
	switch {
	case t.Automatic == 0:
		return asked
	case chosen == "": // they take norms along, see takesNorm
		chosen = "defaults"
	}
	return fmt.Sprintf("%s, the other %d %s", asked, t.Automatic, chosen)
}

// PrecisionName is "fp32", "tf32" or "fp16".
func (j *Job) PrecisionName() string { return tune.Precision(j.caps, j.opt.Precision) }

// TF32 reports whether float32 factors are rounded to tf32 in matrix units.
func (j *Job) TF32() bool { return j.caps.Matrix && j.caps.TF32 && j.opt.Precision == planar.FP32 }

// TuneTasks lists the distinct convolutions of a network whose algorithm is chosen
// automatically and which take no norm along (see takesNorm), those with the most work
// first, with the algorithms worth measuring.
func TuneTasks(m *model.Model, h, w int, info *clrt.DeviceInfo, opt Options) ([]tune.Task, error) {
	p, err := fuse.Fuse(m.Graph, h, w)
	if err != nil {
		return nil, err
	}
	caps := opt.Caps(info)
	precision := tune.Precision(caps, opt.Precision)
	exact := beforeNorms(p)
	work := map[string]float64{}
	var tasks []tune.Task
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Kind != fuse.Conv {
			continue
		}
		shape := ShapeOf(p, s)
		if precision == "tf32" && exact[i] || opt.Algo != nil && opt.Algo(s.Name, shape) != nil || takesNorm(p, i, caps, shape, opt.Precision) {
			continue
		}
		key := tune.Key(shape, precision)
		if work[key] == 0 {
			tasks = append(tasks, tune.Task{Key: key, Precision: precision, Shape: shape, Candidates: Candidates(caps, shape, opt.Precision)})
		}
		work[key] += shape.FLOPs()
	}
	slices.SortStableFunc(tasks, func(a, b tune.Task) int { return cmp.Compare(work[b.Key], work[a.Key]) })
	return tasks, nil
}

// Candidates lists algorithms worth measuring for a shape, the automatic choice
// first, then the likeliest. Where the automatic choice keeps to algorithms
// without scratch memory or granules of rows (see wide), so do they: what a photo
// needs at least must not grow by tuning.
func Candidates(c conv.Caps, s conv.Shape, p planar.Precision) []conv.Algo {
	first, _ := AutoAlgo(c, s, p)
	list, seen := []conv.Algo{first}, map[string]bool{first.Name(): true}
	add := func(algos ...conv.Algo) {
		for _, a := range algos {
			impl, err := a.New(c, s, p)
			frugal := err == nil && (wide(s) || impl.Granule() <= 1 && impl.Scratch(s.H) == 0)
			if !frugal || seen[a.Name()] {
				continue
			}
			seen[a.Name()] = true
			list = append(list, a)
		}
	}
	if c.Matrix && mma.Suits(s) {
		m := matrixPrecision(c, p)
		variants, transforms := mma.Candidates(m, c, s), winograd.Candidates(c, s, p)
		add(mma.Algo(m))
		if c.Warpgroup && wgmma.Suits(s) {
			add(wgmma.Algo())
		}
		for i := range max(len(variants), len(transforms)) {
			add(variants[min(i, len(variants)):min(i+1, len(variants))]...)
			add(transforms[min(i, len(transforms)):min(i+1, len(transforms))]...)
		}
	} else {
		transforms := winograd.Candidates(c, s, p)
		add(conv.Direct(c))
		add(transforms[:min(len(transforms), 2)]...)
		if c.CPU {
			add(conv.RowTiles(c, s, p)...)
		}
		add(conv.ImplicitGEMM{})
		add(transforms...)
	}
	add(conv.Direct(c), conv.ImplicitGEMM{})
	add(conv.RowTiles(c, s, p)...)
	add(conv.Im2col{})
	if !c.CPU {
		add(conv.Packed{})
	}
	return list
}
