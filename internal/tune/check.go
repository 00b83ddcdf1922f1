package tune

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"

	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/planar"
)

const (
	// slope of the leaky ReLU in measurements.
	slope = 0.2
	// bandRows is how many rows of each band are compared: at the top, in the
	// middle and at the end.
	bandRows = 8
	// samples of the plain definition's result are compared with float64.
	samples = 384
	// plainError is how far those may be from float64 beside storing them, relative
	// root mean square.
	plainError = 1e-5
	// storing16 is the same error of storing binary16.
	storing16 = 3e-4
)

// tolerance is what a precision allows an algorithm beside the plain definition's
// result in the same storage: the relative root mean square error at which its
// speed counts half, and the largest error of any sample, in units of the root
// mean square, above which it is taken to be wrong. Matrix units cut sums off where
// others round them, so that their error grows with the number of terms: measured,
// 7e-9 a term for three tf32 products (H200), half of what they are allowed here.
func tolerance(precision string, s conv.Shape) (half, most float64) {
	if precision == planar.FP32.String() {
		return max(1e-5, float64(s.InC()*s.K*s.K)*0x1p-26), 2e-3
	}
	return 1e-3, 0.05 // fp16, tf32: weights have 11 bits
}

// plain is the algorithm that others are held against: one work-item a sample, or
// on CPUs, where that takes seconds, the direct one. Either is itself compared
// with float64.
func plain(c conv.Caps) conv.Algo {
	if c.CPU {
		return conv.Direct(c)
	}
	return conv.Simple{}
}

// chooseBands spreads the rows that are compared; bands begin at multiples of
// nothing in particular, since only the plain definition is launched on them.
func (p *problem) chooseBands() {
	n, last := min(bandRows, p.rows), 0
	for _, y := range []int{0, (p.rows - n) / 2, p.rows - n} {
		if from := max(y, last); from < y+n {
			p.bands = append(p.bands, [2]int{from, y + n})
			last = y + n
		}
	}
}

// reference computes what is right in the bands.
func (p *problem) reference() error {
	a := plain(p.caps)
	impl, err := a.New(p.caps, p.shape, p.precision)
	if err != nil {
		return err
	}
	r, err := p.open(impl)
	if err != nil {
		return err
	}
	defer r.close()
	if err := p.erase(); err != nil {
		return err
	}
	for _, b := range p.bands {
		if err := r.launch(b[0], b[1]); err != nil {
			return err
		}
	}
	for _, b := range p.bands {
		v, err := p.download(b)
		if err != nil {
			return err
		}
		p.want = append(p.want, v)
	}
	if e := p.exact(); !(e <= plainError || p.precision == planar.FP16 && e <= storing16) {
		return fmt.Errorf("tune: %s itself is wrong on this device: the relative error of %v is %.3g", a.Name(), p.shape, e)
	}
	return nil
}

// erase fills the result with NaN, so that what is not written shows.
func (p *problem) erase() error {
	return p.q.Fill(p.dst.Buf, 0, p.dst.Buf.Size()/4*4, []byte{0xff, 0xff, 0xff, 0xff})
}

// download reads rows of the result: sample (y,k,x) at (y·K+k)·W+x.
func (p *problem) download(band [2]int) ([]float32, error) {
	layout := planar.Rows{C: p.shape.OutC, W: p.shape.W, Precision: p.precision}
	n := band[1] - band[0]
	raw := make([]byte, layout.Bytes(n))
	if err := p.q.Read(p.dst.Buf, int64(band[0])*layout.Bytes(1), raw); err != nil {
		return nil, err
	}
	v := make([]float32, n*p.shape.OutC*p.shape.W)
	for y := range n {
		for k := range p.shape.OutC {
			layout.Get(raw[layout.Bytes(y):], k, v[(y*p.shape.OutC+k)*p.shape.W:][:p.shape.W])
		}
	}
	return v, nil
}

