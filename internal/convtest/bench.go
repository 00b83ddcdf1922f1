// Package convtest holds the contract that every convolution algorithm must
// keep ([Run]) and the guarded device memory ([Bench]) that it, and the tests of
// other kernels, work in. [Single] times one kernel, [NoSpills] reads the compiler's
// report, and [Emulated] runs kernels of a vendor's instructions on any device.
//
// Every tensor lies in a ring somewhere inside a larger buffer, as some of the
// channels of a larger tensor, and only the rows that a launch may read exist.
// All else, before, between and after, is NaN with random payloads: reading it
// shows in the result, writing it shows as a changed byte.
package convtest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/model"
)

// Device is the first OpenCL device. Without one the test is skipped, or fails
// if ENHANCE_REQUIRE_OPENCL is 1.
func Device(t testing.TB) *clrt.Device {
	t.Helper()
	ds, err := clrt.Devices()
	if err != nil {
		if os.Getenv("ENHANCE_REQUIRE_OPENCL") == "1" {
			t.Fatalf("ENHANCE_REQUIRE_OPENCL=1 but: %v", err)
		}
		t.Skipf("SKIPPED, nothing was tested: %v", err)
	}
	return ds[0]
}

// Cases is n, or ten times as many with ENHANCE_LONG=1.
func Cases(n int) int {
	if os.Getenv("ENHANCE_LONG") == "1" {
		return 10 * n
	}
	return n
}

// Bench is a context and a queue on a device and guarded memory in it.
type Bench struct {
	testing.TB
	Ctx       *clrt.Context
	Queue     *clrt.Queue
	Precision planar.Precision
	Pad       model.PadMode
	Act       fuse.Act // of the programs, where that is one of those that a program has one of
	ResFirst  bool     // of the programs
	Rng       *rand.Rand
	buffers   []*clrt.Buffer
}

// Open makes a bench that is closed with the test.
func Open(t testing.TB, d *clrt.Device, p planar.Precision, seed uint64) *Bench {
	t.Helper()
	ctx, err := clrt.NewContext(d)
	if err != nil {
		t.Fatal(err)
	}
	b := &Bench{TB: t, Ctx: ctx, Precision: p, Rng: rand.New(rand.NewPCG(seed, 8))}
	t.Cleanup(func() {
		if err := ctx.Close(); err != nil {
			t.Errorf("closing the context: %v", err)
		}
	})
	b.Queue, err = ctx.NewQueue()
	b.Must(err)
	return b
}

// Must fails the test if err is not nil.
func (b *Bench) Must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// Release frees all memory of the bench.
func (b *Bench) Release() {
	for _, m := range b.buffers {
		b.Must(m.Close())
	}
	b.buffers = nil
}

// Buffer makes a buffer of raw.
func (b *Bench) Buffer(raw []byte) *clrt.Buffer {
	b.Helper()
	buf, err := b.Ctx.NewBuffer(int64(len(raw)), "test")
	b.Must(err)
	b.buffers = append(b.buffers, buf)
	b.Must(b.Queue.Write(buf, 0, raw))
	return buf
}

// Floats makes a buffer of float32 values.
func (b *Bench) Floats(v []float32) *clrt.Buffer {
	b.Helper()
	raw := make([]byte, 0, 4*len(v))
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return b.Buffer(raw)
}

// Noise is n bytes of NaN in the storage of p, each sample with another payload.
func (b *Bench) Noise(n int64, p planar.Precision) []byte {
	raw := make([]byte, n)
	for i := int64(0); i+p.Bytes() <= n; i += p.Bytes() {
		if r := b.Rng.Uint32(); p == planar.FP16 {
			binary.LittleEndian.PutUint16(raw[i:], uint16(r)|0x7e00)
		} else {
			binary.LittleEndian.PutUint32(raw[i:], r|0x7fc00000)
		}
	}
	return raw
}

// Plane is a tensor on the host: sample (c,y,x) at (c·H+y)·W+x.
type Plane struct {
	C, H, W int
	V       []float32
}

// NewPlane is a plane of NaN.
func NewPlane(c, h, w int) *Plane {
	p := &Plane{c, h, w, make([]float32, c*h*w)}
	for i := range p.V {
		p.V[i] = float32(math.NaN())
	}
	return p
}

