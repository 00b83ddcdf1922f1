package findings

import (
	"context"
	"errors"

	"enhance/clrt"
	"enhance/internal/exec"
	"enhance/model"
	"enhance/raw/mosaic"
)

// The patch's sides in packed samples: narrow, as a plan's least memory grows with the
// width, so that a budget for a photo is enough for it.
const patchH, patchW = 384, 128

// PatchJob is the job of a network on the patch. The patch is the same for all photos, devices
// and budgets, so that what is found with it is a fact of the device and the network.
func PatchJob(m *model.Model, info *clrt.DeviceInfo, opt exec.Options) (*exec.Job, error) {
	h, w := m.Convention.PaddedSides(patchH, patchW)
	opt.Profiler, opt.Samples, opt.Picture = nil, false, nil
	return exec.Prepare(m, h, w, info, opt)
}

// RunPatch runs the job of a network on the patch.
func RunPatch(ctx context.Context, cl *clrt.Context, job *exec.Job) (out []float32, err error) {
	e, err := job.Open(cl)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	m := e.Model
	h, w := m.Convention.PaddedSides(patchH, patchW)
	shape, planes := job.Program.Tensors[job.Program.Output].Shape, m.Graph.Nodes[0].C
	patch := &exec.Planes{Shape: model.Shape{C: planes, H: h, W: w}, Data: patchSamples(m.Convention.Samples, planes, h, w)}
	t := &exec.Planes{Shape: shape, Data: make([]float32, shape.Elems())}
	return t.Data, e.Run(ctx, exec.PlanesSource{Planes: patch}, exec.PlanesSink{Planes: t}, nil)
}

// patchSamples is a scene of planes in 0..1: a ramp from black to white with
// blocks, thin lines and noise on it; planes after the fourth are those of a
// network that is told how much noise there is.
func patchSamples(kind model.Samples, c, h, w int) []float32 {
	if kind == model.SamplesMasked {
		return maskedPatch(c, h, w)
	}
	return patchOf(c, h, w, [4]float32{0.9, 1, 0.6, 1})
}

// maskedPatch is the scene behind X-Trans filters, for masked planes.
func maskedPatch(c, h, w int) []float32 {
	v := make([]float32, 0, c*h*w)
	for k := range c {
		plane := patchOf(1, h, w, [4]float32{[3]float32{0.9, 1, 0.6}[k/4%3]})
		for i := range plane {
			there := int(mosaic.XTrans.At(2*(i/w)+k/2%2, 2*(i%w)+k%2)) == k/4%3
			switch {
			case k >= 3*4 && there:
				plane[i] = 0.02
			case k >= 3*4:
				plane[i] = model.NoNoise
			case !there:
				plane[i] = 0
			}
		}
		v = append(v, plane...)
	}
	return v
}

// patchOf is the scene with gains of its first four planes.
func patchOf(c, h, w int, gains [4]float32) []float32 {
	noise := model.FormulaTensor("self-check", "noise", c*h*w)
	v := make([]float32, c*h*w)
	for i := range v {
		ch, y, x := i/(h*w), i/w%h, i%w
		if ch >= len(gains) {
			v[i] = 0.02
			continue
		}
		light := float32(x+y) / float32(h+w)
		light *= light
		if (x/24+y/24)%2 == 0 {
			light = 0.8*light + 0.05*float32((x/24*7+y/24*3)%5)
		}
		if (x+2*y)%29 == 0 {
			light = 1 - light
		}
		v[i] = min(max(gains[ch]*light+0.03*(noise[i]-0.5), 0), 1)
	}
	return v
}
