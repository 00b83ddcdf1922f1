package clrt_test

import (
	"encoding/binary"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"

	"enhance/clrt"
)

const kindsSource = `
typedef struct { int a; float b; } pair;
__kernel void kinds(__global uint *out, __global const int *null, __local uint *scratch,
                    int i, uint u, long l, ulong ul, float f,
                    char c, ushort s, float4 v, int2 w, pair p) {
    scratch[get_local_id(0)] = 100 + get_local_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_global_id(0) != 0) return;
    out[0] = null == 0;
    out[1] = scratch[get_local_size(0) - 1];
    out[2] = as_uint(i);
    out[3] = u;
    out[4] = (uint)l;
    out[5] = (uint)(l >> 32);
    out[6] = (uint)ul;
    out[7] = (uint)(ul >> 32);
    out[8] = as_uint(f);
    out[9] = as_uint((int)c);
    out[10] = s;
    out[11] = as_uint(v.x); out[12] = as_uint(v.y); out[13] = as_uint(v.z); out[14] = as_uint(v.w);
    out[15] = as_uint(w.x); out[16] = as_uint(w.y);
    out[17] = as_uint(p.a); out[18] = as_uint(p.b);
}`

func TestArgumentKinds(t *testing.T) {
	ctx := openContext(t)
	q := newQueue(t, ctx)
	k := kernel(t, ctx, kindsSource, "kinds")
	out := newBuffer(t, ctx, 19*4, "out")
	pair := binary.NativeEndian.AppendUint32(nil, 77)
	pair = binary.NativeEndian.AppendUint32(pair, math.Float32bits(0.125))
	var l int64 = -0x123456789ABCDEF
	var ul uint64 = 0xFEDCBA9876543210
	must(t, k.SetArgs(out, nil, clrt.Local(16*4), int32(-5), uint32(0xDEADBEEF), l, ul, float32(1.5),
		int8(-3), uint16(60000), [4]float32{1, 2, 3, 4}, [2]int32{-8, 9}, clrt.Raw(pair)))
	must(t, q.LaunchQuiet(k, []int{16}, []int{16}))
	f := math.Float32bits
	neg := func(v int32) uint32 { return uint32(v) }
	want := []uint32{1, 115, neg(-5), 0xDEADBEEF, uint32(l), uint32(l >> 32), uint32(ul), uint32(ul >> 32), f(1.5),
		neg(-3), 60000, f(1), f(2), f(3), f(4), neg(-8), 9, 77, f(0.125)}
	p := make([]byte, out.Size())
	must(t, q.Read(out, 0, p))
	for i, w := range want {
		if got := binary.NativeEndian.Uint32(p[4*i:]); got != w {
			t.Errorf("out[%d] = %#x, want %#x", i, got, w)
		}
	}
}

