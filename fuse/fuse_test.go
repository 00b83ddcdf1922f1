package fuse

import (
	"fmt"
	"strings"
	"testing"

	"enhance/model"
)

func TestDumpTmp(t *testing.T) {
	p, err := Fuse(model.PyNETS([4]int{24, 40, 64, 96}), 592, 944)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for i, s := range p.Steps {
		fmt.Fprintf(&b, "%d %s %s k%d src%v dst%v res%v aff%d\n", i, s.Name, s.Kind, s.K, s.Src, s.Dst, s.Res, s.Affine)
	}
	t.Log("\n" + b.String())
}
