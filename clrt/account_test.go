package clrt_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"enhance/clrt"
)

// counter adds up device memory from the raw calls, knowing nothing of the
// package's account.
type counter struct {
	mu         sync.Mutex
	sizes      map[uintptr]int64
	live, peak int64
	subs       int
	calls      map[string]int
}

func (c *counter) hook(name string, args []uintptr, next func() uintptr) uintptr {
	r := next()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[name]++
	switch name {
	case "clCreateBuffer":
		if r != 0 {
			c.sizes[r] = int64(args[2])
			c.live += int64(args[2])
			c.peak = max(c.peak, c.live)
		}
	case "clCreateSubBuffer":
		if r != 0 {
			c.sizes[r] = 0
			c.subs++
		}
	case "clReleaseMemObject":
		n, ok := c.sizes[args[0]]
		if !ok {
			panic("release of an unknown cl_mem")
		}
		delete(c.sizes, args[0])
		c.live -= n
	}
	return r
}

func count(t *testing.T, d *clrt.Device) *counter {
	c := &counter{sizes: map[uintptr]int64{}, calls: map[string]int{}}
	t.Cleanup(clrt.Hook(d, c.hook))
	return c
}

func TestAccountAgainstCounter(t *testing.T) {
	dev := openDevice(t)
	c := count(t, dev)
	ctx, err := clrt.NewContext(dev)
	must(t, err)
	defer ctx.Close()
	agree := func(when string) {
		t.Helper()
		if ctx.Live() != c.live || ctx.Peak() != c.peak {
			t.Fatalf("%s: live %d and peak %d, but the calls say %d and %d", when, ctx.Live(), ctx.Peak(), c.live, c.peak)
		}
	}
	_, err = ctx.HalfStorage() // makes buffers of its own
	must(t, err)
	agree("after a probe")
	if c.peak == 0 {
		t.Error("the probe's buffers were not counted")
	}
	align := int64(dev.Info().BaseAlign)
	rng := rand.New(rand.NewPCG(1, 2))
	var open []*clrt.Buffer
	for i := range 400 {
		switch op := rng.IntN(10); {
		case op < 5 || len(open) == 0:
			b, err := ctx.NewBuffer(align*2+rng.Int64N(1<<16), "random")
			must(t, err)
			open = append(open, b)
		case op < 8:
			if _, err := open[rng.IntN(len(open))].Sub(align, 1+rng.Int64N(align)); err != nil && !strings.Contains(err.Error(), "overlaps") {
				t.Fatal(err)
			}
		default:
			j := rng.IntN(len(open))
			must(t, open[j].Close())
			must(t, open[j].Close())
			open = slices.Delete(open, j, j+1)
		}
		agree("random calls")
		if i == 200 {
			ctx.ResetPeak()
			c.peak = c.live
		}
	}
	if c.subs == 0 || len(ctx.LiveBuffers()) != len(open) {
		t.Errorf("%d views made; %d buffers listed, want %d", c.subs, len(ctx.LiveBuffers()), len(open))
	}
	must(t, ctx.Close())
	agree("after Close")
	if ctx.Live() != 0 || len(c.sizes) != 0 || len(ctx.LiveBuffers()) != 0 {
		t.Errorf("after Close %d bytes, %d buffers and %d cl_mem live", ctx.Live(), len(ctx.LiveBuffers()), len(c.sizes))
	}
}

// Closing a context releases every object of every kind.
func TestContextReleasesAll(t *testing.T) {
	t.Run("Uncached", func(t *testing.T) { releasesAll(t, "off") })
	t.Run("Cached", func(t *testing.T) { releasesAll(t, t.TempDir()) })
}