// exact is the relative error of a sample of want beside float64.
func (p *problem) exact() float64 {
	var sum, refs float64
	w, outs := p.shape.W, p.shape.OutC
	for i := range samples {
		b := i % len(p.bands)
		n := uint64(i) * 0x9E3779B97F4A7C15
		y, k, x := int(n>>40)%(p.bands[b][1]-p.bands[b][0]), int(n>>20)%outs, int(n>>4&0xffff)%w
		if i/len(p.bands) < 8 { // both edges are among them
			x = (i / len(p.bands)) % 2 * (w - 1)
		}
		want := p.output(k, p.bands[b][0]+y, x)
		d := float64(p.want[b][(y*outs+k)*w+x]) - want
		sum, refs = sum+d*d, refs+want*want
	}
	return math.Sqrt(sum / refs)
}

// output is the definition of one output sample, in float64.
func (p *problem) output(k, y, x int) float64 {
	s := p.shape
	sum, at := float64(p.bias[k]), k*s.InC()*s.K*s.K
	for i, c := range s.SrcC {
		for ch := range c {
			for ky := range s.K {
				sy := fuse.Reflect(y+ky-s.K/2, s.H)
				for kx := range s.K {
					sum += float64(p.weights[at]) * float64(p.input(i, ch, sy, fuse.Reflect(x+kx-s.K/2, s.W)))
					at++
				}
			}
		}
	}
	switch s.Act {
	case fuse.LeakyReLU:
		if sum < 0 {
			sum *= slope
		}
	case fuse.Sigmoid:
		sum = 1 / (1 + math.Exp(-sum))
	}
	return sum
}

// input is a sample of source i as stored.
func (p *problem) input(i, c, y, x int) float32 {
	v := Uniform(uint64(i)<<44 + (uint64(c)*uint64(p.shape.H)+uint64(y))*uint64(p.shape.W) + uint64(x))
	if p.precision == planar.FP16 {
		return planar.Float(planar.Half(v))
	}
	return v
}

// check runs a candidate on all rows and compares the bands with what is right.
// It sets r.err, the root mean square difference by the root mean square result, and
// r.sum, a hash of the bands.
func (r *rig) check(precision string) error {
	if err := r.erase(); err != nil {
		return err
	}
	if err := r.launch(0, r.rows); err != nil {
		return err
	}
	var sum, refs, worst float64
	n, hash := 0, sha256.New()
	for i, b := range r.bands {
		got, err := r.download(b)
		if err != nil {
			return err
		}
		hash.Write(floatBytes(got))
		for j, want := range r.want[i] {
			d := math.Abs(float64(got[j]) - float64(want))
			if !(d <= math.MaxFloat64) {
				k := j / r.shape.W
				return fmt.Errorf("wrong: channel %d, row %d, column %d is %v, not %v", k%r.shape.OutC, b[0]+k/r.shape.OutC, j%r.shape.W, got[j], want)
			}
			sum, refs, worst = sum+d*d, refs+float64(want)*float64(want), max(worst, d)
		}
		n += len(got)
	}
	hash.Sum(r.sum[:0])
	rms := math.Sqrt(refs / float64(n))
	r.err = math.Sqrt(sum/float64(n)) / rms
	half, most := tolerance(precision, r.shape)
	if r.err > 2*half || worst/rms > most {
		return fmt.Errorf("wrong: the relative error is %.3g, the largest %.3g", r.err, worst/rms)
	}
	return nil
}

// Uniform is a number in [-1,1) from a hash of n, as fill.cl computes it.
func Uniform(n uint64) float32 {
	n += 0x9E3779B97F4A7C15
	n = (n ^ n>>30) * 0xBF58476D1CE4E5B9
	n = (n ^ n>>27) * 0x94D049BB133111EB
	n ^= n >> 31
	return float32(int32(n>>40)-1<<23) / (1 << 23)
}

// randomWeights have the variance that keeps the result's near 1/3.
func randomWeights(s conv.Shape) (weights, bias []float32) {
	const weightSeed, biasSeed = 1 << 60, 2 << 60
	n := s.InC() * s.K * s.K
	scale := float32(math.Sqrt(3 / float64(n)))
	weights, bias = make([]float32, s.OutC*n), make([]float32, s.OutC)
	for i := range weights {
		weights[i] = Uniform(weightSeed+uint64(i)) * scale
	}
	for i := range bias {
		bias[i] = Uniform(biasSeed+uint64(i)) / 8
	}
	return weights, bias
}

func floatBytes(v []float32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}