func TestSetArgsMistakes(t *testing.T) {
	ctx := openContext(t)
	other := openContext(t)
	k := kernel(t, ctx, addSource, "add")
	a := newBuffer(t, ctx, 64, "a")
	foreign := newBuffer(t, other, 64, "foreign")
	closed := newBuffer(t, ctx, 64, "gone")
	must(t, closed.Close())
	for _, c := range []struct {
		name string
		args []any
		want []string
	}{
		{"too few", []any{a, a}, []string{"kernel add takes 4 arguments", "given 2", "argument 2", "sum"}},
		{"none", nil, []string{"given 0", "argument 0"}},
		{"too many", []any{a, a, a, int32(1), int32(2)}, []string{"given 5", "argument 4"}},
		{"int", []any{a, a, a, 5}, []string{"argument 3", "int n", "int32"}},
		{"float for int", []any{a, a, a, float32(5)}, []string{"argument 3", "int n", "float32"}},
		{"wrong size", []any{a, a, a, int64(5)}, []string{"argument 3", "int n", "CL_INVALID_ARG_SIZE"}},
		{"scalar for pointer", []any{a, int64(0), a, int32(5)}, []string{"argument 1", "pointer"}},
		{"local for global", []any{a, a, clrt.Local(4), int32(5)}, []string{"argument 2", "local memory"}},
		{"buffer for scalar", []any{a, a, a, a}, []string{"argument 3", "given a buffer"}},
		{"no value", []any{a, a, a, clrt.Raw(nil)}, []string{"argument 3", "empty"}},
		{"string", []any{a, a, a, "x"}, []string{"argument 3", "string"}},
		{"slice", []any{a, a, a, []int32{1}}, []string{"argument 3", "[]int32"}},
		{"other context", []any{a, foreign, a, int32(1)}, []string{"argument 1", "foreign", "another context"}},
		{"closed", []any{a, a, closed, int32(1)}, []string{"argument 2", "gone", "closed"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := k.SetArgs(c.args...)
			if err == nil {
				t.Fatal("no error")
			}
			for _, w := range append(c.want, "add") {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
		})
	}
	if err := k.SetArg(4, int32(1)); err == nil {
		t.Error("SetArg of a fifth argument succeeded")
	}
	if err := k.SetArg(-1, int32(1)); err == nil {
		t.Error("SetArg of argument -1 succeeded")
	}
}

func TestLaunchMistakes(t *testing.T) {
	ctx := openContext(t)
	q := newQueue(t, ctx)
	k := kernel(t, ctx, addSource, "add")
	a, b := newBuffer(t, ctx, 64, "a"), newBuffer(t, ctx, 64, "short-lived")
	if err := q.LaunchQuiet(k, []int{16}, nil); err == nil || !strings.Contains(err.Error(), "argument 0") {
		t.Errorf("launch without arguments: %v", err)
	}
	must(t, k.SetArgs(a, b, a, int32(16)))
	for _, c := range []struct{ global, local []int }{
		{nil, nil}, {[]int{}, nil}, {[]int{1, 1, 1, 1}, nil}, {[]int{0}, nil}, {[]int{-16}, nil},
		{[]int{16}, []int{3}}, {[]int{16}, []int{0}}, {[]int{16}, []int{4, 4}}, {[]int{16}, []int{}},
		{[]int{1 << 40}, []int{1 << 40}},
	} {
		if err := q.LaunchQuiet(k, c.global, c.local); err == nil {
			t.Errorf("global %v local %v: no error", c.global, c.local)
		}
	}
	must(t, q.LaunchQuiet(k, []int{16}, nil))
	must(t, q.Finish())
	must(t, b.Close())
	err := q.LaunchQuiet(k, []int{16}, nil)
	if !errors.Is(err, clrt.ErrClosed) || !strings.Contains(err.Error(), "short-lived") {
		t.Errorf("launch on a closed buffer: %v", err)
	}
}

// The kernel alone keeps its buffers reachable.
func TestKernelKeepsBuffers(t *testing.T) {
	ctx := openContext(t)
	q := newQueue(t, ctx)
	k := kernel(t, ctx, addSource, "add")
	const n = 4096
	sum := newBuffer(t, ctx, 4*n, "sum")
	func() {
		a, b := newBuffer(t, ctx, 4*n, "a"), newBuffer(t, ctx, 4*n, "b")
		must(t, q.Fill(a, 0, 4*n, floatBytes([]float32{1.25})))
		must(t, q.Fill(b, 0, 4*n, floatBytes([]float32{2})))
		must(t, k.SetArgs(a, b, sum, int32(n)))
	}()
	for range 5 {
		runtime.GC()
	}
	must(t, q.LaunchQuiet(k, []int{n}, nil))
	out := make([]byte, 4*n)
	must(t, q.Read(sum, 0, out))
	for i, v := range bytesFloat(out) {
		if v != 3.25 {
			t.Fatalf("sum[%d] = %v, want 3.25", i, v)
		}
	}
}

func TestWorkGroupInfo(t *testing.T) {
	ctx := openContext(t)
	k := kernel(t, ctx, `__kernel __attribute__((reqd_work_group_size(8, 2, 1))) void f(__global int *a) {
		__local int s[16];
		s[get_local_id(0)] = 1;
		barrier(CLK_LOCAL_MEM_FENCE);
		a[get_global_id(0)] = s[0];
	}`, "f")
	w, err := k.WorkGroupInfo()
	must(t, err)
	if w.Required != [3]int{8, 2, 1} || w.MaxSize < 1 || w.Preferred < 1 || w.LocalMem < 0 || w.PrivMem < 0 {
		t.Errorf("%+v", *w)
	}
}
