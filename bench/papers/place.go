package papers

import (
	"encoding/binary"
	"math"
	"runtime"
	"sync"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/internal/tune"
	"enhance/model"
)

// place holds a case's input and output on the device.
type place struct {
	cl     *clrt.Context
	info   *clrt.DeviceInfo
	caps   conv.Caps
	q      *clrt.Queue
	c      Case
	o      Options
	values values

	weightValues, biasValues []float32

	src, dst []planar.Ring // by picture, all of them in one buffer
	host     []byte        // the input as stored; kept for transfers only
}

func newPlace(cl *clrt.Context, caps conv.Caps, c Case, o Options) (p *place, err error) {
	p = &place{cl: cl, info: cl.Device().Info(), caps: caps, c: c, o: o, values: values{c, o.Precision}}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	p.weightValues, p.biasValues = p.values.weights(), p.values.bias()
	if p.q, err = cl.NewQueue(); err != nil {
		return nil, err
	}
	if p.src, err = p.rings(c.C, "input"); err != nil {
		return nil, err
	}
	if p.dst, err = p.rings(c.OutC, "output"); err != nil {
		return nil, err
	}
	return p, p.fill()
}

func (p *place) rings(channels int, purpose string) (rings []planar.Ring, err error) {
	t := fuse.Tensor{Shape: model.Shape{C: channels, H: p.c.H, W: p.c.W}}
	each := planar.RowBytes(t, p.o.Precision)*int64(p.c.H) + planar.RimBytes(t, p.o.Precision)
	each = (each + planar.BaseAlign - 1) / planar.BaseAlign * planar.BaseAlign
	b, err := p.cl.NewBuffer(each*int64(p.c.pictures()), purpose)
	if err != nil {
		return nil, err
	}
	for n := range p.c.pictures() {
		rings = append(rings, planar.NewRing(b, each*int64(n), t, p.c.H))
	}
	return rings, b.Touch(p.q)
}

// fillBytes is about how much is prepared on the host at a time.
const fillBytes = 64 << 20

// fill uploads the pictures, some rows at a time.
func (p *place) fill() error {
	rows := planar.Rows{C: p.c.C, W: p.c.W, Precision: p.o.Precision}
	rowBytes := rows.Bytes(1)
	if p.o.Transfers {
		p.host = make([]byte, p.src[0].Buf.Size())
	}
	batch := int(max(1, min(int64(p.c.H), fillBytes/rowBytes)))
	buf := make([]byte, int64(batch)*rowBytes)
	for n, src := range p.src {
		for y0 := 0; y0 < p.c.H; y0 += batch {
			some := min(batch, p.c.H-y0)
			each(some, func(i int) {
				line := make([]float32, p.c.W)
				for c := range p.c.C {
					for x := range line {
						line[x] = p.values.input(n, c, y0+i, x)
					}
					rows.Put(buf[int64(i)*rowBytes:], c, line)
				}
			})
			at := src.Base + int64(y0)*rowBytes
			if p.host != nil {
				copy(p.host[at:], buf[:int64(some)*rowBytes])
			}
			if err := p.q.Write(src.Buf, at, buf[:int64(some)*rowBytes]); err != nil {
				return err
			}
		}
	}
	return nil
}

// roomForScratch is what one more buffer may take: half of what a device has
// left, and no more than the largest it allows. A CPU device's memory is the
// machine's, of which a quarter must do.
func (p *place) roomForScratch() int64 {
	room := (p.info.GlobalMem - p.cl.Live()) / 2
	if p.info.Type == clrt.CPU {
		room = p.info.GlobalMem/4 - p.cl.Live()
	}
	if p.info.MaxAlloc > 0 {
		room = min(room, p.info.MaxAlloc)
	}
	return max(room, 0)
}

func (p *place) close() {
	for _, rings := range [][]planar.Ring{p.src, p.dst} {
		if len(rings) > 0 {
			rings[0].Buf.Close()
		}
	}
	if p.q != nil {
		p.q.Close()
	}
}

// values are the numbers of a case, functions of their place, so that none need
// be kept for the check.
type values struct {
	c         Case
	precision planar.Precision
}

// input is a sample of picture n as stored: rounded to the precision.
func (v values) input(n, c, y, x int) float32 {
	f := tune.Uniform(uint64(((n*v.c.C+c)*v.c.H+y)*v.c.W + x))
	if v.precision == planar.FP16 {
		return planar.Float(planar.Half(f))
	}
	return f
}

const weightSeed, biasSeed = 1 << 48, 2 << 48

// weights have the variance that keeps the output's near 1/3.
func (v values) weights() []float32 {
	n := v.c.C * v.c.K * v.c.K
	w := make([]float32, v.c.OutC*n)
	scale := float32(math.Sqrt(3 / float64(n)))
	for i := range w {
		w[i] = tune.Uniform(weightSeed+uint64(i)) * scale
	}
	return w
}

func (v values) bias() []float32 {
	b := make([]float32, v.c.OutC)
	for i := range b {
		b[i] = tune.Uniform(biasSeed+uint64(i)) / 8
	}
	return b
}

func floatBytes(v []float32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// each calls do(0) to do(n-1) on all cores.
func each(n int, do func(i int)) {
	workers := min(runtime.GOMAXPROCS(0), n)
	var wg sync.WaitGroup
	for k := range workers {
		wg.Go(func() {
			for i := n * k / workers; i < n*(k+1)/workers; i++ {
				do(i)
			}
		})
	}
	wg.Wait()
}
