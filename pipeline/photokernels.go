package pipeline

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"

	"enhance/clrt"
	"enhance/internal/devices"
	"enhance/internal/exec"
	"enhance/internal/fuse"
	"enhance/internal/kernelcheck"
	"enhance/internal/ops"
	"enhance/internal/planar"
	"enhance/memplan"
)

// A photo needs more kernels than its network has: one that takes stored samples, and those of
// pictures. The host can do their work. Before the first photo that needs such kernels, the results of
// the device are compared with the host's, and the host does what the device does wrong. That a device is
// right is noted among its tuning results; a wrong one is checked again by the next process, as the fault
// may have passed. The checks depend on neither photo nor budget, so that neither decides who makes the picture.

// photoKernel names kernels that a photo needs and its network does not have.
type photoKernel string

const (
	sampleKernel   photoKernel = "samples"
	octetKernel    photoKernel = "samples as octets" // where the network's activations are octets
	pictureKernels photoKernel = "picture"
	sharpKernels   photoKernel = "sharpened picture"
)

// sourceHash names the kernels' text: what was found of another does not hold.
func (k photoKernel) sourceHash() string {
	text := ops.PictureSource(k == sharpKernels)
	if k == sampleKernel || k == octetKernel {
		text = ops.SamplesSource(k == octetKernel)
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// photoKernels are what a session knows of them on its device.
type photoKernels struct {
	device *device
	wrong  map[string]string       // what is wrong with them, "" for nothing, by photoKernel.in; those that are not there were not checked yet
	try    func(photoKernel) error // replaces the check in tests
}

// foundRight are the devices and kernels that this process found right: sessions need not
// check them again where no notes can be kept.
var foundRight sync.Map

// avoidWrong leaves to the host what is known to be wrong on the device. It reports whether it
// left anything.
func (c *computation) avoidWrong(p planar.Precision) (left bool) {
	if why := c.session.kernels.wrongSamples(p); why != "" && c.samples {
		c.samples, left = false, true
		c.warn(fmt.Sprintf("the device's kernel that takes a photo's samples is wrong (%s): the host prepares them; `enhance selftest` tests the device", why))
	}
	if why := c.session.kernels.wrongPicture(c.picture, p); why != "" {
		c.picture, left = nil, true
		c.warn(fmt.Sprintf("the device's kernels that make a picture are wrong (%s): the host makes it; `enhance selftest` tests the device", why))
	}
	return left
}

// wrongSamples is what is known to be wrong with a kernel that takes samples, "" for nothing. Which of the two a plan has
// is not known before it is made, and where one is wrong the host prepares them for either.
func (k *photoKernels) wrongSamples(p planar.Precision) string {
	return cmp.Or(k.wrong[sampleKernel.in(p)], k.wrong[octetKernel.in(p)])
}

// wrongPicture is what is known to be wrong with the kernels that make a picture, "" for nothing.
func (k *photoKernels) wrongPicture(pic *fuse.Picture, p planar.Precision) string {
	if pic == nil {
		return ""
	}
	return k.wrong[makesPictureBy(pic).in(p)]
}

// photoChecks are checks of kernels that are under way.
type photoChecks struct {
	kernels   *photoKernels
	precision planar.Precision
	ctx       context.Context
	kinds     []photoKernel
	found     []error // by kind
	failed    error   // of the checks themselves
	ended     chan struct{}
	taken     bool
}

// beginChecks begins to check the plan's photo kernels, unless that was done. The checks
// take memory of the device: nothing else may until they are taken.
func (c *computation) beginChecks() (*photoChecks, error) {
	s := c.session
	b := &photoChecks{kernels: &s.kernels, ctx: c.ctx}
	if c.plan == nil || s.device.choice.Device == nil {
		return b, nil
	}
	b.precision = c.plan.Precision()
	if k := takesSamplesBy(c.plan); c.plan.TakesSamples() && !s.kernels.knows(k, b.precision) {
		b.kinds = append(b.kinds, k)
	}
	if c.plan.MakesPixels() {
		if k := makesPictureBy(c.plan.Picture()); !s.kernels.knows(k, b.precision) {
			b.kinds = append(b.kinds, k)
		}
	}
	if len(b.kinds) == 0 {
		return b, nil
	}
	if err := s.runner.closeEngine(); err != nil { // its memory counts too
		return b, err
	}
	b.found, b.ended = make([]error, len(b.kinds)), make(chan struct{})
	opt := exec.Options{Precision: b.precision, Budget: s.allowed()}
	end := s.stages().Begin("check kernels")
	go func() {
		defer close(b.ended)
		defer end()
		b.failed = s.kernels.check(c.ctx, b.kinds, b.found, opt)
	}()
	return b, nil
}

// takesSamplesBy is the kernel that takes samples in a plan that does.
func takesSamplesBy(plan *exec.Job) photoKernel {
	if plan.UnpacksOctets() {
		return octetKernel
	}
	return sampleKernel
}

// makesPictureBy are the kernels that make a picture.
func makesPictureBy(pic *fuse.Picture) photoKernel {
	if pic.Sharpen {
		return sharpKernels
	}
	return pictureKernels
}

// take waits for the checks and keeps what they found.
func (b *photoChecks) take() error {
	if b == nil || b.ended == nil {
		return nil
	}
	<-b.ended
	if b.failed != nil || b.taken {
		return b.failed
	}
	b.taken = true
	for i, k := range b.kinds {
		if err := b.kernels.keep(b.ctx, k, b.precision, b.found[i]); err != nil {
			return err
		}
	}
	return nil
}

// avoids reports whether the plan has kernels that are known to be wrong.
func (c *computation) avoids() bool {
	p := c.plan.Precision()
	return c.plan.TakesSamples() && c.session.kernels.wrongSamples(p) != "" || c.plan.MakesPixels() && c.session.kernels.wrongPicture(c.plan.Picture(), p) != ""
}

// in names kernels in a precision.
func (k photoKernel) in(p planar.Precision) string { return fmt.Sprintf("%s %v", k, p) }

// note names what is noted of a kind among a device's tuning results; onDevice names the device, too.
func (k *photoKernels) note(kind photoKernel, p planar.Precision) (note, onDevice string) {
	note = kind.in(p) + " " + kind.sourceHash()
	return note, fmt.Sprintf("%+v %s", exec.TuningDevice(k.device.choice.Device.Info()), note)
}

// knows reports whether a kind was checked, here or by another process that found it right.
func (k *photoKernels) knows(kind photoKernel, p planar.Precision) bool {
	key := kind.in(p)
	if _, known := k.wrong[key]; known {
		return true
	}
	if k.wrong == nil {
		k.wrong = map[string]string{}
	}
	note, onDevice := k.note(kind, p)
	_, right := foundRight.Load(onDevice)
	if !right {
		table, _ := k.device.tuningStore().Load()
		right = table.Notes[note] == "right"
	}
	if right {
		k.wrong[key] = ""
	}
	return right
}

// keep keeps what a check found, for other processes too if the kernels are right.
func (k *photoKernels) keep(ctx context.Context, kind photoKernel, p planar.Precision, found error) error {
	key := kind.in(p)
	switch small := (*memplan.BudgetError)(nil); {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(found, &small) || clrt.OutOfMemory(found): // the photo's own plan will tell
		k.device.set.debug(fmt.Sprintf("kernels of %s are not checked: %v", key, found))
		k.wrong[key] = ""
		return nil
	case found != nil:
		why, _, _ := strings.Cut(found.Error(), "\n")
		k.wrong[key] = strings.TrimRight(why, ": ")
		return nil
	}
	k.wrong[key] = ""
	note, onDevice := k.note(kind, p)
	foundRight.Store(onDevice, true)
	k.device.keepNotes(ctx, func(notes map[string]string) { notes[note] = "right" })
	return nil
}

// check runs kernels, and tells what is wrong with each kind, in a context of their own: a
// kernel that fails may take its context with it.
func (k *photoKernels) check(ctx context.Context, kinds []photoKernel, found []error, opt exec.Options) error {
	d := k.device
	info := d.choice.Device.Info()
	var cl *clrt.Context
	for i, kind := range kinds {
		if k.try != nil {
			found[i] = k.try(kind)
			continue
		}
		if cl == nil || found[max(i-1, 0)] != nil {
			var err error
			if cl, err = d.newContext(); err != nil {
				return &devices.Error{Selector: d.set.Device, Problem: d.choice.Device.String() + " cannot be used", Err: err}
			}
			cl.KeepCompiler() // the network's kernels are being compiled
			defer cl.Close()
		}
		switch kind {
		case sampleKernel:
			found[i] = kernelcheck.SamplesUnder(ctx, cl, info, opt)
		case octetKernel: // of a plan with octets, so that the device has their units
			withUnits := opt
			withUnits.Units = hopperUnits
			found[i] = kernelcheck.SamplesUnder(ctx, cl, info, withUnits)
		default:
			_, found[i] = checkPicture(ctx, cl, info, opt, kind == sharpKernels)
		}
	}
	return nil
}
