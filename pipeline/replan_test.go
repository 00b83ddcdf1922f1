package pipeline_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"enhance/clrt"
	"enhance/internal/exec"
	"enhance/internal/profile"
	"enhance/pipeline"
	"enhance/pipeline/look"
)

// liar is a device that says no more than OpenCL does when its memory ends: it
// opens engines whose plans hold at most room bytes and refuses others when
// they have come to hold some.
type liar struct {
	room, holds int64
	opened      int
}

func (l *liar) open(j *exec.Job, c *clrt.Context) (*exec.Engine, error) {
	l.opened++
	if j.Plan.Peak <= l.room {
		return j.Open(c)
	}
	b, err := c.NewBuffer(l.holds, "what there is")
	if err != nil {
		return nil, err
	}
	if err := b.Close(); err != nil {
		return nil, err
	}
	return nil, &clrt.Error{Call: "clEnqueueFillBuffer", Code: -4}
}

// TestReplan: a device that cannot hold what it promised gets one more plan,
// which is said, and the picture is the same.
func TestReplan(t *testing.T) {
	needOpenCL(t)
	c, set := nikon(t).crop(100, 100, 256, 256), discrete(t)
	var want bytes.Buffer
	s := session(t, set)
	_, honest := develop(t, s, order(c, &want))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	least := smallest(t, set, c)
	// Between both, so that the plan made first does not fit and 70 % of it does.
	device := &liar{room: honest.Plan.Peak - 1, holds: honest.Plan.Peak - 1}
	if int64(0.7*float64(device.room)) < least {
		t.Fatalf("the test's photo is too small: plans of %d and %d bytes", honest.Plan.Peak, least)
	}
	s = session(t, set)
	pipeline.OpenWith(s, device.open)
	var got bytes.Buffer
	j := order(c, &got)
	var said []string
	j.Say = func(text string) { said = append(said, text) }
	_, rep := develop(t, s, j)
	if !bytes.Equal(got.Bytes(), want.Bytes()) {
		t.Error("another picture")
	}
	if device.opened != 2 || rep.Plan.Peak >= honest.Plan.Peak || rep.Plan.Peak > rep.Plan.Budget || rep.Plan.Budget > device.room {
		t.Errorf("opened %d times; peak %d of %d, first %d", device.opened, rep.Plan.Peak, rep.Plan.Budget, honest.Plan.Peak)
	}
	if len(said) != 1 || !strings.Contains(said[0], "planned again within") {
		t.Errorf("said %q", said)
	}
	// The session has learnt: the next photo is planned within what was found.
	var next bytes.Buffer
	if _, rep := develop(t, s, order(c.crop(0, 0, 256, 128), &next)); device.opened != 3 || rep.Plan.Budget > device.room {
		t.Errorf("opened %d times, budget %d", device.opened, rep.Plan.Budget)
	}
}

// TestTellsSlowOpening: who waits for a compiler is told so, who does not is not.
func TestTellsSlowOpening(t *testing.T) {
	needOpenCL(t)
	c := nikon(t).crop(100, 100, 64, 64)
	for _, slow := range []bool{false, true} {
		told := make(chan string, 16)
		s := session(t, pipeline.Settings{SessionObserver: pipeline.SessionObserver{Compiling: func(text string) { told <- text }}})
		var out bytes.Buffer
		develop(t, s, order(c, &out)) // kernels are in the cache now
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for len(told) > 0 {
			<-told
		}
		s = session(t, pipeline.Settings{SessionObserver: pipeline.SessionObserver{Compiling: func(text string) { told <- text }}})
		pipeline.OpenWith(s, func(j *exec.Job, c *clrt.Context) (*exec.Engine, error) {
			if slow {
				if text := <-told; !strings.Contains(text, "compiling kernels for this device") {
					t.Errorf("told %q", text)
				}
			}
			return j.Open(c)
		})
		develop(t, s, order(c, &out))
		if len(told) > 0 {
			t.Errorf("slow %v: told %q", slow, <-told)
		}
	}
}

// discrete is a network that many budgets serve, on a device taken to have
// memory of its own.
func discrete(t *testing.T) pipeline.Settings {
	t.Helper()
	p, err := profile.Load("rtx-3060")
	if err != nil {
		t.Fatal(err)
	}
	return pipeline.Settings{Model: "pynet-random:x,width=4", DeviceOptions: pipeline.DeviceOptions{Profile: profileFile(t, p)}}
}

// order is a job for that network.
func order(c capture, out *bytes.Buffer) pipeline.Job {
	j := c.job(0, 0, out)
	j.WB = look.WhiteBalance{}
	return j
}

// smallest is the least budget of a capture.
func smallest(t *testing.T, set pipeline.Settings, c capture) int64 {
	t.Helper()
	set.Memory = pipeline.Limit(1)
	var out bytes.Buffer
	_, err := session(t, set).Enhance(context.Background(), order(c, &out))
	var small *pipeline.BudgetError
	if !errors.As(err, &small) {
		t.Fatalf("a budget of one byte: %v", err)
	}
	return small.Minimum
}

// TestReplanFails: a device with room for nothing gets two tries, then an error
// of the class of budgets.
func TestReplanFails(t *testing.T) {
	needOpenCL(t)
	c := nikon(t).crop(100, 100, 256, 256)
	for _, holds := range []int64{1, 1 << 20, 5 << 20} {
		device := &liar{holds: holds}
		s := session(t, discrete(t))
		pipeline.OpenWith(s, device.open)
		var out bytes.Buffer
		_, err := s.Enhance(context.Background(), order(c, &out))
		var memory *pipeline.MemoryError
		if !errors.As(err, &memory) || memory.Minimum == 0 || pipeline.Classify(err) != pipeline.ClassBudget ||
			device.opened != map[bool]int{true: 2, false: 1}[holds == 5<<20] { // less than the smallest plan is not tried
			t.Errorf("held %d bytes: %d tries, error %v", holds, device.opened, err)
		}
	}
	// Other errors are no reason to plan again.
	ours := errors.New("our own")
	n := 0
	s := session(t, pipeline.Settings{})
	pipeline.OpenWith(s, func(*exec.Job, *clrt.Context) (*exec.Engine, error) { n++; return nil, ours })
	var out bytes.Buffer
	if _, err := s.Enhance(context.Background(), c.job(0, 0, &out)); !errors.Is(err, ours) || n != 1 {
		t.Errorf("%d tries, error %v", n, err)
	}
}
