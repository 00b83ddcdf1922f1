package clrt_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"enhance/clrt"
)

func TestBuildError(t *testing.T) {
	ctx := openContext(t)
	t.Setenv("ENHANCE_CACHE_DIR", t.TempDir())
	_, err := ctx.Build("__kernel void broken(__global int *a) {\n    a[0] = no_such_name;\n}", "-DX=1")
	var build *clrt.BuildError
	if !errors.As(err, &build) || !strings.Contains(build.Log, "no_such_name") || !strings.Contains(build.Options, "-DX=1") {
		t.Fatalf("error %v", err)
	}
	var call *clrt.Error
	if !errors.As(err, &call) || call.Call != "clBuildProgram" {
		t.Errorf("the error hides the call: %v", err)
	}
	if want := "clBuildProgram: CL_BUILD_PROGRAM_FAILURE (-11)"; !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "no_such_name") {
		t.Errorf("%q should begin with %q and hold the log", err, want)
	}
	if files := entries(t); len(files) != 0 {
		t.Errorf("a failed build was cached: %v", files)
	}
	if _, err := ctx.Build("", ""); err == nil {
		t.Error("empty source: no error")
	}
	if _, err := ctx.Build(addSource, "-DX\x00"); err == nil {
		t.Error("zero byte in the options: no error")
	}
}

func TestUnknownKernel(t *testing.T) {
	ctx := openContext(t)
	t.Setenv("ENHANCE_CACHE_DIR", "off")
	p, err := ctx.Build(addSource, "")
	must(t, err)
	for _, name := range []string{"sub", "", "add\x00"} {
		_, err := p.Kernel(name)
		if err == nil || name == "sub" && (!strings.Contains(err.Error(), `"sub"`) || !strings.Contains(err.Error(), "has add")) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestBuildOptions(t *testing.T) {
	ctx := openContext(t)
	q := newQueue(t, ctx)
	t.Setenv("ENHANCE_CACHE_DIR", "off")
	b := newBuffer(t, ctx, 4, "b")
	for _, want := range []byte{3, 4} {
		p, err := ctx.Build("__kernel void f(__global int *a) { a[0] = VALUE; }", "-DVALUE="+string('0'+rune(want)))
		must(t, err)
		k, err := p.Kernel("f")
		must(t, err)
		must(t, k.SetArgs(b))
		must(t, q.LaunchQuiet(k, []int{1}, nil))
		got := make([]byte, 4)
		must(t, q.Read(b, 0, got))
		if got[0] != want {
			t.Errorf("got %d, want %d", got[0], want)
		}
	}
}

// entries lists the files of the cache that ENHANCE_CACHE_DIR names.
func entries(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(os.Getenv("ENHANCE_CACHE_DIR"), "programs", "*"))
	must(t, err)
	return files
}

// entry returns the one file of the cache.
func entry(t *testing.T) string {
	t.Helper()
	files := entries(t)
	if len(files) != 1 {
		t.Fatalf("the cache holds %d files, want 1: %v", len(files), files)
	}
	return files[0]
}

// buildAdd builds addSource and checks that it works and where it came from.
func buildAdd(t *testing.T, ctx *clrt.Context, fromCache bool) {
	t.Helper()
	p, err := ctx.Build(addSource, "")
	must(t, err)
	defer p.Close()
	if p.FromCache() != fromCache {
		t.Errorf("FromCache is %v, want %v", p.FromCache(), fromCache)
	}
	k, err := p.Kernel("add")
	must(t, err)
	defer k.Close()
	q := newQueue(t, ctx)
	defer q.Close()
	a, s := newBuffer(t, ctx, 64, "a"), newBuffer(t, ctx, 64, "s")
	defer a.Close()
	defer s.Close()
	must(t, q.Write(a, 0, floatBytes([]float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})))
	must(t, k.SetArgs(a, a, s, int32(16)))
	must(t, q.LaunchQuiet(k, []int{16}, nil))
	out := make([]byte, 64)
	must(t, q.Read(s, 0, out))
	for i, v := range bytesFloat(out) {
		if v != float32(2*i) {
			t.Fatalf("sum[%d] = %v, want %d", i, v, 2*i)
		}
	}
}

func TestCacheHit(t *testing.T) {
	ctx := openContext(t)
	t.Setenv("ENHANCE_CACHE_DIR", t.TempDir())
	buildAdd(t, ctx, false)
	entry(t)
	buildAdd(t, ctx, true)
	other := openContext(t)
	buildAdd(t, other, true)
	p, err := ctx.Build(addSource, "-DANOTHER")
	must(t, err)
	if p.FromCache() {
		t.Error("other options gave the same entry")
	}
	if n := len(entries(t)); n != 2 {
		t.Errorf("%d entries, want 2", n)
	}
	t.Setenv("ENHANCE_CACHE_DIR", "off")
	buildAdd(t, ctx, false)
}