// At is sample x of row y of channel c.
func (p *Plane) At(c, y, x int) float32 { return p.V[(c*p.H+y)*p.W+x] }

// Line is row y of channel c.
func (p *Plane) Line(c, y int) []float32 { return p.V[(c*p.H+y)*p.W:][:p.W] }

// Random makes a plane of values in -1..1 that the bench's storage holds exactly.
func (b *Bench) Random(c, h, w int) *Plane {
	p := NewPlane(c, h, w)
	for i := range p.V {
		p.V[i] = b.Round(2*b.Rng.Float32() - 1)
	}
	return p
}

// Round rounds to the bench's storage.
func (b *Bench) Round(v float32) float32 {
	if b.Precision == planar.FP16 {
		return planar.Float(planar.Half(v))
	}
	return v
}

// Ring is a view of a tensor in guarded device memory.
type Ring struct {
	planar.Ring
	b     *Bench
	image []byte // what the whole buffer held when it was made
}

// Place says where in a larger tensor and ring a plane lies, and whether that is of octets or words.
type Place struct {
	C0, CAll, Rows int
	Octets         bool
	Words          fuse.Storage // Pairs or Split where it is of those
}

// Anywhere is a random place for c channels in a ring of at least rows rows, of
// a plane of h rows.
func (b *Bench) Anywhere(c, rows, h int) Place {
	p := Place{Rows: rows, CAll: c}
	if h > rows {
		p.Rows += b.Rng.IntN(h - rows + 1)
	}
	if b.Rng.IntN(2) == 0 {
		p.C0 = b.Rng.IntN(4)
		p.CAll = p.C0 + c + b.Rng.IntN(4)
	}
	return p
}

// Source places rows [first,end) of p on the device.
func (b *Bench) Source(p *Plane, at Place, first, end int) *Ring {
	b.Helper()
	if at.Octets {
		return b.octetSource(p, at, first, end)
	}
	if at.Words != 0 {
		return b.pairSource(p, at, first, end)
	}
	rows := planar.Rows{C: at.CAll, W: p.W, Precision: b.Precision, Pad: b.Pad}
	return b.ring(p.C, p.H, p.W, at, func(ring []byte) {
		scratch := make([]byte, rows.Bytes(1))
		line := p.W + 2*planar.Rim
		for y := first; y < end; y++ {
			for c := range p.C {
				rows.Put(scratch, at.C0+c, p.Line(c, y))
				from := ((at.C0+c)*planar.Pitch(p.W) + planar.Pad - planar.Rim) * int(b.Precision.Bytes())
				n := line * int(b.Precision.Bytes())
				copy(ring[int64(y%at.Rows)*rows.Bytes(1)+int64(from):], scratch[from:from+n])
			}
		}
	})
}

// Target makes room for a result of c×h×w.
func (b *Bench) Target(c, h, w int, at Place) *Ring {
	b.Helper()
	return b.ring(c, h, w, at, func([]byte) {})
}

func (b *Bench) ring(c, h, w int, at Place, fill func(ring []byte)) *Ring {
	b.Helper()
	t := fuse.Tensor{Shape: model.Shape{C: at.CAll, H: h, W: w}}
	if at.Octets {
		t.Storage = fuse.Octets
	}
	if at.Words != 0 {
		t.Storage = at.Words
	}
	size := planar.RowBytes(t, b.Precision)*int64(at.Rows) + planar.RimBytes(t, b.Precision)
	base := planar.BaseAlign * int64(b.Rng.IntN(5))
	image := b.Noise(base+size+planar.BaseAlign*int64(b.Rng.IntN(3)), b.Precision)
	fill(image[base:])
	r := planar.NewRing(b.Buffer(image), base, t, at.Rows)
	return &Ring{Ring: r.Slice(at.C0, c), b: b, image: image}
}

// Unchanged checks that nothing wrote to the ring's buffer.
func (r *Ring) Unchanged(what string) {
	r.b.Helper()
	now := make([]byte, len(r.image))
	r.b.Must(r.b.Queue.Read(r.Buf, 0, now))
	if at := differ(now, r.image); at >= 0 {
		r.b.Errorf("%s was written to, %s", what, r.where(at))
	}
}

