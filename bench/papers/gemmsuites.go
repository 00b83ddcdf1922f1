package papers

import (
	"fmt"
	"slices"
	"strings"
)

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

// GEMMSuite is the matrix products of a paper.
type GEMMSuite struct {
	Name      string
	Cases     []GEMMCase
	Transfers bool // the way to the device and back is timed too
	Repeat    int  // runs as in the paper, 0 where it does not say
}

// GEMMSuiteNames lists the suites of products.
var GEMMSuiteNames = []string{"edinburgh", "ui"}

// FindGEMMSuite returns a suite by name, its sides divided by scale and rounded up.
// edinburgh has square products with sides 96 to 2880, ui with sides 64 to 1024.
func FindGEMMSuite(name string, scale int) (*GEMMSuite, error) {
	s := &GEMMSuite{Name: name, Repeat: 10}
	var sides []int
	switch name {
	case "edinburgh":
		sides = []int{96, 192, 288, 384, 480, 576, 768, 960, 1152, 1440, 1920, 2400, 2880}
	case "ui":
		sides, s.Transfers = []int{64, 128, 256, 512, 1024}, true
	default:
		return nil, fmt.Errorf("suite %q is not known: want %s", name, strings.Join(GEMMSuiteNames, ", "))
	}
	for _, n := range sides {
		n = (n + scale - 1) / scale
		s.Cases = append(s.Cases, GEMMCase{n, n, n})
	}
	s.Cases = slices.Compact(s.Cases)
	return s, nil
}