func releasesAll(t *testing.T, cache string) {
	dev := openDevice(t)
	c := count(t, dev)
	t.Setenv("ENHANCE_CACHE_DIR", cache)
	ctx, err := clrt.NewContext(dev)
	must(t, err)
	for range 3 {
		q, err := ctx.NewQueue()
		must(t, err)
		b, err := ctx.NewBuffer(1<<16, "b")
		must(t, err)
		_, err = b.Sub(0, 16)
		must(t, err)
		p, err := ctx.Build(addSource, "")
		must(t, err)
		k, err := p.Kernel("add")
		must(t, err)
		must(t, k.SetArgs(b, b, b, int32(16)))
		_, err = q.Launch(k, []int{16}, nil)
		must(t, err)
		_, err = q.WriteAsync(b, 0, make([]byte, 1<<16))
		must(t, err)
		_, err = q.Map(b, true, 0, 16)
		must(t, err)
	}
	must(t, ctx.Close())
	for made, released := range map[string]string{
		"clCreateContext":           "clReleaseContext",
		"clCreateCommandQueue":      "clReleaseCommandQueue",
		"clCreateProgramWithSource": "clReleaseProgram",
		"clCreateKernel":            "clReleaseKernel",
		"clEnqueueMapBuffer":        "clEnqueueUnmapMemObject",
	} {
		n := c.calls[made]
		if made == "clCreateProgramWithSource" {
			n += c.calls["clRetainProgram"]
		}
		if n == 0 || n != c.calls[released] {
			t.Errorf("%s %d times but %s %d times", made, n, released, c.calls[released])
		}
	}
	events := c.calls["clEnqueueNDRangeKernel"] + c.calls["clEnqueueWriteBuffer"] + c.calls["clRetainEvent"]
	if events == 0 || events != c.calls["clReleaseEvent"] {
		t.Errorf("%d references to events but %d released", events, c.calls["clReleaseEvent"])
	}
	if len(c.sizes) != 0 {
		t.Errorf("%d cl_mem not released", len(c.sizes))
	}
}

func TestSubBuffers(t *testing.T) {
	ctx := openContext(t)
	q := newQueue(t, ctx)
	align := int64(ctx.Device().Info().BaseAlign)
	root := newBuffer(t, ctx, 4*align, "arena")
	must(t, q.Fill(root, 0, root.Size(), []byte{0}))
	other, err := root.Sub(0, 2*align)
	must(t, err)
	for _, v := range []*clrt.Buffer{root, other} { // of the buffer or of a view: they would overlap
		if _, err := v.Sub(align, align); err == nil || !strings.Contains(err.Error(), "overlaps") {
			t.Errorf("a view over another: %v", err)
		}
	}
	inner, err := root.Sub(2*align, align)
	must(t, err)
	must(t, q.Fill(inner, 0, align, []byte{9}))
	got := make([]byte, root.Size())
	must(t, q.Read(root, 0, got))
	for i, v := range got {
		want := byte(0)
		if int64(i)/align == 2 {
			want = 9
		}
		if v != want {
			t.Fatalf("byte %d is %d, want %d", i, v, want)
		}
	}
	if align > 1 {
		if _, err := root.Sub(1, 8); err == nil || !strings.Contains(err.Error(), "multiple of") {
			t.Errorf("misaligned view: %v", err)
		}
	}
	if ctx.Live() != root.Size() {
		t.Errorf("live %d, want %d", ctx.Live(), root.Size())
	}
	must(t, other.Close())
	again, err := root.Sub(align, align)
	must(t, err)
	must(t, again.Close())
	must(t, q.Fill(inner, 0, 4, []byte{1}))
	must(t, root.Close())
	if ctx.Live() != 0 {
		t.Errorf("live %d after closing the root", ctx.Live())
	}
	if err := q.Fill(inner, 0, 4, []byte{1}); !errors.Is(err, clrt.ErrClosed) {
		t.Errorf("use of a view of a closed buffer: %v", err)
	}
}

func TestLiveBuffersInOrder(t *testing.T) {
	ctx := openContext(t)
	newBuffer(t, ctx, 10, "first")
	mid := newBuffer(t, ctx, 20, "second")
	newBuffer(t, ctx, 30, "third")
	must(t, mid.Close())
	want := []clrt.BufferInfo{{Purpose: "first", Size: 10}, {Purpose: "third", Size: 30}}
	if got := ctx.LiveBuffers(); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if ctx.Live() != 40 || ctx.Peak() != 60 {
		t.Errorf("live %d, peak %d", ctx.Live(), ctx.Peak())
	}
	ctx.ResetPeak()
	if ctx.Peak() != 40 {
		t.Errorf("peak %d after ResetPeak", ctx.Peak())
	}
}

