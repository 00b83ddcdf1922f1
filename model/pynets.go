package model

import "fmt"

// pynetsWidths are the channels of levels 1 to 4 of the embedded model.
var pynetsWidths = [4]int{24, 40, 64, 96}

func checkPyNETSWidths(widths [4]int) error {
	for level, c := range widths {
		if c < 2 || c > 4096 || c%2 != 0 {
			return fmt.Errorf("pynet-s: width %d of level %d: want an even number of 2..4096", c, level+1)
		}
	}
	return nil
}

// PyNETS builds pynet-s, a smaller network of PyNET's kind: four levels with the
// given channels, no norm, residual blocks, and a result that a pixel shuffle
// makes from the sum of a 3×3 convolution and a 5×5 convolution of the input.
// Input: 4 packed planes with sides that are multiples of 8; output: 3 planes at
// twice the sides. Nodes are named as PyNET names them.
//
// PyNETS panics if a width is odd or outside 2..4096.
func PyNETS(widths [4]int) *Graph {
	if err := checkPyNETSWidths(widths); err != nil {
		panic("model: " + err.Error())
	}
	b := NewBuilder(4)
	var d1 [5]int // the first block of each level, index 1..4
	x := 0
	for level := 1; level <= 4; level++ {
		d1[level] = b.multiBlock(fmt.Sprintf("conv_l%d_d1", level), x, widths[level-1], 3, false)
		if level < 4 {
			x = b.MaxPool(fmt.Sprintf("pool%d", level), d1[level])
		}
	}
	residual := func(name string, x, c, max int) int {
		return b.Add(name+"+", b.multiBlock(name, x, c, max, false), x)
	}
	x = residual("conv_l4_d2", d1[4], widths[3], 3)
	x = residual("conv_l4_d3", x, widths[3], 3)
	for level := 3; level >= 1; level-- {
		c, max, last := widths[level-1], 3, 5
		if level < 3 {
			c, max = c/2, 5 // two branches of half the channels
		}
		if level == 1 {
			last = 6
		}
		up := b.upsampleConv(fmt.Sprintf("conv_t%da", level), x, widths[level-1], false)
		name := fmt.Sprintf("conv_l%d_d3", level)
		x = b.multiBlock(name, b.Concat(name+".cat", d1[level], up), c, max, false)
		for d := 4; d <= last; d++ {
			x = residual(fmt.Sprintf("conv_l%d_d%d", level, d), x, c, max)
		}
	}
	x = b.multiBlock("conv_l1_d7", x, widths[0], 3, false)
	x = b.Add("conv_l1_d7+", x, d1[1])
	x = b.Conv("conv_l1_out", "conv_l1_out", x, 12, 3)
	x = b.Add("conv_l1_out+", x, b.Conv("skip", "skip", 0, 12, 5))
	return b.mustGraph(b.PixelShuffle("output", x))
}
