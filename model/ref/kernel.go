package ref

// The kernel makes 2 output channels × 4 samples. It reads its operands from
// panels: kernelRows weights, and kernelCols input samples, for each step of the
// sum. Steps are unrolled by kernelStep, to which panels are filled up with zeros.
//
// On one core of a 2023 server (AMD EPYC, 2.6 GHz) this shape reached 11
// GFLOP/s against 4.5 to 5 without unrolling; 3×4 and 4×4 spill registers.
const (
	kernelRows = 2
	kernelCols = 4
	kernelStep = 4
)

// kernel adds to c[r·4+j] the sum over steps of a[step·2+r] · b[step·4+j].
func kernel(c *[kernelRows * kernelCols]float32, a, b []float32) {
	var c00, c01, c02, c03, c10, c11, c12, c13 float32
	for len(a) >= kernelStep*kernelRows && len(b) >= kernelStep*kernelCols {
		w := (*[kernelStep * kernelRows]float32)(a)
		x := (*[kernelStep * kernelCols]float32)(b)
		{
			w0, w1 := w[0], w[1]
			x0, x1, x2, x3 := x[0], x[1], x[2], x[3]
			c00, c10 = c00+w0*x0, c10+w1*x0
			c01, c11 = c01+w0*x1, c11+w1*x1
			c02, c12 = c02+w0*x2, c12+w1*x2
			c03, c13 = c03+w0*x3, c13+w1*x3
		}
		{
			w0, w1 := w[2], w[3]
			x0, x1, x2, x3 := x[4], x[5], x[6], x[7]
			c00, c10 = c00+w0*x0, c10+w1*x0
			c01, c11 = c01+w0*x1, c11+w1*x1
			c02, c12 = c02+w0*x2, c12+w1*x2
			c03, c13 = c03+w0*x3, c13+w1*x3
		}
		{
			w0, w1 := w[4], w[5]
			x0, x1, x2, x3 := x[8], x[9], x[10], x[11]
			c00, c10 = c00+w0*x0, c10+w1*x0
			c01, c11 = c01+w0*x1, c11+w1*x1
			c02, c12 = c02+w0*x2, c12+w1*x2
			c03, c13 = c03+w0*x3, c13+w1*x3
		}
		{
			w0, w1 := w[6], w[7]
			x0, x1, x2, x3 := x[12], x[13], x[14], x[15]
			c00, c10 = c00+w0*x0, c10+w1*x0
			c01, c11 = c01+w0*x1, c11+w1*x1
			c02, c12 = c02+w0*x2, c12+w1*x2
			c03, c13 = c03+w0*x3, c13+w1*x3
		}
		a, b = a[kernelStep*kernelRows:], b[kernelStep*kernelCols:]
	}
	c[0] += c00
	c[1] += c01
	c[2] += c02
	c[3] += c03
	c[4] += c10
	c[5] += c11
	c[6] += c12
	c[7] += c13
}
