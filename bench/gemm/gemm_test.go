package gemm_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"enhance/bench/gemm"
	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/planar"
	"enhance/internal/usage"
)

// guard is how many float32 of noise follow every matrix.
const guard = 64

// gpu is what a GPU says of itself. CPU devices run its kernels too, slowly.
var gpu = conv.Caps{Vector: 1, LocalMem: 48 << 10, MaxWorkGroup: 256}

func capsOf(d *clrt.Device) conv.Caps {
	return conv.CapsOf(d.Info())
}

// sizes are m, n, k: ones, primes, multiples of tiles and their neighbours.
var sizes = [][3]int{
	{1, 1, 1}, {1, 7, 5}, {5, 1, 3}, {2, 3, 1}, {4, 4, 4}, {8, 16, 4}, {3, 65, 17}, {17, 31, 13}, {61, 67, 71},
	{64, 64, 64}, {129, 127, 33}, {13, 259, 260}, {140, 33, 5}, {33, 8, 300}, {131, 2, 2},
}

// place is matrix v, row-major, in a layout: partial blocks are padded with
// zeros, blocks beyond the matrix and the guard are noise.
func place(b *convtest.Bench, l gemm.Layout, rows, cols int, v []float32) []byte {
	raw := b.Noise(int64(l.Len(rows, cols)+guard)*4, planar.FP32)
	br, bc := gemm.Block(l)
	for i := range (rows + br - 1) / br * br {
		for j := range (cols + bc - 1) / bc * bc {
			x := float32(0)
			if i < rows && j < cols {
				x = v[i*cols+j]
			}
			binary.LittleEndian.PutUint32(raw[4*l.Index(rows, cols, i, j):], math.Float32bits(x))
		}
	}
	return raw
}

// take compares what is in buf with the layout of want within allowed, and all
// else with the image the buffer began with.
func take(b *convtest.Bench, buf *clrt.Buffer, image []byte, l gemm.Layout, rows, cols int, want, allowed []float64) {
	b.Helper()
	now := make([]byte, len(image))
	b.Must(b.Queue.Read(buf, 0, now))
	v := make([]float32, rows*cols)
	zeros := place(b, l, rows, cols, v) // finite where the layout defines something
	for i := range rows {
		for j := range cols {
			at := l.Index(rows, cols, i, j)
			got := float64(math.Float32frombits(binary.LittleEndian.Uint32(now[4*at:])))
			if d := math.Abs(got - want[i*cols+j]); !(d <= allowed[i*cols+j]) {
				b.Errorf("element (%d,%d) is %v, want %v ± %.2g", i, j, got, want[i*cols+j], allowed[i*cols+j])
				return
			}
			copy(now[4*at:4*at+4], image[4*at:])
		}
	}
	for at := range len(now) / 4 {
		z := math.Float32frombits(binary.LittleEndian.Uint32(zeros[4*at:]))
		got := binary.LittleEndian.Uint32(now[4*at:])
		if z == 0 && got == 0 && at < l.Len(rows, cols) {
			continue // padding of a partial block
		}
		if got != binary.LittleEndian.Uint32(image[4*at:]) {
			b.Errorf("float %d of a matrix of %d, which lies outside it, was written to", at, l.Len(rows, cols))
			return
		}
	}
}

// TestVariants holds every kernel against float64 on sizes of every kind, with
// and without a bias; what surrounds the matrices is NaN before and the same bytes
// after.
func TestVariants(t *testing.T) {
	d := convtest.Device(t)
	for form, caps := range map[string]conv.Caps{"device": capsOf(d), "gpu": gpu} {
		for _, v := range gemm.Variants(caps) {
			t.Run(form+"/"+v.Name, func(t *testing.T) {
				b := convtest.Open(t, d, planar.FP32, 1)
				p := v.Open(b.Ctx)
				defer p.Close()
				for i, s := range sizes {
					t.Run(fmt.Sprintf("%dx%dx%d", s[0], s[1], s[2]), func(t *testing.T) {
						b.TB = t
						defer b.Release()
						multiply(b, p, s[0], s[1], s[2], i%2 == 0)
					})
				}
				b.TB = t
			})
		}
	}
}

func multiply(b *convtest.Bench, p *gemm.Product, m, n, k int, withBias bool) {
	b.Helper()
	a, x := b.Random(1, m, k).V, b.Random(1, k, n).V
	var bias *clrt.Buffer
	bv := make([]float32, m)
	if withBias {
		bv = b.Random(1, 1, m).V
		bias = b.Floats(bv)
	}
	want, allowed := make([]float64, m*n), make([]float64, m*n)
	for i := range m {
		for j := range n {
			sum, abs := float64(bv[i]), math.Abs(float64(bv[i]))
			for t := range k {
				v := float64(a[i*k+t]) * float64(x[t*n+j])
				sum, abs = sum+v, abs+math.Abs(v)
			}
			// Higham and Mary 2019, as in convtest: 8·√n·u·Σ|ab|.
			want[i*n+j], allowed[i*n+j] = sum, 8*math.Sqrt(float64(k+1))*0x1p-24*abs
		}
	}
	ia, ib := place(b, p.A, m, k, a), place(b, p.B, k, n, x)
	ic := b.Noise(int64(p.C.Len(m, n)+guard)*4, planar.FP32)
	da, db, dc := b.Buffer(ia), b.Buffer(ib), b.Buffer(ic)
	live := b.Ctx.Live()
	b.Must(p.Run(b.Queue, m, n, k, da, db, dc, bias))
	if took := b.Ctx.Live() - live; took > p.Scratch(m, n, k) {
		b.Errorf("took %d bytes, Scratch says %d", took, p.Scratch(m, n, k))
	}
	take(b, dc, ic, p.C, m, n, want, allowed)
	for _, o := range []struct {
		buf   *clrt.Buffer
		image []byte
	}{{da, ia}, {db, ib}} {
		now := make([]byte, len(o.image))
		b.Must(b.Queue.Read(o.buf, 0, now))
		if string(now) != string(o.image) {
			b.Error("an operand was written to")
		}
	}
}

