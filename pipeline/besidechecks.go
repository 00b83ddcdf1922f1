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
	"enhance/internal/ops"
	"enhance/internal/planar"
	"enhance/memplan"
)

// A photo needs more kernels than its network has: one that takes stored samples, and those of
// pictures. The host can do their work. So what a driver makes of them is held against the host
// once, before the first photo that needs them, and the host does what a device does wrong. That
// a device is right is noted among its tuning results; what is wrong is tried again by the next
// process, as it may have been a passing fault. The check knows neither photo nor budget, so
// that neither decides who makes the picture.

// besideKernel names kernels that are no network's.
type besideKernel string

const (
	sampleKernel   besideKernel = "samples"
	octetKernel    besideKernel = "samples as octets" // where the network's activations are octets
	pictureKernels besideKernel = "picture"
	sharpKernels   besideKernel = "sharpened picture"
)

// sourceHash names the kernels' text: what was found of another does not hold.
func (k besideKernel) sourceHash() string {
	text := ops.PictureSource(k == sharpKernels)
	if k == sampleKernel || k == octetKernel {
		text = ops.SamplesSource(k == octetKernel)
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// foundRight are the devices and kernels that this process found right: sessions need not
// check them again where no notes can be kept.
var foundRight sync.Map

// avoidWrong leaves to the host what is known to be wrong on the device. It reports whether it
// left anything.
func (c *computation) avoidWrong(p planar.Precision) (left bool) {
	if why := c.session.wrongSamples(p); why != "" && c.samples {
		c.samples, left = false, true
		c.warn(fmt.Sprintf("the device's kernel that takes a photo's samples is wrong (%s): the host prepares them; `enhance selftest` tests the device", why))
	}
	if why := c.session.wrongPicture(c.picture, p); why != "" {
		c.picture, left = nil, true
		c.warn(fmt.Sprintf("the device's kernels that make a picture are wrong (%s): the host makes it; `enhance selftest` tests the device", why))
	}
	return left
}

// wrongSamples is what is known to be wrong with a kernel that takes samples, "" for nothing. Which of the two a plan has
// is not known before it is made, and where one is wrong the host prepares them for either.
func (s *Session) wrongSamples(p planar.Precision) string {
	return cmp.Or(s.choices.wrong[besideKey(sampleKernel, p)], s.choices.wrong[besideKey(octetKernel, p)])
}

// wrongPicture is what is known to be wrong with the kernels that make a picture, "" for nothing.
func (s *Session) wrongPicture(pic *fuse.Picture, p planar.Precision) string {
	if pic == nil {
		return ""
	}
	return s.choices.wrong[besideKey(makesPictureBy(pic), p)]
}

// besideChecks are checks of kernels beside the network's that are under way.
type besideChecks struct {
	session   *Session
	precision planar.Precision
	ctx       context.Context
	kinds     []besideKernel
	found     []error // by kind
	failed    error   // of the checks themselves
	ended     chan struct{}
	taken     bool
}

// beginChecks begins to check what the plan has beside its network, unless that was done. The checks
// take memory of the device: nothing else may until they are taken.
func (c *computation) beginChecks() (*besideChecks, error) {
	s := c.session
	b := &besideChecks{session: s, ctx: c.ctx}
	if c.plan == nil || s.device.choice.Device == nil {
		return b, nil
	}
	b.precision = c.plan.Precision()
	if k := takesSamplesBy(c.plan); c.plan.TakesSamples() && !s.knows(k, b.precision) {
		b.kinds = append(b.kinds, k)
	}
	if c.plan.MakesPixels() {
		if k := makesPictureBy(c.plan.Picture()); !s.knows(k, b.precision) {
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
		b.failed = s.tryKernels(c.ctx, b.kinds, b.found, opt)
	}()
	return b, nil
}

// takesSamplesBy is the kernel that takes samples in a plan that does.
func takesSamplesBy(plan *exec.Job) besideKernel {
	if plan.UnpacksOctets() {
		return octetKernel
	}
	return sampleKernel
}

// makesPictureBy are the kernels that make a picture.
func makesPictureBy(pic *fuse.Picture) besideKernel {
	if pic.Sharpen {
		return sharpKernels
	}
	return pictureKernels
}

// take waits for the checks and makes choices.wrong say what is wrong, "" for nothing.
func (b *besideChecks) take() error {
	if b == nil || b.ended == nil {
		return nil
	}
	<-b.ended
	if b.failed != nil || b.taken {
		return b.failed
	}
	b.taken = true
	for i, k := range b.kinds {
		if err := b.session.note(b.ctx, k, b.precision, b.found[i]); err != nil {
			return err
		}
	}
	return nil
}

// avoids reports whether the plan has kernels that are known to be wrong.
func (c *computation) avoids() bool {
	p := c.plan.Precision()
	return c.plan.TakesSamples() && c.session.wrongSamples(p) != "" || c.plan.MakesPixels() && c.session.wrongPicture(c.plan.Picture(), p) != ""
}

func besideKey(k besideKernel, p planar.Precision) string { return fmt.Sprintf("%s %v", k, p) }

// besideNote names what is noted of kernels among a device's tuning results, and device both.
func (s *Session) besideNote(k besideKernel, p planar.Precision) (note, device string) {
	note = besideKey(k, p) + " " + k.sourceHash()
	return note, fmt.Sprintf("%+v %s", exec.TuningDevice(s.device.choice.Device.Info()), note)
}

// knows reports whether choices.wrong says of kernels what is wrong with them, or another process
// found them right.
func (s *Session) knows(k besideKernel, p planar.Precision) bool {
	key := besideKey(k, p)
	if _, known := s.choices.wrong[key]; known {
		return true
	}
	if s.choices.wrong == nil {
		s.choices.wrong = map[string]string{}
	}
	note, device := s.besideNote(k, p)
	_, right := foundRight.Load(device)
	if !right {
		table, _ := s.tuningStore().Load()
		right = table.Notes[note] == "right"
	}
	if right {
		s.choices.wrong[key] = ""
	}
	return right
}

// note makes choices.wrong say what a check found, and notes that kernels are right.
func (s *Session) note(ctx context.Context, k besideKernel, p planar.Precision, found error) error {
	key := besideKey(k, p)
	switch small := (*memplan.BudgetError)(nil); {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(found, &small) || clrt.OutOfMemory(found): // the photo's own plan will tell
		s.debug(fmt.Sprintf("kernels of %s are not checked: %v", key, found))
		s.choices.wrong[key] = ""
		return nil
	case found != nil:
		why, _, _ := strings.Cut(found.Error(), "\n")
		s.choices.wrong[key] = strings.TrimRight(why, ": ")
		return nil
	}
	s.choices.wrong[key] = ""
	note, device := s.besideNote(k, p)
	foundRight.Store(device, true)
	s.keepNotes(ctx, func(notes map[string]string) { notes[note] = "right" })
	return nil
}

// tryKernels runs kernels, and tells what is wrong with each kind, in a context of their own: a
// kernel that fails may take its context with it.
func (s *Session) tryKernels(ctx context.Context, kinds []besideKernel, found []error, opt exec.Options) error {
	info := s.device.choice.Device.Info()
	var cl *clrt.Context
	for i, k := range kinds {
		if s.tryBeside != nil {
			found[i] = s.tryBeside(k)
			continue
		}
		if cl == nil || found[max(i-1, 0)] != nil {
			var err error
			if cl, err = s.device.newContext(); err != nil {
				return &devices.Error{Selector: s.set.Device, Problem: s.device.choice.Device.String() + " cannot be used", Err: err}
			}
			cl.KeepCompiler() // the network's kernels are being compiled
			defer cl.Close()
		}
		switch k {
		case sampleKernel:
			found[i] = checkSamples(ctx, cl, info, opt)
		case octetKernel: // of a plan with octets, so that the device has their units
			units := opt
			units.Matrix, units.Warpgroup, units.Octets = true, true, true
			found[i] = checkSamples(ctx, cl, info, units)
		default:
			_, found[i] = checkPicture(ctx, cl, info, opt, k == sharpKernels)
		}
	}
	return nil
}
