package onnximport

import (
	"math"
	"slices"

	"enhance/model"
)

var coordinates = map[string]model.Coordinates{"half_pixel": model.CoordHalfPixel, "pytorch_half_pixel": model.CoordPytorchHalfPixel,
	"align_corners": model.CoordAlignCorners, "asymmetric": model.CoordAsymmetric, "half_pixel_symmetric": model.CoordHalfPixelSymmetric,
	"tf_crop_and_resize": model.CoordCrop}

var roundings = map[string]model.Rounding{"round_prefer_floor": model.RoundPreferFloor, "round_prefer_ceil": model.RoundPreferCeil,
	"floor": model.RoundFloor, "ceil": model.RoundCeil}

func (c *call) resize() error {
	v, err := c.plane(0)
	if err != nil {
		return err
	}
	r := model.Resize{NumH: 1, DenH: 1, NumW: 1, DenW: 1}
	if err := c.resizeMode(&r); err != nil {
		return err
	}
	scales, sizes, err := c.resizeTo(v, &r)
	if err != nil {
		return err
	}
	var changed []int
	for d := range v.dims {
		if scales != nil && scales[d] != 1 || sizes != nil && sizes[d] != v.dims[d] {
			changed = append(changed, d)
		}
	}
	if v, err = c.spatial(v, changed); err != nil {
		return err
	}
	if r.Coordinates == model.CoordCrop {
		if sizes == nil {
			return refuse("it takes factors, and not sizes, of a region of interest")
		}
		if err := c.region(v, &r); err != nil {
			return err
		}
	}
	for a, n := range v.dims {
		k := slices.Index(v.axes[:], a)
		num, den, err := ratio(n, at0(scales, a), at0(sizes, a), r.Round)
		if err != nil {
			return err
		}
		if sizes != nil && k != axisC && k >= 0 {
			c.readsSize()
		}
		switch {
		case k == axisH:
			r.NumH, r.DenH = num, den
		case k == axisW:
			r.NumW, r.DenW = num, den
		case num != den:
			return refuse("it resizes dimension %d of %v, which is neither rows nor columns", a, v.dims)
		}
	}
	if r.NumH == r.DenH && r.NumW == r.DenW && r.Coordinates != model.CoordCrop {
		return c.set(0, v)
	}
	return c.result(c.emit(resizeNode(r, v.node), "", v))
}

// resizeNode is OpUpsample where that does the same.
func resizeNode(r model.Resize, in int) model.Node {
	if r.Mode == model.ResizeLinear && !r.Round && !r.Antialias && r.NumH == 2*r.DenH && r.NumW == 2*r.DenW {
		switch r.Coordinates {
		case model.CoordHalfPixel, model.CoordPytorchHalfPixel, model.CoordHalfPixelSymmetric:
			return model.Node{Op: model.OpUpsample, In: []int{in}}
		case model.CoordAlignCorners:
			return model.Node{Op: model.OpUpsample, In: []int{in}, AlignCorners: true}
		}
	}
	return model.Node{Op: model.OpResize, Resize: r, In: []int{in}}
}

func at0[T any](list []T, i int) *T {
	if list == nil {
		return nil
	}
	return &list[i]
}

func (c *call) resizeMode(r *model.Resize) error {
	old := c.n.Op == "Upsample" || c.opset < 11
	coordinate, rounding := "half_pixel", "round_prefer_floor"
	if old {
		coordinate, rounding = "asymmetric", "floor"
	}
	switch mode := c.string("mode", "nearest"); mode {
	case "nearest":
		r.Mode = model.ResizeNearest
	case "linear", "bilinear":
		r.Mode = model.ResizeLinear
	case "cubic":
		r.Mode = model.ResizeCubic
	default:
		return refuse("its mode is %q", mode)
	}
	coordinate, rounding = c.string("coordinate_transformation_mode", coordinate), c.string("nearest_mode", rounding)
	var known bool
	if r.Coordinates, known = coordinates[coordinate]; !known {
		return refuse("its coordinate_transformation_mode is %q", coordinate)
	}
	to, known := roundings[rounding]
	if !known {
		return refuse("its nearest_mode is %q", rounding)
	}
	cubic, exclude := c.float("cubic_coeff_a", -0.75), c.int("exclude_outside", 0) != 0
	switch r.Mode {
	case model.ResizeNearest:
		r.Rounding = to
	case model.ResizeCubic:
		r.CubicA, r.ExcludeOutside = cubic, exclude
	}
	if outside := c.float("extrapolation_value", 0); r.Coordinates == model.CoordCrop {
		r.Outside = outside
	}
	r.Antialias = c.int("antialias", 0) != 0 && r.Mode != model.ResizeNearest
	if r.Antialias && r.Coordinates == model.CoordCrop {
		return refuse("it smooths (antialias) a region of interest, which is not run")
	}
	return nil
}

