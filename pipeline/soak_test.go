package pipeline_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"runtime"
	"testing"
	"time"

	"enhance/pipeline"
)

// soak develops n photos in one batch, every seventh of which fails in one way or
// another. Every photo must be accounted for, in order and with the class of its fault,
// and what the process holds must be the same after a third of them and at the end.
func soak(t *testing.T, set pipeline.Settings, n, w, h int) {
	before := runtime.NumGoroutine()
	b, err := pipeline.NewBatch(set)
	if err != nil {
		t.Fatal(err)
	}
	photo := nikon(t).crop(0, 0, w, h)
	faults := []struct {
		do   func(j *pipeline.Job)
		want pipeline.Class
	}{
		{func(j *pipeline.Job) { *j = pipeline.Job{Input: "no such photo.dng", Output: j.Output} }, pipeline.ClassIO},
		{func(j *pipeline.Job) { j.Reader = cutOff{j.Reader} }, pipeline.ClassIO},
		{func(j *pipeline.Job) { j.Output.Writer = fullDisk{} }, pipeline.ClassIO},
		{func(j *pipeline.Job) { j.Output.Bits = 12 }, pipeline.ClassOption},
		{func(j *pipeline.Job) { j.Raw.Width, j.Raw.Height = 0, 0 }, pipeline.ClassInput},
		{func(j *pipeline.Job) { j.Reference = "no such picture.png" }, pipeline.ClassIO},
	}
	fault := func(i int) int { // of photo i, -1 for none
		if i%7 != 3 {
			return -1
		}
		return i / 7 % len(faults)
	}
	var third, end held
	next, good := 0, 0
	b.Run(context.Background(), n, func(i int) (pipeline.Job, bool) {
		j := photo.job(0, 0, new(bytes.Buffer))
		j.Output.Writer = io.Discard
		if k := fault(i); k >= 0 {
			faults[k].do(&j)
		}
		return j, true
	}, func(i int, r *pipeline.Report, err error) {
		if i != next {
			t.Errorf("photo %d is told of, photo %d is due", i, next)
		}
		next++
		want := pipeline.ClassNone
		if k := fault(i); k >= 0 {
			want = faults[k].want
		}
		if got := pipeline.Classify(err); got != want {
			t.Errorf("photo %d: class %d, want %d: %v", i, got, want, err)
		}
		if err == nil {
			good++
		}
		switch i {
		case n / 3:
			third = holds()
		case n - 1:
			end = holds()
		}
	})
	if next != n {
		t.Errorf("%d photos are accounted for, %d were given", next, n)
	}
	t.Logf("%d of %d photos developed; after a third: %+v, at the end: %+v", good, n, third, end)
	// Photos under way differ, by a dozen goroutines and two descriptors each at most.
	if end.goroutines > third.goroutines+100 || end.descriptors > third.descriptors+16 {
		t.Errorf("more goroutines or descriptors at the end: %+v, then %+v", third, end)
	}
	if most := third.heap + 16<<20 + int64(64*w*h); end.heap > most {
		t.Errorf("%d bytes on the heap at the end, %d after a third", end.heap, third.heap)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	for wait := time.Now(); runtime.NumGoroutine() > before+4 && time.Since(wait) < 10*time.Second; { // those of the driver stay
		time.Sleep(10 * time.Millisecond)
	}
	if after := runtime.NumGoroutine(); after > before+4 {
		t.Errorf("%d goroutines after it, %d before", after, before)
	}
}

// fullDisk takes no byte.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "out", Err: os.ErrInvalid}
}

// held is what the process holds.
type held struct {
	heap                    int64
	goroutines, descriptors int
}

func holds() held {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	fds, _ := os.ReadDir("/proc/self/fd") // none where there is no such folder
	return held{int64(m.HeapAlloc), runtime.NumGoroutine(), len(fds)}
}

// TestSoakSmall is 10,000 small photos with ENHANCE_LONG=1, else a few.
func TestSoakSmall(t *testing.T) {
	n := 60
	if os.Getenv("ENHANCE_LONG") == "1" {
		n = 10_000
	}
	soak(t, pipeline.Settings{Device: "host"}, n, 48, 64)
}

// TestSoakLarge is 200 photos of 768x512 on a device, with ENHANCE_LONG=1.
func TestSoakLarge(t *testing.T) {
	if os.Getenv("ENHANCE_LONG") != "1" {
		t.Skip("takes minutes: set ENHANCE_LONG=1")
	}
	needOpenCL(t)
	soak(t, pipeline.Settings{Memory: pipeline.Limit(256 << 20)}, 200, 768, 512)
}
