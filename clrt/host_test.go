package clrt_test

import (
	"bytes"
	"testing"

	"enhance/clrt"
)

// TestHostMemory sends data through locked host memory and checks that only its
// own account shows it.
func TestHostMemory(t *testing.T) {
	ctx, q := hostQueue(t)
	const n = 1 << 16
	h, err := ctx.NewHostMemory(q, n, "staging")
	if err != nil {
		t.Fatal(err)
	}
	if ctx.Live() != 0 || ctx.Peak() != 0 || len(ctx.LiveBuffers()) != 0 || ctx.HostLive() != n {
		t.Errorf("device account %d (peak %d, %v), host account %d", ctx.Live(), ctx.Peak(), ctx.LiveBuffers(), ctx.HostLive())
	}
	b, err := ctx.NewBuffer(n, "device")
	if err != nil {
		t.Fatal(err)
	}
	p := h.Bytes()
	for i := range p {
		p[i] = byte(i * 7)
	}
	want := bytes.Clone(p)
	if _, err := q.WriteAsync(b, 0, p); err != nil {
		t.Fatal(err)
	}
	if err := q.Finish(); err != nil {
		t.Fatal(err)
	}
	clear(p)
	if _, err := q.ReadAsync(b, 0, p); err != nil {
		t.Fatal(err)
	}
	if err := q.Finish(); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(p, want) {
		t.Error("what came back is not what was sent")
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil || ctx.HostLive() != 0 {
		t.Errorf("closing again gives %v; %d bytes of host memory are left", err, ctx.HostLive())
	}
}

func hostQueue(t testing.TB) (*clrt.Context, *clrt.Queue) {
	t.Helper()
	ds, err := clrt.Devices()
	if err != nil {
		t.Skipf("needs an OpenCL device: %v", err)
	}
	ctx, err := clrt.NewContext(ds[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ctx.Close() })
	q, err := ctx.NewQueue()
	if err != nil {
		t.Fatal(err)
	}
	return ctx, q
}

// BenchmarkLink measures the link between host and device through locked memory,
// in each direction and in both at once.
func BenchmarkLink(b *testing.B) {
	const n = 256 << 20
	ctx, up := hostQueue(b)
	down, err := ctx.NewQueue()
	if err != nil {
		b.Fatal(err)
	}
	var host [2]*clrt.HostMemory
	var dev [2]*clrt.Buffer
	for i := range host {
		if host[i], err = ctx.NewHostMemory(up, n, "staging"); err != nil {
			b.Fatal(err)
		}
		defer host[i].Close()
		if dev[i], err = ctx.NewBuffer(n, "device"); err != nil {
			b.Fatal(err)
		}
	}
	for _, way := range []struct {
		name     string
		up, down bool
	}{{"up", true, false}, {"down", false, true}, {"both", true, true}} {
		b.Run(way.name, func(b *testing.B) {
			once := func() {
				if way.up {
					if _, err := up.WriteAsync(dev[0], 0, host[0].Bytes()); err != nil {
						b.Fatal(err)
					}
				}
				if way.down {
					if _, err := down.ReadAsync(dev[1], 0, host[1].Bytes()); err != nil {
						b.Fatal(err)
					}
				}
				up.Flush()
				if err := down.Finish(); err != nil {
					b.Fatal(err)
				}
				if err := up.Finish(); err != nil {
					b.Fatal(err)
				}
			}
			once()
			b.SetBytes(n)
			if way.up && way.down {
				b.SetBytes(2 * n)
			}
			for b.Loop() {
				once()
			}
		})
	}
}
