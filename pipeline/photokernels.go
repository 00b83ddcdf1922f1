package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"enhance/clrt"
	"enhance/internal/exec"
	"enhance/internal/findings"
	"enhance/internal/fuse"
	"enhance/internal/kernelcheck"
	"enhance/internal/ops"
	"enhance/internal/planar"
)

// A photo needs more kernels than its network has: one that takes stored samples, and those of
// pictures. The host can do their work. Before the first photo that needs such kernels, the results of
// the device are compared with the host's, and the host does what the device does wrong.

// photoKernels are those kernels, and what a session knows of them on its device.
type photoKernels struct {
	findings.Kernels
	samples, octets    findings.Kernel // octets: where the network's activations are octets
	picture, sharpened findings.Kernel
}

func newPhotoKernels() photoKernels {
	return photoKernels{
		samples: findings.Kernel{Name: "samples", Source: func() string { return ops.SamplesSource(false) }, Check: kernelcheck.SamplesUnder},
		octets: findings.Kernel{Name: "samples as octets", Source: func() string { return ops.SamplesSource(true) },
			Check: func(ctx context.Context, cl *clrt.Context, info *clrt.DeviceInfo, opt exec.Options) error {
				opt.Units = hopperUnits // of a plan with octets, so that the device has their units
				return kernelcheck.SamplesUnder(ctx, cl, info, opt)
			}},
		picture:   pictureKernel("picture", false),
		sharpened: pictureKernel("sharpened picture", true),
	}
}

// pictureKernel are the kernels that make a picture, sharpened or not.
func pictureKernel(name string, sharp bool) findings.Kernel {
	return findings.Kernel{Name: name, Source: func() string { return ops.PictureSource(sharp) },
		Check: func(ctx context.Context, cl *clrt.Context, info *clrt.DeviceInfo, opt exec.Options) error {
			_, err := checkPicture(ctx, cl, info, opt, sharp)
			return err
		}}
}

// makes are the kernels that make a picture.
func (k *photoKernels) makes(pic *fuse.Picture) *findings.Kernel {
	if pic.Sharpen {
		return &k.sharpened
	}
	return &k.picture
}

// of are those of a plan.
func (k *photoKernels) of(plan *exec.Job) (all []*findings.Kernel) {
	switch {
	case plan.TakesSamples() && plan.UnpacksOctets():
		all = append(all, &k.octets)
	case plan.TakesSamples():
		all = append(all, &k.samples)
	}
	if plan.MakesPixels() {
		all = append(all, k.makes(plan.Picture()))
	}
	return all
}

// wrongSamples is what is known to be wrong with a kernel that takes samples, "" for nothing. Which of the two a plan has
// is not known before it is made, and where one is wrong the host prepares them for either.
func (k *photoKernels) wrongSamples(p planar.Precision) string {
	return cmp.Or(k.Wrong(&k.samples, p), k.Wrong(&k.octets, p))
}

// wrongPicture is what is known to be wrong with the kernels that make a picture, "" for nothing.
func (k *photoKernels) wrongPicture(pic *fuse.Picture, p planar.Precision) string {
	if pic == nil {
		return ""
	}
	return k.Wrong(k.makes(pic), p)
}

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

// avoids reports whether the plan has kernels that are known to be wrong.
func (c *computation) avoids() bool {
	p := c.plan.Precision()
	return c.plan.TakesSamples() && c.session.kernels.wrongSamples(p) != "" || c.plan.MakesPixels() && c.session.kernels.wrongPicture(c.plan.Picture(), p) != ""
}

// beginChecks begins to check the plan's photo kernels, nil if that was done.
func (c *computation) beginChecks() (*findings.Checks, error) {
	s := c.session
	if c.plan == nil || s.device.choice.Device == nil {
		return nil, nil
	}
	d, opt := s.device.findings(), exec.Options{Precision: c.plan.Precision(), Budget: s.allowed()}
	d.Open = s.device.usableContext
	todo := slices.DeleteFunc(s.kernels.of(c.plan), func(k *findings.Kernel) bool { return s.kernels.Checked(d, k, opt.Precision) })
	if len(todo) == 0 {
		return nil, nil
	}
	if err := s.runner.closeEngine(); err != nil { // its memory counts too
		return nil, err
	}
	return s.kernels.Begin(c.ctx, d, todo, opt, s.stages().Begin("check kernels")), nil
}
