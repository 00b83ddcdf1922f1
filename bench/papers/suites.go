package papers

import (
	"fmt"
	"slices"
	"strings"

	"enhance/bench/im2col"
	"enhance/conv"
)

// Case is one convolution: K×K, C channels to OutC, on planes of H×W, stride 1,
// the output as large as the input.
type Case struct {
	Name string `json:"name"`
	C    int    `json:"c"`
	H    int    `json:"h"`
	W    int    `json:"w"`
	K    int    `json:"k"`
	OutC int    `json:"out_c"`
	// Batch is a number of pictures, done one after another with the same weights;
	// 0 is one.
	Batch int `json:"batch,omitempty"`
}

// Shape is the case as package conv has it.
func (c Case) Shape() conv.Shape {
	return conv.Shape{K: c.K, SrcC: []int{c.C}, OutC: c.OutC, H: c.H, W: c.W}
}

// pictures is how many there are.
func (c Case) pictures() int { return max(c.Batch, 1) }

// FLOPs is the work of rows rows of the output of every picture.
func (c Case) FLOPs(rows int) int64 {
	return 2 * int64(c.K*c.K) * int64(c.C) * int64(c.OutC) * int64(rows) * int64(c.W) * int64(c.pictures())
}

// leastSide is what Scaled leaves of a plane's side.
const leastSide = 16

// Scaled divides the sides of the plane by n, rounding up, but makes none
// smaller than 16 if it was not.
func (c Case) Scaled(n int) Case {
	scale := func(side int) int { return max((side+n-1)/n, min(side, leastSide)) }
	c.H, c.W = scale(c.H), scale(c.W)
	return c
}

func (c Case) String() string {
	s := fmt.Sprintf("%d,%d,%d,%d,%d", c.C, c.H, c.W, c.K, c.OutC)
	if c.Batch > 0 {
		s += fmt.Sprintf(" x%d", c.Batch)
	}
	return s
}

// Suite is the convolutions of a paper's experiment.
type Suite struct {
	Name      string
	Cases     []Case
	Ways      []Way // besides the algorithms; all there are if Splits is set
	Splits    bool  // only Ways, and each must hold a whole plane
	Transfers bool  // the way to the device and back is timed too
	Repeat    int   // runs as in the paper, 0 where it does not say
	Columns   []Column
	// Baselines are what averages compare with, given the device's direct algorithm.
	Baselines func(direct string) []string
}

// SuiteNames lists the suites of convolutions.
var SuiteNames = []string{"snu", "snu-split", "ui", "polito"}

// FindSuite returns a suite by name.
func FindSuite(name string) (*Suite, error) {
	switch name {
	case "snu":
		return &Suite{Name: name, Cases: snu(), Baselines: func(direct string) []string {
			return []string{conv.Simple{}.Name(), direct, conv.ImplicitGEMM{}.Name()}
		}}, nil
	case "snu-split":
		return &Suite{Name: name, Cases: snuSplit(), Ways: splits(), Splits: true, Columns: splitColumns(),
			Baselines: func(string) []string { return []string{baseName} }}, nil
	case "ui":
		return &Suite{Name: name, Cases: ui(), Ways: []Way{HostLoops, HostGEMM, HostIm2col}, Transfers: true, Repeat: 10,
			Columns: uiColumns(), Baselines: onHost}, nil
	case "polito":
		return &Suite{Name: name, Cases: polito(), Ways: []Way{HostGEMM, HostIm2col}, Columns: politoColumns(), Baselines: onHost}, nil
	}
	return nil, fmt.Errorf("suite %q is not known: want %s", name, strings.Join(SuiteNames, ", "))
}

func onHost(direct string) []string {
	return []string{direct, im2col.Device{}.Name(), HostIm2col.Name(), HostGEMM.Name()}
}

// snuTable are the 35 distinct convolutions of PyNET on a 12 MP photo: input
// channels, rows, columns, side of the kernel, output channels.
var snuTable = [...][5]int{
	{4, 1440, 1984, 3, 32}, {32, 1440, 1984, 3, 32}, {32, 720, 992, 3, 64}, {64, 720, 992, 3, 64}, {64, 360, 496, 3, 128},
	{128, 360, 496, 3, 128}, {128, 180, 248, 3, 256}, {256, 180, 248, 3, 256}, {256, 90, 124, 3, 512}, {512, 90, 124, 3, 512},
	{512, 180, 248, 3, 256}, {512, 90, 124, 3, 3}, {256, 360, 496, 3, 128}, {256, 180, 248, 3, 3}, {256, 360, 496, 5, 128},
	{128, 360, 496, 5, 128}, {512, 360, 496, 3, 128}, {128, 720, 992, 3, 64}, {128, 360, 496, 3, 3}, {128, 720, 992, 5, 64},
	{64, 720, 992, 5, 64}, {192, 720, 992, 3, 64}, {192, 720, 992, 5, 64}, {192, 720, 992, 7, 64}, {64, 720, 992, 7, 64},
	{256, 720, 992, 3, 64}, {256, 720, 992, 5, 64}, {64, 1440, 1984, 3, 32}, {64, 720, 992, 3, 3}, {32, 1440, 1984, 5, 32},
	{32, 1440, 1984, 7, 32}, {32, 1440, 1984, 9, 32}, {16, 2880, 3968, 3, 16}, {32, 1440, 1984, 3, 3}, {16, 2880, 3968, 3, 3},
}

func snu() []Case {
	var cs []Case
	for i, v := range snuTable {
		cs = append(cs, Case{fmt.Sprint(i), v[0], v[1], v[2], v[3], v[4], 0})
	}
	return cs
}

// snuSplit are the layers of the paper's figure 7-3, its 5×5 ones, which its
// Winograd needs most memory for.
func snuSplit() []Case {
	return slices.DeleteFunc(snu(), func(c Case) bool { return c.K != 5 })
}

// ui has the paper's three series of 5×5 convolutions to few outputs: 4 channels on
// square planes of 32 to 512; planes of 16×16 with 64 to 1024 channels; batches of 8 to
// 128 pictures of 16×16 to as many outputs. The last case has the work of plane 512 in
// a batch: as many work-items, divided otherwise.
func ui() []Case {
	var cs []Case
	for n := 32; n <= 512; n *= 2 {
		cs = append(cs, Case{fmt.Sprintf("plane %d", n), 4, n, n, 5, 4, 0})
	}
	for c := 64; c <= 1024; c *= 2 {
		cs = append(cs, Case{fmt.Sprintf("C %d", c), c, 16, 16, 5, 4, 0})
	}
	for n := 8; n <= 128; n *= 2 {
		cs = append(cs, Case{fmt.Sprintf("batch %d", n), 4, 16, 16, 5, n, n})
	}
	return append(cs, Case{"as plane 512", 4, 16, 16, 5, 128, 32})
}

// politoSides are the rows and columns of the paper's pictures.
var politoSides = [...][2]int{{32, 32}, {224, 224}, {480, 640}, {600, 800}, {1024, 1280}, {1200, 1600}}

// polito has the paper's pictures, 3 channels to 16. It does not say how large its
// kernels are: 3×3 here.
func polito() []Case {
	var cs []Case
	for _, s := range politoSides {
		cs = append(cs, Case{fmt.Sprintf("%dx%d", s[1], s[0]), 3, s[0], s[1], 3, 16, 0})
	}
	return cs
}
