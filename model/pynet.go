package model

import "fmt"

const (
	pynetSlope = 0.2  // of every LeakyReLU, in both architectures
	pynetEps   = 1e-5 // of every instance norm
)

// PyNETEnd is how PyNET makes level 0, the picture, of level 1's channels.
type PyNETEnd uint8

const (
	// EndBilinear is the published one: bilinear enlargement with aligned
	// corners, two convolutions and a sigmoid.
	EndBilinear PyNETEnd = iota
	// EndShuffle is a convolution to 12 channels at the packed sides, the sum with
	// a 5×5 convolution of the input, and a pixel shuffle. All of the network's convolutions
	// are then padded with zeros, as in training. docs/pynet.md says why.
	EndShuffle
)

var pynetEndNames = []string{"bilinear", "shuffle"}

func (e PyNETEnd) String() string { return nameOf("end", pynetEndNames, uint8(e)) }

// PyNETOptions chooses a member of the PyNET family.
type PyNETOptions struct {
	// Level is the level whose output is the result: 0 has twice the packed
	// sides, n has 2^(1-n) times them. 0..5.
	Level int
	// Width is the channels of level 1, doubling with every level; even, at
	// most 1024. 0 means the published 32.
	Width int
	// Planes is the planes of the input: four of samples, and as many of their
	// noise in networks trained for that. 4 or 8; 0 means 4.
	Planes int
	// InstanceNorm normalises in levels 2 to 5, InstanceNormLevel1 in level 1.
	// The published networks have both.
	InstanceNorm, InstanceNormLevel1 bool
	// SideOutputs adds the outputs of the levels above Level, which training
	// needs and published state dicts hold. They do not change the result.
	SideOutputs bool
	// End is how level 0 is made. EndShuffle has no other levels' outputs.
	End PyNETEnd
}

// Validate reports an option that is out of range.
func (o PyNETOptions) Validate() error {
	if o.Level < 0 || o.Level > 5 {
		return fmt.Errorf("pynet: level %d: want 0..5", o.Level)
	}
	if o.Width < 0 || o.Width > 1024 || o.Width%2 != 0 {
		return fmt.Errorf("pynet: width %d: want an even number of 2..1024 (0: 32)", o.Width)
	}
	if int(o.End) >= len(pynetEndNames) {
		return fmt.Errorf("pynet: unknown end %d", o.End)
	}
	if o.End == EndShuffle && (o.Level != 0 || o.SideOutputs) {
		return fmt.Errorf("pynet: level %d, end %s: this end makes level 0 alone", o.Level, o.End)
	}
	if o.Planes != 0 && o.Planes != 4 && o.Planes != 8 {
		return fmt.Errorf("pynet: %d input planes: want 4 of samples, or 8 with their noise", o.Planes)
	}
	return nil
}

// PyNET builds the network of "Replacing Mobile Camera ISP with a Single Deep
// Learning Model" (Ignatov, Van Gool, Timofte, arXiv 2002.05509) in the form
// whose weights are published for PyTorch, down to the nodes its level's output
// needs. Input: packed planes with sides that are multiples of 16. A module's
// value is the node of the module's name; what happens inside a convolution
// layer before its last step has the suffixes .conv2d and .instance, a sum with
// a residual the suffix +, and a concatenation the name of its reader and .cat.
//
// PyNET panics if the options are not valid; see PyNETOptions.Validate.
func PyNET(o PyNETOptions) *Graph {
	if err := o.Validate(); err != nil {
		panic("model: " + err.Error())
	}
	if o.Width == 0 {
		o.Width = 32
	}
	if o.Planes == 0 {
		o.Planes = 4
	}
	p := &pynet{Builder: NewBuilder(o.Planes), o: o}
	if o.End == EndShuffle {
		p.Pad = PadZero
	}
	return p.mustGraph(p.build())
}

// pynet carries the options and the values that later levels read.
type pynet struct {
	*Builder
	o PyNETOptions
	// d1 is the first block of each level, index 1..4.
	d1 [5]int
}

// width is the channels of one branch at a level, 1..5.
func (p *pynet) width(level int) int { return p.o.Width << (level - 1) }

// norm says whether a level's blocks normalise.
func (p *pynet) norm(level int) bool {
	if level == 1 {
		return p.o.InstanceNormLevel1
	}
	return p.o.InstanceNorm
}

func (p *pynet) build() (out int) {
	x := 0
	for level := 1; level <= 4; level++ {
		p.d1[level] = p.block(level, 1, x, 3, level != 1 && p.norm(level))
		x = p.MaxPool(fmt.Sprintf("pool%d", level), p.d1[level])
	}
	levels := [6]func(a, b int) int{1: p.level1, 2: p.level2, 3: p.level3, 4: p.level4}
	a, b := p.level5(x), -1
	for level := 5; ; level-- {
		if level == p.o.Level || p.o.SideOutputs {
			out = p.output(level, a)
		}
		if level == p.o.Level {
			return out
		}
		if level == 1 {
			return p.level0(a)
		}
		features := a
		a = p.up(fmt.Sprintf("conv_t%da", level-1), features, p.width(level-1))
		b = p.up(fmt.Sprintf("conv_t%db", level-1), features, p.width(level-1))
		a = levels[level-1](a, b)
	}
}

func (p *pynet) level5(x int) int {
	for d := 1; d <= 4; d++ {
		x = p.block(5, d, x, 3, p.norm(5))
	}
	return x
}

