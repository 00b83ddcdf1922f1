package papers

import (
	"fmt"
	"slices"
	"strings"

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
}

// Shape is the case as package conv has it.
func (c Case) Shape() conv.Shape {
	return conv.Shape{K: c.K, SrcC: []int{c.C}, OutC: c.OutC, H: c.H, W: c.W}
}

// FLOPs is the work of rows rows of the output.
func (c Case) FLOPs(rows int) int64 {
	return 2 * int64(c.K*c.K) * int64(c.C) * int64(c.OutC) * int64(rows) * int64(c.W)
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

func (c Case) String() string { return fmt.Sprintf("%d,%d,%d,%d,%d", c.C, c.H, c.W, c.K, c.OutC) }

// SuiteNames lists the suites of convolutions.
var SuiteNames = []string{"snu", "ui", "polito"}

// Suite returns a suite by name.
func Suite(name string) ([]Case, error) {
	switch name {
	case "snu":
		return snu(), nil
	case "ui":
		return ui(), nil
	case "polito":
		return polito(), nil
	}
	return nil, fmt.Errorf("suite %q is not known: want %s", name, strings.Join(SuiteNames, ", "))
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
		cs = append(cs, Case{fmt.Sprint(i), v[0], v[1], v[2], v[3], v[4]})
	}
	return cs
}

// ui has two series of 5×5 convolutions: 4 channels to 4 on square planes of 32
// to 512, where the work is small and the planes are large; and planes of 16×16
// with 64 to 1024 channels to as many, where it is the other way round.
func ui() []Case {
	var cs []Case
	for n := 32; n <= 512; n *= 2 {
		cs = append(cs, Case{fmt.Sprintf("plane %d", n), 4, n, n, 5, 4})
	}
	for c := 64; c <= 1024; c *= 2 {
		cs = append(cs, Case{fmt.Sprintf("C %d", c), c, 16, 16, 5, c})
	}
	return cs
}

// politoSides are the 16 colour pictures, rows and columns.
var politoSides = [...][2]int{
	{32, 32}, {48, 64}, {96, 96}, {96, 128}, {120, 160}, {224, 224}, {240, 320}, {256, 256},
	{300, 400}, {384, 512}, {480, 640}, {600, 800}, {768, 1024}, {960, 1280}, {1080, 1440}, {1200, 1600},
}

// polito has 16 pictures of 3 channels from 32×32 to 1600×1200, each filtered as
// the first layer of a network is (3×3, 3→32) and as a picture is (9×9, 3→3).
func polito() []Case {
	var cs []Case
	for _, s := range politoSides {
		cs = append(cs, Case{fmt.Sprintf("%dx%d k3", s[1], s[0]), 3, s[0], s[1], 3, 32})
	}
	for _, s := range politoSides {
		cs = append(cs, Case{fmt.Sprintf("%dx%d k9", s[1], s[0]), 3, s[0], s[1], 9, 3})
	}
	return cs
}

// GEMMCase is a product of an M×K and a K×N matrix.
type GEMMCase struct {
	M int `json:"m"`
	N int `json:"n"`
	K int `json:"k"`
}

// FLOPs is the work of the product.
func (c GEMMCase) FLOPs() int64 { return 2 * int64(c.M) * int64(c.N) * int64(c.K) }

func (c GEMMCase) String() string {
	if c.M == c.N && c.N == c.K {
		return fmt.Sprint(c.M)
	}
	return fmt.Sprintf("%dx%dx%d", c.M, c.N, c.K)
}

// Edinburgh has square products with sides 96 to 2880, divided by scale and
// rounded up.
func Edinburgh(scale int) []GEMMCase {
	var cs []GEMMCase
	for _, n := range []int{96, 192, 288, 384, 480, 576, 768, 960, 1152, 1440, 1920, 2400, 2880} {
		n = (n + scale - 1) / scale
		cs = append(cs, GEMMCase{n, n, n})
	}
	return slices.Compact(cs)
}
