package tune

import (
	"fmt"
	"strings"

	"enhance/conv"
)

// shapeOnly is a shape without its methods, so that printing it shows every field.
type shapeOnly conv.Shape

// Key names what a choice holds for: the precision (a conv.Arithmetic's text), the size class of the plane
// and everything about the shape but the plane's sides. Planes are of one class
// if their areas lie between the same powers of four, as those of a network's
// level for photos of much the same size do: what is fastest depends on the plane
// through little but whether there is enough work to fill the device.
func Key(s conv.Shape, precision string) string {
	class := 0
	for area := s.H * s.W; area >= 4; area /= 4 {
		class++
	}
	b := shapeOnly(s)
	b.H, b.W, b.Window = 0, 0, nil
	text := strings.NewReplacer(" H:0 W:0", "", " Window:<nil>", "", " NoResidual:false", "", " Codes:false Store:false", "",
		" Octets:false OctetsOut:false", "", " Pairs:false PairsOut:false Split:false", "").Replace(fmt.Sprintf("%+v", b))
	if s.Window != nil {
		text += fmt.Sprintf(" %+v", *s.Window)
	}
	return fmt.Sprintf("%s 4^%d %s", precision, class, text)
}
