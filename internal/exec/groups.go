package exec

import (
	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/fuse"
)

// This file is about steps whose parameters are on the device in part only: a launch loads
// those of one group of outputs after another, into one place, and makes these outputs.

// fewestOutputs is the size of the smallest groups.
const fewestOutputs = 16

// groupWeights lists the bytes of the parameters of one group of step i's outputs if they
// are divided into 2, 4 and so on groups of an equal size, as long as that makes them smaller.
func (j *Job) groupWeights(i int) []int64 {
	return groupSizes(j.steps[i].conv, &j.Program.Steps[i], j.Program.Steps[i].Dst.C, j.weightBytes(i))
}

// groupSizes are groupWeights of a convolution to outs outputs as step s has it, whose
// parameters take last bytes together.
func groupSizes(impl conv.Impl, s *fuse.Step, outs int, last int64) (sizes []int64) {
	whole, ok := impl.(conv.Grouping)
	if !ok {
		return nil
	}
	for outs%2 == 0 && outs/2 >= fewestOutputs {
		outs /= 2
		c, err := whole.Group(outs)
		if err != nil {
			break
		}
		n := convBytes(c, s, outs)
		if n >= last {
			break
		}
		sizes, last = append(sizes, n), n
	}
	return sizes
}

// divideGroups makes the convolutions of groups that the plan asks for.
func (j *Job) divideGroups() (err error) {
	for i, n := range j.Plan.Groups {
		if n == 0 {
			continue
		}
		of := &j.steps[i]
		if of.conv, err = of.conv.(conv.Grouping).Group(j.Program.Steps[i].Dst.C / n); err != nil {
			return err
		}
		of.groups = n
	}
	return nil
}

// packConv packs the weights, biases and slopes, if there are any, of a convolution, of one
// group after another.
func (of *jobStep) packConv(weights, bias, slopes []float32) [][]float32 {
	var packed [][]float32
	n := max(of.groups, 1)
	for g := range n {
		packed = append(packed, of.conv.Pack(weights[len(weights)/n*g:][:len(weights)/n], bias[len(bias)/n*g:][:len(bias)/n]), slopes[len(slopes)/n*g:][:len(slopes)/n])
	}
	return packed
}

// launchGroups makes the outputs of step i one group after another, with the parameters of
// that group. The queue keeps the order.
func (e *Engine) launchGroups(i int, a *conv.Args) error {
	of, step := &e.resources[i], &e.steps[i]
	outs, size, dst, res := a.Dst.C/step.groups, len(of.streamed)/step.groups, a.Dst, a.Res
	for g := range step.groups {
		ev, err := e.queues.compute.WriteAsync(of.params[0], 0, of.streamed[g*size:(g+1)*size])
		if err != nil {
			return err
		}
		if err := ev.Close(); err != nil {
			return err
		}
		if a.Dst = dst.Slice(g*outs, outs); res.Buf != (*clrt.Buffer)(nil) {
			a.Res = res.Slice(g*outs, outs)
		}
		if err := step.conv.Launch(e.queues.compute, of.kernels, of.params[0], a); err != nil {
			return err
		}
	}
	return nil
}
