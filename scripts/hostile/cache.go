package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// cacheKinds are damaged files of the program's own cache, on an OpenCL device.
var cacheKinds = []kind{{name: "cache", weight: 3, make: damagedCache, lacks: withoutDevice}}

// onDevice is what a small photo takes on the device.
func (a *attempt) onDevice(c *campaign) {
	a.args = append(a.headerless(c), "--mem", "64M")
	a.extra = 1 << 30 // a driver's compiler
	a.output("out.png")
	a.env = append(a.env, "POCL_CACHE_DIR="+filepath.Join(c.work, "pocl"))
	_ = os.MkdirAll(filepath.Join(c.work, "pocl"), 0o755) // where that fails PoCL says so
}

func withoutDevice(c *campaign) string { return c.noDevice }

// fillCache makes the cache that cases damage: compiled kernels, the device's peaks and
// tuning results. It returns why there is no device for that, or "".
func (c *campaign) fillCache() string {
	a := c.attempt(rand.New(rand.NewPCG(c.seed, 0)), "cache")
	a.onDevice(c)
	photo := slices.Clone(a.args)
	for _, args := range [][]string{photo, append(photo, "-y", "--profile", "table"), {"tune", "--size", fmt.Sprintf("%dx%d", photoW, photoH), "--precision", "fp32", "--limit", "1"}} {
		a.args = args
		if err := a.run(); err != nil || a.status != 0 {
			return fmt.Sprintf("no OpenCL device that works: status %d, %v, %s", a.status, err, a.tail())
		}
	}
	var err error
	if c.kept, err = os.ReadFile(a.picture); err != nil {
		return err.Error()
	}
	c.cache = os.DirFS(filepath.Join(a.dir, "cache"))
	err = fs.WalkDir(c.cache, ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			c.cached = append(c.cached, path)
		}
		return err
	})
	if err != nil || len(c.cached) == 0 {
		return fmt.Sprintf("the program keeps no files: %v", err)
	}
	return ""
}

// damagedCache develops with a damaged file in the cache. It must do so as if there were none.
func damagedCache(c *campaign, a *attempt) error {
	a.onDevice(c)
	dir := filepath.Join(a.dir, "cache")
	if err := os.CopyFS(dir, c.cache); err != nil {
		return err
	}
	name := c.cached[a.IntN(len(c.cached))]
	if a.IntN(2) == 0 { // there are many programs, and one of each other
		text := slices.DeleteFunc(slices.Clone(c.cached), func(s string) bool { return strings.HasSuffix(s, ".clbin") })
		name = text[a.IntN(len(text))]
	}
	path := filepath.Join(dir, name)
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil {
		return err
	}
	a.must = true
	if a.IntN(3) > 0 {
		if !strings.HasSuffix(name, ".tune") { // another choice of algorithms may have other bytes
			a.want = c.kept
		}
		return os.WriteFile(path, a.damageCached(name, data), 0o644)
	}
	switch a.IntN(5) {
	case 0:
		return makePipe(path)
	case 1:
		return os.Mkdir(path, 0o755)
	case 2:
		return os.Symlink("/dev/zero", path)
	case 3:
		return os.Symlink(filepath.Base(path), path)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		return err
	}
	return os.Truncate(path, 8<<30)
}

// damageCached damages a file that is kept; tuning results mostly with a checksum that fits.
func (a *attempt) damageCached(name string, data []byte) []byte {
	if strings.HasSuffix(name, ".clbin") {
		return mutate(a.Rand, data)
	}
	text := mutateText(a.Rand, data)
	if strings.HasSuffix(name, ".tune") && a.IntN(4) > 0 {
		return signTuning(a.mutateTuning(data))
	}
	return text
}

// mutateTuning changes fields of lines.
func (a *attempt) mutateTuning(data []byte) []byte {
	lines := bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	for range 1 + a.IntN(4) {
		i := a.IntN(len(lines))
		fields := bytes.Split(lines[i], []byte("\t"))
		words := []string{"direct-rows", "direct-naive", "winograd-4x3", "implicit-gemm", "no-such-algorithm", "wgmma", "0", "-1", "1e-300", "1e300", "NaN", "", "9223372036854775808", "rates", strings.Repeat("x", 5000),
			"launch=-1 hop=0 up=1e-300 down=1e300 both=1 memory=1", "launch=1e300 hop=1e300 up=1 down=1 both=1 memory=1e-300"}
		fields[a.IntN(len(fields))] = []byte(words[a.IntN(len(words))])
		lines[i] = bytes.Join(fields, []byte("\t"))
		if a.IntN(4) == 0 {
			lines = slices.Insert(lines, i, lines[a.IntN(len(lines))])
		}
	}
	return append(bytes.Join(lines, []byte("\n")), '\n')
}

// signTuning corrects the last line, which is a checksum.
func signTuning(b []byte) []byte {
	at := bytes.LastIndexByte(bytes.TrimSuffix(b, []byte("\n")), '\n') + 1
	sum := sha256.Sum256(b[:at])
	return append(slices.Clone(b[:at]), "sum\t"+hex.EncodeToString(sum[:])+"\n"...)
}