// Take reads rows [y0,y1) of the view into p, checks their rims, and that no other byte changed but in the
// parts of lines that are undefined.
func (r *Ring) Take(p *Plane, y0, y1 int) {
	r.b.Helper()
	now := make([]byte, len(r.image))
	r.b.Must(r.b.Queue.Read(r.Buf, 0, now))
	if r.Octets {
		r.takeOctets(p, y0, y1, now)
		return
	}
	if r.Pairs {
		r.takePairs(p, y0, y1, now)
		return
	}
	rows := planar.Rows{C: r.CAll, W: r.W, Precision: r.b.Precision}
	line := int64(r.Pitch) * r.b.Precision.Bytes()
	for y := y0; y < y1; y++ {
		slot := r.Base + int64(y%r.Rows)*rows.Bytes(1)
		for c := range r.C {
			rows.Get(now[slot:], r.C0+c, p.Line(c, y))
			from := slot + int64(r.C0+c)*line
			r.rims(now[from:from+line], c, y)
			copy(now[from:from+line], r.image[from:])
		}
	}
	if at := differ(now, r.image); at >= 0 {
		r.b.Errorf("a launch over rows [%d,%d) of %d wrote outside them, %s", y0, y1, r.H, r.where(at))
	}
}

func (r *Ring) rims(line []byte, c, y int) {
	r.b.Helper()
	n := int(r.b.Precision.Bytes())
	sample := func(x int) []byte { return line[(planar.Pad+x)*n:][:n] }
	for i := 1; i <= planar.Rim; i++ {
		for _, x := range []int{-i, r.W - 1 + i} {
			want := make([]byte, n)
			if at := fuse.PadIndex(r.b.Pad, x, r.W); at >= 0 {
				want = sample(at)
			}
			if !bytes.Equal(sample(x), want) {
				r.b.Errorf("rim column %d of row %d, channel %d (width %d) is %x, want %x", x, y, c, r.W, sample(x), want)
				return
			}
		}
	}
}

// where puts a byte of the buffer into words.
func (r *Ring) where(at int) string {
	n := r.b.Precision.Bytes()
	if r.Octets {
		n = planar.OctetBytes
	}
	i := (int64(at) - r.Base) / n
	if int64(at) < r.Base {
		return fmt.Sprintf("%d bytes before the ring", r.Base-int64(at))
	}
	row := int64(r.CAll * r.Pitch)
	if i >= row*int64(r.Rows) {
		return fmt.Sprintf("%d samples after the ring's rows", i-row*int64(r.Rows))
	}
	return fmt.Sprintf("at slot %d of %d, channel or octet %d (the view is %d to %d), column %d of %d", i/row, r.Rows, i%row/int64(r.Pitch),
		r.C0, r.C0+r.C, i%int64(r.Pitch)-planar.Pad, r.W)
}

func differ(a, b []byte) int {
	if bytes.Equal(a, b) {
		return -1
	}
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return len(a)
}

// Same fails the test where two planes differ in a bit.
func (b *Bench) Same(what string, got, want *Plane) {
	b.Helper()
	for i := range want.V {
		if math.Float32bits(got.V[i]) != math.Float32bits(want.V[i]) {
			b.Errorf("%s: sample %d (channel %d, row %d, column %d) is %v, in one launch it was %v", what,
				i, i/(want.H*want.W), i/want.W%want.H, i%want.W, got.V[i], want.V[i])
			return
		}
	}
}

// Build compiles kernels with the prelude and returns them by name. Kernels of
// one name must have one source.
func (b *Bench) Build(kernels []conv.Kernel) map[string]*clrt.Kernel {
	b.Helper()
	src := planar.ActSource(b.Act, b.ResFirst) + planar.Source(b.Precision, b.Pad)
	seen := map[string]string{}
	for _, k := range kernels {
		if old, ok := seen[k.Name]; ok && old != k.Source {
			b.Fatalf("two different kernels are named %s", k.Name)
		} else if !ok {
			seen[k.Name] = k.Source
			src += k.Source
		}
	}
	prog, err := b.Ctx.Build(src, "-cl-std=CL1.2")
	b.Must(err)
	// PoCL counts warnings on standard error, where users of a first run see them.
	if log := prog.BuildLog(); conv.CapsOf(b.Ctx.Device().Info()).CPU && strings.Contains(log, "warning") {
		b.Errorf("the compiler warns: %s", log)
	}
	built := map[string]*clrt.Kernel{}
	for name := range seen {
		built[name], err = prog.Kernel(name)
		b.Must(err)
	}
	return built
}
