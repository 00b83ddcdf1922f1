package pipeline_test

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"enhance/internal/bytesize"
	"enhance/pipeline"
	"enhance/pipeline/look"
	"enhance/raw/dng"
	"enhance/raw/mosaic"
)

// hundredMP is a medium-format sensor's size.
const hundredW, hundredH = 11648, 8736

// synthetic writes an uncompressed 14-bit DNG of w×h: a slope, stripes of every
// width and a little noise, all by a formula.
func synthetic(t *testing.T, path string, w, h, orientation int) {
	t.Helper()
	rggb, err := mosaic.ParsePattern("RGGB")
	if err != nil {
		t.Fatal(err)
	}
	s := dng.Spec{Width: w, Height: h, Bits: 14, Samples: make([]uint16, w*h), RowsPerStrip: 64}
	s.Meta.CFA, s.Meta.Make, s.Meta.Model, s.Meta.Orientation = rggb, "Synthetic", fmt.Sprintf("%dx%d", w, h), orientation
	state := uint32(1)
	for y := range h {
		for x := range w {
			state = state*1664525 + 1013904223
			s.Samples[y*w+x] = uint16(1000 + 6000*x/w + 4000*y/h + 2000*(x*x/4096&1) + int(state>>26))
		}
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	b := bufio.NewWriter(f)
	if err := dng.Write(b, s); err != nil {
		t.Fatal(err)
	}
	if err := b.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// within develops a photo in a process of its own, so that its peak of resident
// memory is that of this run alone, and returns the picture's hash and the peak.
func within(t *testing.T, photo, mem, rows string) (sum string, rss int64) {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run", "^TestDevelopAlone$", "-test.v")
	c.Env = append(os.Environ(), "DEVELOP_PHOTO="+photo, "DEVELOP_MEM="+mem, "DEVELOP_ROWS="+rows)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("--mem %s: %v\n%s", mem, err, out)
	}
	for line := range strings.Lines(string(out)) {
		var figures string
		if _, rest, ok := strings.Cut(line, "developed: "); ok {
			figures = strings.TrimSpace(rest)
			sum, figures, _ = strings.Cut(figures, " ")
			if rss, err = strconv.ParseInt(strings.Fields(figures)[0], 10, 64); err != nil {
				t.Fatal(err)
			}
			t.Logf("--mem %s: %s", mem, figures)
		}
	}
	if sum == "" {
		t.Fatalf("no result in\n%s", out)
	}
	return sum, rss
}

// TestDevelopAlone is what within runs; by itself it does nothing.
func TestDevelopAlone(t *testing.T) {
	photo := os.Getenv("DEVELOP_PHOTO")
	if photo == "" {
		t.Skip("only run by other tests")
	}
	bytes, err := bytesize.Parse(os.Getenv("DEVELOP_MEM"))
	if err != nil {
		t.Fatal(err)
	}
	memory := pipeline.Unlimited()
	if bytes > 0 {
		memory = pipeline.Limit(bytes)
	}
	rows, err := strconv.Atoi(os.Getenv("DEVELOP_ROWS"))
	if err != nil {
		t.Fatal(err)
	}
	s := session(t, pipeline.Settings{Model: "pynet-s", Memory: memory, PlanOptions: pipeline.PlanOptions{StripRows: rows}})
	h := sha256.New()
	rep, err := s.Enhance(t.Context(), pipeline.Job{Input: photo, Look: pipeline.Look{Tone: look.ToneLinear}, Output: pipeline.Output{Writer: h}})
	if err != nil {
		t.Fatal(err)
	}
	if !rep.Memory.AsPlanned {
		t.Errorf("peak %d, planned %d", rep.Memory.Peak, rep.Plan.Peak)
	}
	fmt.Printf("developed: %x %d bytes resident, %d at the start, %d planned for the host, device %d of %d, %.1f s\n",
		h.Sum(nil), rep.Host.PeakRSS, rep.Host.StartRSS, rep.Host.Need, rep.Memory.Peak, rep.Plan.Budget, rep.Seconds.Total)
}

// TestHundredMegapixels develops 100 megapixels with pynet-s in 256 MiB: the picture is that
// of a run without limit, and the process stays under 1 GiB beyond what the
// OpenCL runtime and its compiler take, which a tiny photo shows.
//
// It takes minutes (9 TFLOP, twice), so it is part of `make test-long` only.
func TestHundredMegapixels(t *testing.T) {
	if os.Getenv("ENHANCE_LONG") != "1" {
		t.Skip("takes minutes: set ENHANCE_LONG=1")
	}
	needOpenCL(t)
	w, h := hundredW, hundredH
	if size := os.Getenv("ENHANCE_LONG_SIZE"); size != "" { // for trying the test out
		if _, err := fmt.Sscanf(size, "%dx%d", &w, &h); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	tiny, large := filepath.Join(dir, "tiny.dng"), filepath.Join(dir, "large.dng")
	synthetic(t, tiny, 64, 64, 1)
	synthetic(t, large, w, h, 1)
	runtime.GC()
	_, own := within(t, tiny, "256M", "0")
	limited, rss := within(t, large, "256M", "0")
	if rss-own > 1<<30 {
		t.Errorf("%d bytes resident, %d of them for a tiny photo too", rss, own)
	}
	free, _ := within(t, large, "0", "64") // strips that no small budget has room for
	if limited != free {
		t.Error("another picture than without limit")
	}
}
