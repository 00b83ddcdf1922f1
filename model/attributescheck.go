package model

import (
	"fmt"
	"reflect"
)

// checkAttributes checks the fields that n's operation uses, and that the others are zero.
func (n *Node) checkAttributes() error {
	used := Node{Name: n.Name, Op: n.Op, In: n.In}
	for _, a := range [...]struct {
		name  string
		value float32
	}{{"slope", n.Slope}, {"epsilon", n.Eps}, {"power", n.Power}, {"cubic coefficient", n.Resize.CubicA}, {"step", n.Step}} {
		if !finite(a.value) {
			return fmt.Errorf("%s is not finite", a.name)
		}
	}
	if n.Alpha != n.Alpha || n.Beta != n.Beta {
		return fmt.Errorf("alpha %g, beta %g: want numbers", n.Alpha, n.Beta)
	}
	if err := n.checkUsed(&used); err != nil {
		return err
	}
	if !reflect.DeepEqual(*n, used) {
		return fmt.Errorf("a field that this operation does not use is not zero")
	}
	return nil
}

// checkUsed checks the fields that the operation uses and copies them to used.
func (n *Node) checkUsed(used *Node) error {
	switch n.Op {
	case OpInput:
		used.C = n.C
		return within(n.C, maxChannels, "channels")
	case OpConv:
		return n.checkConv(used)
	case OpQuantConv:
		return n.checkQuantConv(used)
	case OpQuantize, OpDequantize:
		return n.checkQuantize(used)
	case OpLeakyReLU:
		used.Slope = n.Slope
	case OpUpsample:
		used.AlignCorners = n.AlignCorners
	case OpInstanceNorm, OpLayerNorm, OpGroupNorm:
		return n.checkNorm(used)
	case OpMap:
		used.Func, used.Alpha, used.Beta = n.Func, n.Alpha, n.Beta
		if n.Func == FuncNone || n.Func >= funcs {
			return fmt.Errorf("unknown function")
		}
	case OpPReLU:
		used.Weight = n.Weight
		return n.checkWeight()
	case OpAffine:
		used.Weight, used.Bias = n.Weight, n.Bias
		return n.checkParams()
	case OpBinary:
		return n.checkBinary(used)
	case OpSlice:
		used.First, used.C = n.First, n.C
		if n.First < 0 || n.First > maxChannels {
			return fmt.Errorf("first channel %d: want 0..%d", n.First, maxChannels)
		}
		return within(n.C, maxChannels, "channels")
	case OpCrop, OpPad:
		return n.checkEdges(used)
	case OpDepthToSpace, OpSpaceToDepth:
		used.Factor, used.CRD = n.Factor, n.CRD
		return within(n.Factor, maxKernel, "samples a side of a block")
	case OpResize:
		used.Resize = n.Resize
		return n.Resize.check()
	case OpRearrange:
		used.Rearrange = n.Rearrange
		return n.Rearrange.check()
	case OpPool, OpGlobalPool, OpReduceChannels:
		return n.checkReduce(used)
	case OpLRN:
		used.Size, used.Alpha, used.Beta, used.Power = n.Size, n.Alpha, n.Beta, n.Power
		return within(n.Size, maxChannels, "channels")
	}
	return nil
}

func within(v, most int, what string) error {
	if v < 1 || v > most {
		return fmt.Errorf("%d %s: want 1..%d", v, what, most)
	}
	return nil
}

