package pipeline_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"enhance/internal/devices"
	"enhance/internal/hostmemory"
	"enhance/pipeline"
	"enhance/pipeline/look"
)

// crops are captures of a few sizes, some of equal size, as a folder has them.
func crops(t testing.TB) []capture {
	c := nikon(t)
	return []capture{c.crop(0, 0, 96, 64), c.crop(64, 32, 96, 64), c.crop(100, 100, 130, 90), c.crop(200, 40, 96, 64), c.crop(300, 200, 64, 160), c.crop(10, 300, 130, 90)}
}

// together makes all captures in one batch and checks what must hold of each.
func together(t *testing.T, set pipeline.Settings, cs []capture) [][]byte {
	t.Helper()
	b, err := pipeline.NewBatch(set)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}()
	outs := make([]bytes.Buffer, len(cs))
	next := 0
	b.Run(context.Background(), len(cs), func(i int) (pipeline.Job, bool) { return cs[i].job(0, 0, &outs[i]), true },
		func(i int, rep *pipeline.Report, err error) {
			if i != next {
				t.Errorf("told of photo %d, want %d", i, next)
			}
			next++
			if err != nil {
				t.Errorf("photo %d: %v", i, err)
				return
			}
			if m := rep.Memory; m.Measured && (!m.AsPlanned || rep.Plan.Budget > 0 && m.Peak > rep.Plan.Budget) {
				t.Errorf("photo %d: peak %d, planned %d, budget %d", i, m.Peak, rep.Plan.Peak, rep.Plan.Budget)
			}
		})
	if next != len(cs) {
		t.Errorf("told of %d photos of %d", next, len(cs))
	}
	var all [][]byte
	for i := range outs {
		all = append(all, outs[i].Bytes())
	}
	return all
}

// TestBatchSameBytes: photos that overlap, on one session or on several, are those
// that runs of their own make.
func TestBatchSameBytes(t *testing.T) {
	needOpenCL(t)
	cs := crops(t)
	var want [][]byte
	s := session(t, pipeline.Settings{Device: "0"})
	for _, c := range cs {
		var out bytes.Buffer
		if _, err := s.Enhance(context.Background(), c.job(0, 0, &out)); err != nil {
			t.Fatal(err)
		}
		want = append(want, out.Bytes())
	}
	resident, _ := hostmemory.Resident() // of the tests before too, and more under the race detector
	for name, set := range map[string]pipeline.Settings{
		"one device":       {Device: "0"},
		"two sessions":     {Device: "0,0"},
		"three, budgeted":  {Device: "0,0,0", Memory: pipeline.Limit(96 << 20)},
		"all":              {Device: devices.All},
		"host memory":      {Device: "0", HostMemory: pipeline.Limit(resident + 700<<20)},
		"hardly any of it": {Device: "0,0", HostMemory: pipeline.Limit(resident + 200<<20), Memory: pipeline.Limit(64 << 20)},
	} {
		t.Run(name, func(t *testing.T) {
			for i, got := range together(t, set, cs) {
				if !bytes.Equal(got, want[i]) {
					t.Errorf("photo %d differs from a run of its own", i)
				}
			}
		})
	}
}