// TestIndexIsInjective: a layout gives every element a place of its own within
// its length, and a block of a Morton layout is contiguous.
func TestIndexIsInjective(t *testing.T) {
	for _, l := range []gemm.Layout{gemm.RowMajor, gemm.ColumnMajor, gemm.Morton4x2, gemm.Morton4x4, gemm.Rows2x4, gemm.Columns4x2, gemm.Rows4x4, gemm.Columns4x4} {
		for _, s := range [][2]int{{1, 1}, {5, 3}, {4, 64}, {64, 4}, {100, 37}} {
			seen := map[int]bool{}
			for i := range s[0] {
				for j := range s[1] {
					at := l.Index(s[0], s[1], i, j)
					if at < 0 || at >= l.Len(s[0], s[1]) || seen[at] {
						t.Fatalf("%v of %v: (%d,%d) is at %d", l, s, i, j, at)
					}
					seen[at] = true
				}
			}
		}
	}
	// Blocks of an 8×8 matrix of 4×4 blocks: Z.
	for want, ij := range [][2]int{{0, 0}, {0, 4}, {4, 0}, {4, 4}} {
		if at := gemm.Morton4x4.Index(8, 8, ij[0], ij[1]); at != 16*want {
			t.Errorf("block (%d,%d) is at %d, want %d", ij[0]/4, ij[1]/4, at, 16*want)
		}
	}
}

// TestTiles holds the layouts of tiles against the recursion of Rovder's report: the
// number of the tile by the outer base times its size, and the place inside by the same.
func TestTiles(t *testing.T) {
	base := func(name byte, rows, cols, i, j int) int {
		if name == 'R' {
			return i*cols + j
		}
		return j*rows + i
	}
	for _, l := range []gemm.Layout{gemm.Rows2x4, gemm.Columns4x2, gemm.Rows4x4, gemm.Columns4x4} {
		name := l.String()
		h, w := int(name[2]-'0'), int(name[4]-'0')
		const rows, cols = 8, 12
		for i := range rows {
			for j := range cols {
				want := base(name[0], rows/h, cols/w, i/h, j/w)*h*w + base(name[6], h, w, i%h, j%w)
				if at := l.Index(rows, cols, i, j); at != want {
					t.Fatalf("%s: (%d,%d) is at %d, want %d", name, i, j, at, want)
				}
			}
		}
	}
}

// TestRunRefuses what would read or write outside a buffer.
func TestRunRefuses(t *testing.T) {
	d := convtest.Device(t)
	b := convtest.Open(t, d, planar.FP32, 3)
	defer b.Release()
	four := b.Floats(make([]float32, 4))
	for _, v := range gemm.Variants(capsOf(d)) {
		p := v.Open(b.Ctx)
		for _, s := range [][3]int{{0, 1, 1}, {1, -1, 1}, {3, 2, 1}, {1, 3, 2}, {2, 1, 3}} {
			if v.A != gemm.RowMajor && s[0] > 0 && s[1] > 0 {
				continue
			}
			if err := p.Run(b.Queue, s[0], s[1], s[2], four, four, four, nil); err == nil {
				t.Errorf("%s multiplies %v in buffers of 4", v.Name, s)
			}
		}
		b.Must(p.Close())
	}
}

// BenchmarkGEMM multiplies squares.
func BenchmarkGEMM(b *testing.B) {
	d := convtest.Device(b)
	for _, v := range gemm.Variants(capsOf(d)) {
		for _, n := range []int{256, 1024} {
			b.Run(fmt.Sprintf("%s/%d", v.Name, n), func(b *testing.B) {
				bench := convtest.Open(b, d, planar.FP32, 1)
				defer bench.Release()
				p := v.Open(bench.Ctx)
				defer p.Close()
				zeros := make([]float32, max(v.A.Len(n, n), v.B.Len(n, n), v.C.Len(n, n)))
				x, y, z := bench.Floats(zeros), bench.Floats(zeros), bench.Floats(zeros)
				run := func() {
					bench.Must(p.Run(bench.Queue, n, n, n, x, y, z, nil))
					bench.Must(bench.Queue.Finish())
				}
				run()
				cpu := usage.CPUSeconds()
				for b.Loop() {
					run()
				}
				cpu = usage.CPUSeconds() - cpu
				flops := 2 * float64(n) * float64(n) * float64(n) * float64(b.N) / 1e9
				b.ReportMetric(flops/b.Elapsed().Seconds(), "GFLOP/s")
				b.ReportMetric(flops/cpu, "GFLOP/cpu-s")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// TestLocalTiles tries every tile, also those that small products never get.
func TestLocalTiles(t *testing.T) {
	d := convtest.Device(t)
	if capsOf(d).CPU && convtest.Cases(1) == 1 {
		t.Skip("SKIPPED: a CPU's compiler takes a minute for all tiles; ENHANCE_LONG=1, make oclgrind and GPUs try them")
	}
	for i := range gemm.LocalTiles {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			defer gemm.OnlyLocalTile(i)()
			for _, v := range gemm.Variants(gpu) {
				if v.Name != "row-major-local" {
					continue
				}
				b := convtest.Open(t, d, planar.FP32, 4)
				p := v.Open(b.Ctx)
				defer p.Close()
				for _, s := range [][3]int{{1, 1, 1}, {131, 130, 35}, {5, 260, 16}} {
					multiply(b, p, s[0], s[1], s[2], true)
				}
			}
		})
	}
}