func (n *Node) checkConv(used *Node) error {
	used.C, used.Pad, used.Weight, used.Bias = n.C, n.Pad, n.Weight, n.Bias
	if err := within(n.C, maxChannels, "channels"); err != nil {
		return err
	}
	if n.Pad > PadEdge {
		return fmt.Errorf("unknown padding %d of a convolution", n.Pad)
	}
	if n.K != 0 || n.Window == (Window{}) {
		used.K = n.K
		if n.K < 1 || n.K > maxKernel || n.K%2 == 0 {
			return fmt.Errorf("kernel of %dx%d: want an odd side of 1..%d", n.K, n.K, maxKernel)
		}
		return n.checkParams()
	}
	used.Window, used.Groups = n.Window, n.Groups
	if err := n.Window.check(true); err != nil {
		return err
	}
	if n.Window.Ceil {
		return fmt.Errorf("a convolution has no windows that reach beyond its pads")
	}
	if n.Groups < 1 || n.C%n.Groups != 0 {
		return fmt.Errorf("%d groups do not divide %d channels", n.Groups, n.C)
	}
	return n.checkParams()
}

// kernelShape is the shape of the weight of a convolution of c channels.
func (n *Node) kernelShape(c int) []int {
	if n.K != 0 {
		return []int{n.C, c, n.K, n.K}
	}
	return []int{n.C, c / n.Groups, n.Window.KH, n.Window.KW}
}

// kernelSides gives the rows of a convolution's kernel, and the columns if they are not as many.
func (n *Node) kernelSides() (rows, columns int) {
	switch w := &n.Window; {
	case n.K != 0:
		return n.K, 0
	case w.KH == w.KW:
		return w.KH, 0
	default:
		return w.KH, w.KW
	}
}

func (n *Node) checkNorm(used *Node) error {
	used.Eps, used.Weight, used.Bias = n.Eps, n.Weight, n.Bias
	if n.Eps <= 0 {
		return fmt.Errorf("epsilon %g: want a finite number above 0", n.Eps)
	}
	if n.Op == OpGroupNorm {
		used.Groups = n.Groups
		if err := within(n.Groups, maxChannels, "groups"); err != nil {
			return err
		}
	}
	return n.checkParams()
}

func (n *Node) checkParams() error {
	if n.Weight == "" || n.Bias == "" || n.Weight == n.Bias {
		return fmt.Errorf("weight %q and bias %q: want two different names", n.Weight, n.Bias)
	}
	return nil
}

func (n *Node) checkWeight() error {
	if n.Weight == "" {
		return fmt.Errorf("the weight has no name")
	}
	return nil
}

func (n *Node) checkBinary(used *Node) error {
	used.Binary = n.Binary
	if n.Binary < BinaryAdd || n.Binary >= binaries {
		return fmt.Errorf("unknown function of two samples")
	}
	if len(n.In) == 2 {
		return nil
	}
	used.Weight, used.Swapped = n.Weight, n.Swapped
	return n.checkWeight()
}

func (n *Node) checkEdges(used *Node) error {
	w := &used.Window
	w.Top, w.Left, w.Bottom, w.Right = n.Window.Top, n.Window.Left, n.Window.Bottom, n.Window.Right
	if err := n.Window.check(false); err != nil {
		return err
	}
	if n.Op == OpPad {
		used.Pad = n.Pad
		switch n.Pad {
		case PadConstant:
			used.Alpha = n.Alpha
		case PadReflect, PadEdge:
		default:
			return fmt.Errorf("unknown padding %d", n.Pad)
		}
		return nil
	}
	w.StrideH, w.StrideW = n.Window.StrideH, n.Window.StrideW
	if err := within(w.StrideH, maxPads, "rows a step"); err != nil {
		return err
	}
	return within(w.StrideW, maxPads, "columns a step")
}

func (n *Node) checkReduce(used *Node) error {
	used.Reduce = n.Reduce
	most := ReduceMin
	if n.Op == OpPool {
		used.Window, most = n.Window, ReduceLP
		if err := n.Window.check(true); err != nil {
			return err
		}
	}
	if n.Reduce < ReduceMax || n.Reduce > most || n.Op != OpPool && n.Reduce == ReduceMeanPadded {
		return fmt.Errorf("unknown reduction")
	}
	if n.Reduce == ReduceLP {
		used.Power = n.Power
		if n.Power <= 0 {
			return fmt.Errorf("power %g: want more than 0", n.Power)
		}
	}
	return nil
}