// TestBatchRest: a batch at rest holds nothing on its device, and its pictures afterwards are the same.
func TestBatchRest(t *testing.T) {
	needOpenCL(t)
	c := crops(t)[2]
	b, err := pipeline.NewBatch(pipeline.Settings{Device: "0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	var outs [2]bytes.Buffer
	for i := range outs {
		b.Run(context.Background(), 1, func(int) (pipeline.Job, bool) { return c.job(0, 0, &outs[i]), true },
			func(_ int, rep *pipeline.Report, err error) {
				if err != nil {
					t.Errorf("photo %d: %v", i, err)
				} else if !rep.Memory.AsPlanned {
					t.Errorf("photo %d: peak %d, planned %d", i, rep.Memory.Peak, rep.Plan.Peak)
				}
			})
		if pipeline.Live(b) == 0 {
			t.Error("nothing was held before the rest")
		}
		if err := b.Rest(); err != nil {
			t.Fatal(err)
		}
		if n := pipeline.Live(b); n != 0 {
			t.Errorf("%d bytes are held at rest", n)
		}
	}
	if !bytes.Equal(outs[0].Bytes(), outs[1].Bytes()) {
		t.Error("another picture after the rest")
	}
}

// TestBatchHost: the host executor takes part like any device.
func TestBatchHost(t *testing.T) {
	cs := crops(t)[:2]
	want := together(t, pipeline.Settings{Device: "host"}, cs)
	got := together(t, pipeline.Settings{Device: "host,host"}, cs)
	for i := range cs {
		if len(got[i]) == 0 || !bytes.Equal(got[i], want[i]) {
			t.Errorf("photo %d differs", i)
		}
	}
}

// broken fails at some byte.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("no room") }

// TestBatchFailures: photos that fail at every station leave the others alone.
func TestBatchFailures(t *testing.T) {
	needOpenCL(t)
	cs := crops(t)
	b, err := pipeline.NewBatch(pipeline.Settings{Device: "0,0"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	const n = 12
	outs := make([]bytes.Buffer, n)
	passed := make([]pipeline.Class, n)
	b.Run(context.Background(), n, func(i int) (pipeline.Job, bool) {
		j := cs[i%len(cs)].job(0, 0, &outs[i])
		switch i {
		case 1:
			j = pipeline.Job{Input: "no such photo.dng", Output: pipeline.Output{Writer: io.Discard}}
		case 3: // its samples end too early
			j.Reader = cutOff{j.Reader}
		case 5:
			j.Output.Writer = broken{}
		case 7:
			return j, false
		case 8:
			j.Output.Bits = 12
		case 9:
			j.WB = look.WhiteBalance{Mode: look.WBAsShot}
		}
		return j, true
	}, func(i int, _ *pipeline.Report, err error) { passed[i] = pipeline.Classify(err) })
	for i, c := range passed {
		ok := c == pipeline.ClassNone
		if want := !slices.Contains([]int{1, 3, 5, 8, 9}, i); ok != want {
			t.Errorf("photo %d: class %d", i, c)
		}
		if ok && i != 7 && outs[i].Len() == 0 {
			t.Errorf("photo %d is empty", i)
		}
	}
}

// cutOff fails in the second half of a photo.
type cutOff struct{ io.ReaderAt }

func (c cutOff) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > 4000 {
		return 0, &fs.PathError{Op: "read", Path: "photo", Err: io.ErrUnexpectedEOF}
	}
	return c.ReaderAt.ReadAt(p, off)
}

// TestBatchInterrupt: all that is under way ends, nothing new is begun, and done is
// called in order for what was.
func TestBatchInterrupt(t *testing.T) {
	needOpenCL(t)
	c := nikon(t)
	b, err := pipeline.NewBatch(pipeline.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	ctx, cancel := context.WithCancel(context.Background())
	begun, next, interrupted := 0, 0, 0
	start := time.Now()
	b.Run(ctx, 1000, func(i int) (pipeline.Job, bool) {
		begun++
		j := c.job(0, 0, new(bytes.Buffer))
		if i == 2 {
			j.Progress = func(done, total int64) { cancel() }
		}
		return j, true
	}, func(i int, _ *pipeline.Report, err error) {
		if i != next {
			t.Errorf("told of photo %d, want %d", i, next)
		}
		next++
		if pipeline.Classify(err) == pipeline.ClassInterrupted {
			interrupted++
		}
	})
	if begun > 40 || interrupted == 0 || next > begun {
		t.Errorf("%d photos begun, %d told of, %d interrupted", begun, next, interrupted)
	}
	t.Logf("%d begun, %d told of, %d interrupted, %v", begun, next, interrupted, time.Since(start))
}

// TestBatchOverlaps: while a photo has the device, the next is decoded. The second
// photo's reader waits for the first's output to be begun, and the first's output
// for the second to be read: neither could go on alone.
func TestBatchOverlaps(t *testing.T) {
	needOpenCL(t)
	cs := crops(t)
	b, err := pipeline.NewBatch(pipeline.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	read := make(chan struct{})
	var late atomic.Bool
	b.Run(context.Background(), 2, func(i int) (pipeline.Job, bool) {
		j := cs[i].job(0, 0, new(bytes.Buffer))
		if i == 0 {
			j.Progress = func(done, total int64) {
				select {
				case <-read:
				case <-time.After(20 * time.Second):
					late.Store(true)
				}
			}
			return j, true
		}
		j.Reader = &told{ReaderAt: j.Reader, read: read}
		return j, true
	}, func(i int, _ *pipeline.Report, err error) {
		if err != nil {
			t.Errorf("photo %d: %v", i, err)
		}
	})
	if late.Load() {
		t.Error("the second photo was not decoded while the first was computed")
	}
}

// told says when it is read for the first time.
type told struct {
	io.ReaderAt
	read chan struct{}
	once atomic.Bool
}

func (r *told) ReadAt(p []byte, off int64) (int, error) {
	if r.once.CompareAndSwap(false, true) {
		close(r.read)
	}
	return r.ReaderAt.ReadAt(p, off)
}

func TestBatchOfNoSuchDevice(t *testing.T) {
	if _, err := pipeline.NewBatch(pipeline.Settings{Device: "0,no such device"}); pipeline.Classify(err) != pipeline.ClassDevice {
		t.Errorf("a device that is not there: %v", err)
	}
}

// TestBatchLeavesTheSlow: the host executor, which would take ten times as long on the
// same cores, makes none of the photos that a CPU device can make.
func TestBatchLeavesTheSlow(t *testing.T) {
	needOpenCL(t)
	first, err := devices.Choose("0")
	if err != nil {
		t.Fatal(err)
	}
	for _, devices := range []string{"0,host", "host,0"} {
		b, err := pipeline.NewBatch(pipeline.Settings{Device: devices})
		if err != nil {
			t.Fatal(err)
		}
		cs := crops(t)[:4]
		b.Run(context.Background(), len(cs), func(i int) (pipeline.Job, bool) { return cs[i].job(0, 0, new(bytes.Buffer)), true },
			func(i int, rep *pipeline.Report, err error) {
				if err != nil || rep.Device.Name != first.Device.String() {
					t.Errorf("-g %s: photo %d was made by %+v, error %v", devices, i, rep.Device, err)
				}
			})
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}