func (p *pynet) level4(t4a, t4b int) int {
	x := p.block(4, 3, p.cat("conv_l4_d3", p.d1[4], t4a), 3, p.norm(4))
	x = p.residual(4, 4, x, 3)
	x = p.residual(4, 5, x, 3)
	x = p.block(4, 6, x, 3, p.norm(4))
	return p.block(4, 8, p.cat("conv_l4_d8", x, t4b), 3, p.norm(4))
}

func (p *pynet) level3(t3a, t3b int) int {
	x := p.residual(3, 3, p.cat("conv_l3_d3", p.d1[3], t3a), 5)
	x = p.residual(3, 4, x, 5)
	x = p.residual(3, 5, x, 5)
	x = p.block(3, 6, x, 5, p.norm(3))
	return p.block(3, 8, p.cat("conv_l3_d8", x, p.d1[3], t3b), 3, p.norm(3))
}

func (p *pynet) level2(t2a, t2b int) int {
	x := p.block(2, 3, p.cat("conv_l2_d3", p.d1[2], t2a), 5, p.norm(2))
	x = p.residual(2, 5, p.cat("conv_l2_d5", x, p.d1[2]), 7)
	x = p.residual(2, 6, x, 7)
	x = p.residual(2, 7, x, 7)
	x = p.block(2, 8, x, 7, p.norm(2))
	x = p.block(2, 10, p.cat("conv_l2_d10", x, p.d1[2]), 5, p.norm(2))
	return p.block(2, 12, p.cat("conv_l2_d12", x, t2b), 3, p.norm(2))
}

func (p *pynet) level1(t1a, t1b int) int {
	x := p.block(1, 3, p.cat("conv_l1_d3", p.d1[1], t1a), 5, false)
	x = p.block(1, 5, p.cat("conv_l1_d5", x, p.d1[1]), 7, p.norm(1))
	x = p.block(1, 6, x, 9, p.norm(1))
	x = p.residual(1, 7, x, 9)
	x = p.residual(1, 8, x, 9)
	x = p.residual(1, 9, x, 9)
	x = p.block(1, 10, x, 7, p.norm(1))
	x = p.block(1, 12, p.cat("conv_l1_d12", x, p.d1[1]), 5, p.norm(1))
	return p.block(1, 14, p.cat("conv_l1_d14", x, t1b, p.d1[1]), 3, false)
}

func (p *pynet) level0(x int) int {
	if p.o.End == EndShuffle {
		x = p.Conv("conv_l0_d1", "conv_l0_d1.conv2d", x, 12, 3)
		x = p.Add("conv_l0_d1+", x, p.Conv("skip", "skip", 0, 12, 5))
		return p.PixelShuffle("output_l0", x)
	}
	x = p.up("conv_t0", x, p.o.Width/2)
	x = p.Conv("conv_l0_d1", "conv_l0_d1.conv2d", x, 3, 3)
	return p.Sigmoid("output_l0", x)
}

func (p *pynet) output(level, x int) int {
	name := fmt.Sprintf("conv_l%d_out", level)
	x = p.Conv(name, name+".conv2d", x, 3, 3)
	return p.Sigmoid(fmt.Sprintf("output_l%d", level), x)
}

// block is the parallel pairs of convolutions of the sides 3, 5, ... up to
// max, joined on channels in that order.
func (p *pynet) block(level, d, x, max int, norm bool) int {
	name := fmt.Sprintf("conv_l%d_d%d", level, d)
	return p.multiBlock(name, x, p.width(level), max, norm)
}

// residual is a block with its input added to its output.
func (p *pynet) residual(level, d, x, max int) int {
	y := p.block(level, d, x, max, p.norm(level))
	return p.Add(fmt.Sprintf("conv_l%d_d%d+", level, d), y, x)
}

func (p *pynet) cat(reader string, in ...int) int { return p.Concat(reader+".cat", in...) }

func (p *pynet) up(name string, x, c int) int { return p.upsampleConv(name, x, c, true) }

// multiBlock is, for each k of 3, 5, ... max, two convolution layers of k×k to
// c channels; the branches are joined in that order. A single branch needs no
// joining: its last activation then has the block's name.
func (b *Builder) multiBlock(name string, x, c, max int, norm bool) int {
	var branches []int
	for k := 3; k <= max; k += 2 {
		first := fmt.Sprintf("%s.conv_%da", name, k)
		second := fmt.Sprintf("%s.conv_%db", name, k)
		y := b.convLayer(first, first, x, c, k, norm)
		value := second
		if max == 3 {
			value = name
		}
		branches = append(branches, b.convLayer(value, second, y, c, k, norm))
	}
	if len(branches) == 1 {
		return branches[0]
	}
	return b.Concat(name, branches...)
}

// convLayer is a convolution, an instance norm if asked for, and a LeakyReLU;
// value names the result, module the steps before it and the parameters.
func (b *Builder) convLayer(value, module string, x, c, k int, norm bool) int {
	x = b.Conv(module+".conv2d", module+".conv2d", x, c, k)
	if norm {
		x = b.InstanceNorm(module+".instance", module+".instance", x, pynetEps)
	}
	return b.LeakyReLU(value, x, pynetSlope)
}

// upsampleConv is an enlargement by two and a 3×3 convolution layer without norm.
func (b *Builder) upsampleConv(name string, x, c int, alignCorners bool) int {
	x = b.Upsample(name+".upsample", x, alignCorners)
	return b.convLayer(name, name, x, c, 3, false)
}
