package ref

import "enhance/model"

// resample makes a plane by weighting rows and columns of one of width w.
func resample[T sample](dst, src []T, w int, rows, columns []model.Tap, outside float32) {
	for y, r := range rows {
		for x, c := range columns {
			if r.Outside || c.Outside {
				dst[y*len(columns)+x] = T(outside)
				continue
			}
			sum := 0.0
			for i := range r.At {
				for j := range c.At {
					sum += r.Weight[i] * c.Weight[j] * float64(src[r.At[i]*w+c.At[j]])
				}
			}
			dst[y*len(columns)+x] = T(sum)
		}
	}
}
