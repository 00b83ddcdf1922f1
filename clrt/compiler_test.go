package clrt_test

import (
	"errors"
	"sync"
	"testing"

	"enhance/clrt"
)

// fakeCompiler answers with what f returns and counts.
type fakeCompiler struct {
	f func(source, options string) []byte

	mu           sync.Mutex
	asked, ended int
	rests, hints int
}

func (k *fakeCompiler) Compile(d *clrt.Device, source, options string) ([]byte, func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked++
	return k.f(source, options), func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.ended++
	}
}

func (k *fakeCompiler) Width(*clrt.Device) int { return 3 }
func (k *fakeCompiler) Expect(*clrt.Device)    { k.hints++ }
func (k *fakeCompiler) Rest(wait bool)         { k.rests++ }

// TestCompileWith: a program is what the compiler made of it, or is compiled here.
func TestCompileWith(t *testing.T) {
	dev := openContext(t).Device()
	made := map[string]func(source, options string) []byte{
		"Nothing": func(string, string) []byte { return nil },
		"Garbage": func(string, string) []byte { return []byte("no program") },
		"Binary": func(source, options string) []byte {
			ctx, err := clrt.NewContext(dev)
			if err != nil {
				t.Error(err)
				return nil
			}
			defer ctx.Close()
			p, err := ctx.Build(source, options)
			if err != nil {
				return nil
			}
			b, err := p.Binary()
			if err != nil {
				t.Error(err)
			}
			return b
		},
	}
	for name, f := range made {
		t.Run(name, func(t *testing.T) {
			t.Setenv("ENHANCE_CACHE_DIR", t.TempDir())
			ctx := openContext(t)
			k := &fakeCompiler{f: f}
			ctx.CompileWith(k)
			dev.ExpectPrograms(k)
			if n := ctx.Compilers(); n != 3 {
				t.Errorf("%d compilers, want 3", n)
			}
			for range 2 {
				p, err := ctx.Build(addSource, "-DONE=1")
				if err != nil {
					t.Fatal(err)
				}
				if _, err := p.Kernel("add"); err != nil {
					t.Error(err)
				}
			}
			if k.asked != 1 || k.ended != 1 {
				t.Errorf("asked %d times, told of %d ends: want 1, as the second comes from the cache", k.asked, k.ended)
			}
			_, err := ctx.BuildAll([]string{addSource, "broken"}, "")
			var build *clrt.BuildError
			if !errors.As(err, &build) {
				t.Errorf("error %v", err)
			}
			if k.asked != k.ended {
				t.Errorf("asked %d times, told of %d ends", k.asked, k.ended)
			}
			if dev.ExpectPrograms(k); k.hints != 1 {
				t.Errorf("told %d times of programs to come: want 1, when the cache was empty", k.hints)
			}
			if ctx.RestCompiler(0); k.rests != 1 {
				t.Errorf("%d rests", k.rests)
			}
		})
	}
	ctx := openContext(t)
	ctx.RestCompiler(0)
	if n := ctx.Compilers(); n < 1 {
		t.Errorf("%d compilers", n)
	}
}

func TestIdentity(t *testing.T) {
	d := openContext(t).Device()
	all := []*clrt.Device{d}
	if part, err := d.Cores(1); err == nil && part != d {
		all = append(all, part)
	}
	for _, d := range all {
		id, err := d.Identity()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := clrt.FindDevice(id); got != d || err != nil {
			t.Errorf("%+v: found %v, %v", id, got, err)
		}
		for i, change := range []func(*clrt.Identity){
			func(id *clrt.Identity) { id.Index = -1 },
			func(id *clrt.Identity) { id.Index = 1 << 20 },
			func(id *clrt.Identity) { id.Cores = -1 },
			func(id *clrt.Identity) { id.Name += "x" },
			func(id *clrt.Identity) { id.Platform = "" },
			func(id *clrt.Identity) { id.DriverVersion += "x" },
			func(id *clrt.Identity) { id.Version += "x" },
		} {
			other := id
			change(&other)
			if got, err := clrt.FindDevice(other); err == nil {
				t.Errorf("change %d: found %v", i, got)
			}
		}
	}
}