// resizeTo gives a factor or a size for each dimension of v; one of the two lists is nil.
func (c *call) resizeTo(v *value, r *model.Resize) (scales []float64, sizes []int64, err error) {
	at := 2
	if c.n.Op == "Upsample" || c.opset < 11 {
		at = 1
	}
	given := c.resizedAxes(v)
	k, err := c.constant(at)
	if err != nil {
		return nil, nil, err
	}
	if c.n.Op == "Upsample" && c.opset < 9 {
		k = &constant{Real: true}
		if a := c.attr("scales", 6); a != nil {
			k.Floats = a.Floats
		}
	}
	if k != nil && k.Len() > 0 {
		if !k.Real || k.Len() != len(given) {
			return nil, nil, refuse("%d factors for %d dimensions", k.Len(), len(given))
		}
		scales = make([]float64, len(v.dims))
		for i := range scales {
			scales[i] = 1
		}
		for i, a := range given {
			d, err := axis(a, len(v.dims))
			if err != nil {
				return nil, nil, err
			}
			scales[d] = k.float(i)
		}
		return scales, nil, nil
	}
	list, err := c.list("", 3)
	if err != nil {
		return nil, nil, err
	}
	if len(list) != len(given) {
		return nil, nil, refuse("%d sizes for %d dimensions", len(list), len(given))
	}
	sizes = slices.Clone(v.dims)
	resized := make([]int, len(given))
	for i, a := range given {
		d, err := axis(a, len(v.dims))
		if err != nil {
			return nil, nil, err
		}
		sizes[d], resized[i] = list[i], d
	}
	return c.keepRatio(v, sizes, resized, r)
}

// resizedAxes are the dimensions that factors, sizes and regions are of.
func (c *call) resizedAxes(v *value) []int64 {
	if list := c.ints("axes"); list != nil {
		return list
	}
	var all []int64
	for i := range v.dims {
		all = append(all, int64(i))
	}
	return all
}

// region reads the region of interest: where it starts along each dimension, then where it ends.
func (c *call) region(v *value, r *model.Resize) error {
	k, err := c.weight(1, 1)
	if err != nil {
		return err
	}
	given := c.resizedAxes(v)
	if k == nil || k.Len() != 2*len(given) {
		return refuse("its region of interest has not two numbers for each of %d dimensions", len(given))
	}
	r.Crop = [4]float32{0, 1, 0, 1}
	for i, a := range given {
		d, err := axis(a, len(v.dims))
		if err != nil {
			return err
		}
		start, end := k.Floats[i], k.Floats[len(given)+i]
		switch d {
		case v.axes[axisH]:
			r.Crop[0], r.Crop[1] = start, end
		case v.axes[axisW]:
			r.Crop[2], r.Crop[3] = start, end
		default:
			if start != 0 || end != 1 {
				return refuse("its region of interest is of dimension %d of %v, which is neither rows nor columns", d, v.dims)
			}
		}
	}
	return nil
}

// keepRatio gives one factor for all dimensions that are resized, where the file asks for that, in
// place of their sizes.
func (c *call) keepRatio(v *value, sizes []int64, resized []int, r *model.Resize) ([]float64, []int64, error) {
	policy := c.string("keep_aspect_ratio_policy", "stretch")
	if policy == "stretch" {
		return nil, sizes, nil
	}
	if policy != "not_larger" && policy != "not_smaller" || len(resized) == 0 {
		return nil, nil, refuse("its keep_aspect_ratio_policy is %q", policy)
	}
	c.readsSize()
	scales, one := make([]float64, len(sizes)), 0.0
	for i, d := range resized {
		s := float64(sizes[d]) / float64(v.dims[d])
		if i == 0 || policy == "not_larger" && s < one || policy == "not_smaller" && s > one {
			one = s
		}
	}
	for d := range scales {
		scales[d] = 1
	}
	for _, d := range resized {
		n := one * float64(v.dims[d])
		scales[d] = one
		r.Round = r.Round || math.Floor(n+0.5) != math.Floor(n+1e-6)
	}
	return scales, nil, nil
}

// ratio is a factor as a fraction of small terms: that of the size that is asked for, or the nearest one to a
// float32, whose last digits are rounding.
func ratio(n int64, scale *float64, size *int64, round bool) (num, den int, err error) {
	const most = 1 << 20
	if size != nil {
		if *size < 1 || *size > most || n > most {
			return 0, 0, refuse("a size of %d", *size)
		}
		g := gcd(*size, n)
		return int(*size / g), int(n / g), nil
	}
	s := *scale
	if !(s >= 1.0/most && s <= most) {
		return 0, 0, refuse("a factor of %g", s)
	}
	// The convergents of its continued fraction.
	p0, q0, p1, q1, x := 0.0, 1.0, 1.0, 0.0, s
	for range 20 {
		a := math.Floor(x)
		p0, q0, p1, q1 = p1, q1, a*p1+p0, a*q1+q0
		if p1 > most || q1 > most {
			return 0, 0, refuse("the factor %g is no ratio of small numbers", s)
		}
		if math.Abs(p1/q1-s) <= 1e-6*s {
			break
		}
		x = 1 / (x - a)
	}
	half := 0.0
	if round {
		half = 0.5
	}
	if out := math.Floor(float64(float32(s)*float32(n)) + half); math.Floor(float64(n)*p1/q1+half) != out {
		return 0, 0, refuse("a factor of %g of %d: its rounding decides the size", s, n)
	}
	return int(p1), int(q1), nil
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return max(a, 1)
}
