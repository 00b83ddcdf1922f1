package papers

import (
	"fmt"
	"slices"
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
