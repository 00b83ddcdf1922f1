package clrt_test

import (
	"encoding/binary"
	"math"
	"os"
	"testing"

	"enhance/clrt"
)

// openDevice returns the first device and skips the test where there is none,
// or fails it with ENHANCE_REQUIRE_OPENCL=1.
func openDevice(t testing.TB) *clrt.Device {
	t.Helper()
	devices, err := clrt.Devices()
	if err != nil {
		if os.Getenv("ENHANCE_REQUIRE_OPENCL") == "1" {
			t.Fatalf("ENHANCE_REQUIRE_OPENCL=1 but: %v", err)
		}
		t.Skipf("SKIPPED, nothing was tested: %v", err)
	}
	return devices[0]
}

func openContext(t testing.TB) *clrt.Context {
	t.Helper()
	ctx, err := clrt.NewContext(openDevice(t))
	must(t, err)
	t.Cleanup(func() {
		if err := ctx.Close(); err != nil {
			t.Errorf("closing the context: %v", err)
		}
		if n := ctx.Live(); n != 0 {
			t.Errorf("%d bytes live after Close", n)
		}
	})
	return ctx
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newQueue(t testing.TB, ctx *clrt.Context) *clrt.Queue {
	t.Helper()
	q, err := ctx.NewQueue()
	must(t, err)
	return q
}

func newBuffer(t testing.TB, ctx *clrt.Context, size int64, purpose string) *clrt.Buffer {
	t.Helper()
	b, err := ctx.NewBuffer(size, purpose)
	must(t, err)
	return b
}

// kernel builds source without the disk cache and returns its kernel.
func kernel(t testing.TB, ctx *clrt.Context, source, name string) *clrt.Kernel {
	t.Helper()
	t.Setenv("ENHANCE_CACHE_DIR", "off")
	p, err := ctx.Build(source, "")
	must(t, err)
	k, err := p.Kernel(name)
	must(t, err)
	return k
}

func floatBytes(v []float32) []byte {
	p := make([]byte, 0, 4*len(v))
	for _, f := range v {
		p = binary.NativeEndian.AppendUint32(p, math.Float32bits(f))
	}
	return p
}

func bytesFloat(p []byte) []float32 {
	v := make([]float32, len(p)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.NativeEndian.Uint32(p[4*i:]))
	}
	return v
}

const addSource = `
__kernel void add(__global const float *a, __global const float *b, __global float *sum, int n) {
    int i = get_global_id(0);
    if (i < n) sum[i] = a[i] + b[i];
}`

func TestVectorAdd(t *testing.T) {
	ctx := openContext(t)
	q := newQueue(t, ctx)
	k := kernel(t, ctx, addSource, "add")
	const n = 1000
	a, b := make([]float32, n), make([]float32, n)
	for i := range a {
		a[i], b[i] = float32(i), float32(3*i+1)
	}
	da, db, ds := newBuffer(t, ctx, 4*n, "a"), newBuffer(t, ctx, 4*n, "b"), newBuffer(t, ctx, 4*n, "sum")
	must(t, q.Write(da, 0, floatBytes(a)))
	must(t, q.Write(db, 0, floatBytes(b)))
	must(t, k.SetArgs(da, db, ds, int32(n)))
	ev, err := q.Launch(k, []int{1024}, []int{64})
	must(t, err)
	must(t, ev.Wait())
	out := make([]byte, 4*n)
	must(t, q.Read(ds, 0, out))
	for i, got := range bytesFloat(out) {
		if want := a[i] + b[i]; got != want {
			t.Fatalf("sum[%d] = %v, want %v", i, got, want)
		}
	}
}

func TestHalfProbes(t *testing.T) {
	ctx := openContext(t)
	storage, err := ctx.HalfStorage()
	must(t, err)
	arith, err := ctx.HalfArithmetic()
	must(t, err)
	t.Logf("%v: half storage %v, arithmetic %v", ctx.Device(), storage, arith)
	if arith && !storage {
		t.Error("half arithmetic without half storage")
	}
	if n := ctx.Live(); n != 0 {
		t.Errorf("the probes left %d bytes live", n)
	}
}
