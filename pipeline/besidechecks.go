package pipeline

import (
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
	pictureKernels besideKernel = "picture"
)

// sourceHash names the kernels' text: what was found of another does not hold.
func (k besideKernel) sourceHash() string {
	text := ops.SamplesSource(false) + ops.SamplesSource(true)
	if k == pictureKernels {
		text = ops.PictureSource()
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
	known := c.session.choices.wrong
	if why := known[besideKey(sampleKernel, p)]; why != "" && c.samples {
		c.samples, left = false, true
		c.warn(fmt.Sprintf("the device's kernel that takes a photo's samples is wrong (%s): the host prepares them; `enhance selftest` tests the device", why))
	}
	if why := known[besideKey(pictureKernels, p)]; why != "" && c.picture != nil {
		c.picture, left = nil, true
		c.warn(fmt.Sprintf("the device's kernels that make a picture are wrong (%s): the host makes it; `enhance selftest` tests the device", why))
	}
	return left
}

// checkKernels checks what the plan has beside its network, unless that was done, and plans
// again without what is wrong; replanned is then called.
func (c *computation) checkKernels(replanned func() error) error {
	s := c.session
	if c.plan == nil || s.device.choice.Device == nil {
		return nil
	}
	p := c.plan.Precision()
	if c.plan.TakesSamples() {
		if err := s.check(c.ctx, sampleKernel, p); err != nil {
			return err
		}
	}
	if c.plan.MakesPixels() {
		if err := s.check(c.ctx, pictureKernels, p); err != nil {
			return err
		}
	}
	if !c.avoidWrong(p) {
		return nil
	}
	if err := c.makePlan(c.facts.Rows); err != nil {
		return err
	}
	return replanned()
}

func besideKey(k besideKernel, p planar.Precision) string { return fmt.Sprintf("%s %v", k, p) }

// check makes choices.wrong say what is wrong with kernels, "" for nothing.
func (s *Session) check(ctx context.Context, k besideKernel, p planar.Precision) error {
	key := besideKey(k, p)
	if _, known := s.choices.wrong[key]; known {
		return nil
	}
	if s.choices.wrong == nil {
		s.choices.wrong = map[string]string{}
	}
	store, note := s.tuningStore(), key+" "+k.sourceHash()
	device := fmt.Sprintf("%+v %s", exec.TuningDevice(s.device.choice.Device.Info()), note)
	if _, right := foundRight.Load(device); right {
		s.choices.wrong[key] = ""
		return nil
	}
	if table, _ := store.Load(); table.Notes[note] == "right" {
		s.choices.wrong[key] = ""
		return nil
	}
	err := s.tryKernels(ctx, k, p)
	switch small := (*memplan.BudgetError)(nil); {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &small) || clrt.OutOfMemory(err): // the photo's own plan will tell
		s.debug(fmt.Sprintf("kernels of %s are not checked: %v", key, err))
		s.choices.wrong[key] = ""
		return nil
	case errors.As(err, new(*devices.Error)):
		return err
	case err != nil:
		why, _, _ := strings.Cut(err.Error(), "\n")
		s.choices.wrong[key] = strings.TrimRight(why, ": ")
		return nil
	}
	s.choices.wrong[key] = ""
	foundRight.Store(device, true)
	release, err := store.Lock(ctx, nil)
	if err != nil {
		s.debug(err.Error())
		return nil
	}
	defer release()
	table, _ := store.Load()
	table.Notes[note] = "right"
	if err := store.Save(table); err != nil {
		s.debug(err.Error())
	}
	return nil
}

// tryKernels runs them in a context of their own: a kernel that fails may take its context with it.
func (s *Session) tryKernels(ctx context.Context, k besideKernel, p planar.Precision) error {
	if s.tryBeside != nil {
		return s.tryBeside(k)
	}
	if err := s.runner.closeEngine(); err != nil { // its memory counts too
		return err
	}
	cl, err := s.device.newContext()
	if err != nil {
		return &devices.Error{Selector: s.set.Device, Problem: s.device.choice.Device.String() + " cannot be used", Err: err}
	}
	defer cl.Close()
	defer s.stages().Begin("check kernels")()
	opt := exec.Options{Precision: p, Budget: s.allowed()}
	if k == sampleKernel {
		return checkSamples(ctx, cl, s.device.choice.Device.Info(), opt)
	}
	_, err = checkPictures(ctx, cl, s.device.choice.Device.Info(), opt)
	return err
}