// TestPreload: a program that was preloaded is built once from memory, whatever becomes of its file.
func TestPreload(t *testing.T) {
	dev := openContext(t).Device()
	build := func(fromCache bool) { buildAdd(t, openContext(t), fromCache) } // a context may hold what it built
	t.Setenv("ENHANCE_CACHE_DIR", t.TempDir())
	dev.Preload([]string{addSource}, "")
	if dev.Preloaded(addSource, "") {
		t.Error("a program that nobody compiled was preloaded")
	}
	build(false)
	dev.Preload([]string{addSource}, "")
	if !dev.Preloaded(addSource, "") {
		t.Fatal("the program was not preloaded")
	}
	must(t, os.Remove(entry(t)))
	build(true)
	if dev.Preloaded(addSource, "") {
		t.Error("the program stays after it was built")
	}
	build(false)
	t.Setenv("ENHANCE_CACHE_DIR", "off")
	dev.Preload([]string{addSource}, "")
	build(false)
}

// A context holds the programs of a driver that keeps programs itself: they stay when they are closed and the
// cache is gone, however many others come and whoever closes the context meanwhile.
func TestSharedPrograms(t *testing.T) {
	ctx := openContext(t)
	if ctx.Device().Info().Platform != "Portable Computing Language" {
		t.Skip("contexts hold programs of PoCL alone")
	}
	dir := t.TempDir()
	t.Setenv("ENHANCE_CACHE_DIR", dir)
	buildAdd(t, ctx, false)
	must(t, os.RemoveAll(dir))
	buildAdd(t, ctx, true)
	buildAdd(t, openContext(t), false) // another's
	const most = 3
	defer clrt.ShareAtMost(most)()
	for i := range most {
		p, err := ctx.Build(fmt.Sprintf("__kernel void none%d(__global int *a) { *a = %d; }", i, i), "")
		must(t, err)
		must(t, p.Close())
	}
	if n := ctx.SharedPrograms(); n != most {
		t.Errorf("the context holds %d programs", n)
	}
	other, err := clrt.NewContext(ctx.Device())
	must(t, err)
	var builders sync.WaitGroup
	for range 4 {
		builders.Go(func() {
			for {
				p, err := other.Build(addSource, "")
				if err != nil {
					return // closed
				}
				p.Close()
			}
		})
	}
	time.Sleep(5 * time.Millisecond)
	must(t, other.Close())
	builders.Wait()
	if n := other.SharedPrograms(); n != 0 {
		t.Errorf("a closed context holds %d programs", n)
	}
}

// Whatever happens to an entry, the program is built and the entry replaced.
func TestCacheDamage(t *testing.T) {
	t.Setenv("ENHANCE_CACHE_DIR", t.TempDir())
	buildAdd(t, openContext(t), false)
	path := entry(t)
	whole, err := os.ReadFile(path)
	must(t, err)
	key, payload := [32]byte(whole[12:44]), whole[84:]
	flip := func(i int) []byte {
		p := bytes.Clone(whole)
		p[i] ^= 1
		return p
	}
	foreign := key
	foreign[0]++
	for name, data := range map[string][]byte{
		"empty":             {},
		"magic":             flip(0),
		"version":           flip(8),
		"key":               flip(12),
		"length":            flip(44),
		"checksum":          flip(52),
		"payload":           flip(len(whole) - 1),
		"header alone":      whole[:84],
		"half a header":     whole[:40],
		"truncated":         whole[:len(whole)-1],
		"longer":            append(bytes.Clone(whole), 0),
		"another device":    clrt.Entry(foreign, payload),
		"sealed but no use": clrt.Entry(key, []byte("not a program binary")),
	} {
		t.Run(name, func(t *testing.T) {
			must(t, os.WriteFile(path, data, 0o644))
			buildAdd(t, openContext(t), false)
			if entry(t) != path {
				t.Error("the entry has another name")
			}
			buildAdd(t, openContext(t), true)
		})
	}
}

func TestCacheUnwritable(t *testing.T) {
	// A file where the folder should be stops even root, unlike permissions.
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o644))
	t.Setenv("ENHANCE_CACHE_DIR", file)
	buildAdd(t, openContext(t), false)
	buildAdd(t, openContext(t), false)
	// And a folder where the entry should be.
	t.Setenv("ENHANCE_CACHE_DIR", t.TempDir())
	buildAdd(t, openContext(t), false)
	path := entry(t)
	must(t, os.Remove(path))
	must(t, os.MkdirAll(filepath.Join(path, "sub"), 0o755))
	buildAdd(t, openContext(t), false)
	if left := entries(t); len(left) != 1 {
		t.Errorf("temporary files left behind: %v", left)
	}
}

func TestBinary(t *testing.T) {
	ctx := openContext(t)
	t.Setenv("ENHANCE_CACHE_DIR", "off")
	p, err := ctx.Build(addSource, "")
	must(t, err)
	b, err := p.Binary()
	must(t, err)
	if len(b) == 0 {
		t.Error("empty binary")
	}
	t.Logf("binary of %d bytes, log %q", len(b), p.BuildLog())
}

func FuzzDecodeEntry(f *testing.F) {
	key := [32]byte{1, 2, 3}
	whole := clrt.Entry(key, []byte("payload"))
	f.Add(whole)
	f.Add(whole[:len(whole)-1])
	f.Add(whole[:20])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		payload := clrt.DecodeEntry(data, key)
		if payload != nil && !bytes.Equal(clrt.Entry(key, payload), data) {
			t.Errorf("accepted %x, which is not what would be written for its payload", data)
		}
	})
}