// An allocation that fails leaves the account alone and says what for.
func TestAllocationFailure(t *testing.T) {
	ctx := openContext(t)
	_, err := ctx.NewBuffer(1<<60, "far too much")
	var e *clrt.Error
	if !errors.As(err, &e) || e.Call != "clCreateBuffer" || !strings.Contains(err.Error(), "far too much") {
		t.Errorf("error %v", err)
	}
	if ctx.Live() != 0 || ctx.Peak() != 0 {
		t.Errorf("live %d, peak %d", ctx.Live(), ctx.Peak())
	}
}

// A driver that allocates on first use fails in Touch.
func TestTouchReportsFailure(t *testing.T) {
	ctx := openContext(t)
	q := newQueue(t, ctx)
	b := newBuffer(t, ctx, 1<<20, "lazy")
	must(t, b.Touch(q))
	for _, failing := range []string{"clEnqueueFillBuffer", "clFinish"} {
		restore := clrt.Hook(ctx.Device(), func(name string, _ []uintptr, next func() uintptr) uintptr {
			if name == failing {
				return uintptr(0xFFFFFFFC) // CL_MEM_OBJECT_ALLOCATION_FAILURE
			}
			return next()
		})
		err := b.Touch(q)
		restore()
		if !clrt.OutOfMemory(err) || !strings.Contains(err.Error(), "lazy") ||
			!strings.Contains(err.Error(), failing+": CL_MEM_OBJECT_ALLOCATION_FAILURE (-4)") {
			t.Errorf("%s fails: %v", failing, err)
		}
	}
}

// Goroutines that use what others close must get errors and no crash.
func TestConcurrentClose(t *testing.T) {
	ctx := openContext(t)
	q := newQueue(t, ctx)
	p, err := ctx.Build(addSource, "")
	must(t, err)
	for range 50 {
		b := newBuffer(t, ctx, 1<<14, "contended")
		k, err := p.Kernel("add")
		must(t, err)
		must(t, k.SetArgs(b, b, b, int32(16)))
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				data := make([]byte, 1<<14)
				for range 20 {
					var err error
					switch i {
					case 0:
						err = q.Write(b, 0, data)
					case 1:
						err = q.LaunchQuiet(k, []int{16}, nil)
					case 2:
						_, err = q.ReadAsync(b, 0, data)
					case 3:
						var v *clrt.Buffer
						if v, err = b.Sub(0, 64); err == nil {
							err = v.Close()
						}
					}
					if err != nil && !errors.Is(err, clrt.ErrClosed) {
						t.Error(err)
					}
				}
			})
		}
		must(t, b.Close())
		must(t, k.Close())
		wg.Wait()
	}
	must(t, q.Finish())
	if n := ctx.Live(); n != 0 {
		t.Errorf("%d bytes live", n)
	}
}

// TestTouchLarge: buffers whose words have numbers of more than 31 and more than 32 bits are allocated, hold what is written
// to their ends, and leave the context fit for more.
func TestTouchLarge(t *testing.T) {
	c := openContext(t)
	info := c.Device().Info()
	if info.Type == clrt.CPU || info.Unified || info.GlobalMem < 40<<30 || info.MaxAlloc < 18<<30 {
		t.Skipf("SKIPPED, nothing was tested: %s does not allocate 18 GiB of its own", info.Name)
	}
	q, err := c.NewQueue()
	must(t, err)
	defer q.Close()
	for _, size := range []int64{9 << 30, 18 << 30} {
		b, err := c.NewBuffer(size, "large")
		must(t, err)
		must(t, b.Touch(q))
		want, got := []byte{1, 2, 3, 4, 5, 6, 7, 8}, make([]byte, 8)
		must(t, q.Write(b, size-8, want))
		must(t, q.Read(b, size-8, got))
		if !bytes.Equal(got, want) {
			t.Errorf("%d bytes: the last are %v, written were %v", size, got, want)
		}
		must(t, q.Read(b, 0, got[:4]))
		if !bytes.Equal(got[:4], make([]byte, 4)) {
			t.Errorf("%d bytes: the first are %v", size, got[:4])
		}
		must(t, b.Close())
	}
	small, err := c.NewBuffer(1<<20, "small")
	must(t, err)
	must(t, small.Touch(q))
	must(t, small.Close())
}
