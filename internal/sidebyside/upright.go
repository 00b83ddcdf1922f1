package sidebyside

import "image"

// Upright turns a result of pictures as they are stored, by an EXIF orientation of 1 to 8;
// others leave it as it is.
func (r *Result) Upright(orientation int) {
	if orientation < 2 || orientation > 8 {
		return
	}
	for i := range r.Crops {
		c := &r.Crops[i]
		w, h := c.After.Rect.Dx(), c.After.Rect.Dy()
		x0, y0 := place(orientation, c.X, c.Y, r.Width, r.Height)
		x1, y1 := place(orientation, c.X+w-1, c.Y+h-1, r.Width, r.Height)
		c.X, c.Y = min(x0, x1), min(y0, y1)
		c.Before, c.After = turned(c.Before, orientation), turned(c.After, orientation)
	}
	r.Before, r.After = turned(r.Before, orientation), turned(r.After, orientation)
	if orientation >= 5 {
		r.Width, r.Height = r.Height, r.Width
	}
}

// place is where pixel x, y of a stored picture of w x h is in the upright one.
func place(orientation, x, y, w, h int) (int, int) {
	switch orientation {
	case 2:
		return w - 1 - x, y
	case 3:
		return w - 1 - x, h - 1 - y
	case 4:
		return x, h - 1 - y
	case 5:
		return y, x
	case 6:
		return h - 1 - y, x
	case 7:
		return h - 1 - y, w - 1 - x
	case 8:
		return y, w - 1 - x
	}
	return x, y
}

func turned(m *image.RGBA, orientation int) *image.RGBA {
	if m == nil {
		return nil
	}
	w, h := m.Rect.Dx(), m.Rect.Dy()
	to := image.Rect(0, 0, w, h)
	if orientation >= 5 {
		to = image.Rect(0, 0, h, w)
	}
	out := image.NewRGBA(to)
	for y := range h {
		for x := range w {
			ux, uy := place(orientation, x, y, w, h)
			copy(out.Pix[uy*out.Stride+4*ux:][:4], m.Pix[y*m.Stride+4*x:][:4])
		}
	}
	return out
}
