package tune

import (
	"testing"
	"time"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/planar"
)

// TestAffordable: no more programs are begun than there is time for at the pace of
// those before; what is compiled already costs none.
func TestAffordable(t *testing.T) {
	dev := convtest.Device(t)
	ctx, err := clrt.NewContext(dev)
	if err != nil {
		t.Fatal(err)
	}
	defer ctx.Close()
	caps := conv.CapsOf(dev.Info())
	task := &Task{Shape: conv.Shape{K: 1, SrcC: []int{8}, OutC: 8, H: 8, W: 8}, Precision: "fp32"}
	for _, a := range []conv.Algo{plain(caps), conv.RowTile{Lanes: 1, Tile: 1}, conv.RowTile{Lanes: 2, Tile: 1}, conv.RowTile{Lanes: 1, Tile: 2}, conv.RowTile{Lanes: 2, Tile: 2}} {
		if _, err := a.New(caps, task.Shape, planar.FP32); err != nil {
			t.Fatal(err)
		}
		task.Candidates = append(task.Candidates, a)
	}
	all := len(task.Candidates) // the plain definition is among them
	for _, c := range []struct {
		name string
		pace time.Duration
		left time.Duration // 0: no end
		want int
	}{
		{"NoEnd", time.Hour, 0, all}, {"NoTime", time.Minute, -1, 0}, {"TooSlow", time.Hour, time.Minute, 0},
		{"Two", time.Hour, 2*time.Hour + time.Minute, 2}, {"Enough", time.Millisecond, time.Hour, all}, {"PaceUnknown", 0, time.Hour, all},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := NewMeter(ctx, caps, planar.FP32, Defaults(dev.Info(), 0))
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			m.pace = c.pace
			o := &Options{}
			if c.left != 0 {
				o.Until = time.Now().Add(c.left)
			}
			if got := len(m.affordable(task, o)); got != c.want {
				t.Errorf("%d programs, want %d of %d", got, c.want, all)
			}
			if c.left < 0 {
				return
			}
			// A second time the same ones are there for nothing.
			m.pace = 1000 * time.Hour
			if got := len(m.affordable(task, o)); got != c.want {
				t.Errorf("the second time %d programs, want %d", got, c.want)
			}
		})
	}
}

// TestCompileAhead: candidates of all tasks are asked for in the tasks' order, as far
// as there is time, and none where the device is the host's cores.
func TestCompileAhead(t *testing.T) {
	dev := convtest.Device(t)
	ctx, err := clrt.NewContext(dev)
	if err != nil {
		t.Fatal(err)
	}
	defer ctx.Close()
	for _, c := range []struct {
		name string
		cpu  bool
		pace time.Duration
		left time.Duration // 0: no end
		want int
	}{
		{"NoEnd", false, time.Hour, 0, 6}, {"CPU", true, time.Hour, 0, 0}, {"PaceUnknown", false, 0, time.Hour, 0},
		{"Some", false, time.Hour, 6 * time.Hour, 4}, {"Late", false, time.Hour, -time.Minute, 0}, {"Enough", false, time.Second, time.Hour, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := NewMeter(ctx, conv.CapsOf(dev.Info()), planar.FP32, Defaults(dev.Info(), 0))
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			m.pace, m.caps.CPU = c.pace, c.cpu
			var tasks []Task
			var order []string
			for tile := range 6 { // a program each, beside the plain definition, which is there
				k := Task{Shape: conv.Shape{K: 1, SrcC: []int{8}, OutC: 8, H: 8, W: 8}, Candidates: []conv.Algo{conv.RowTile{Lanes: 1 + tile%2, Tile: 1 + tile/2}}}
				tasks, order = append(tasks, k), append(order, m.sourceOf(&k, k.Candidates[0]))
			}
			m.builder.want(m.source(must(plain(m.caps).New(m.caps, tasks[0].Shape, m.precision))))
			before := len(m.builder.jobs)
			o := &Options{}
			if c.left != 0 {
				o.Until = time.Now().Add(c.left)
			}
			m.compileAhead(tasks, o)
			if got := len(m.builder.jobs) - before; got != c.want {
				t.Errorf("%d programs, want %d", got, c.want)
			}
			for i, src := range order {
				if src == "" || m.builder.known(src) != (i < c.want) {
					t.Errorf("program %d: asked for %v, want the first %d", i, m.builder.known(src), c.want)
				}
			}
		})
	}
}

func must(impl conv.Impl, err error) conv.Impl {
	if err != nil {
		panic(err)
	}
	return impl
}

// TestWithin: a program that is there counts however late it is; one that is not is
// waited for until the time is over.
func TestWithin(t *testing.T) {
	b := &builder{jobs: map[string]*building{}}
	for _, name := range []string{"there", "coming"} {
		b.jobs[name] = &building{source: name, done: make(chan struct{})}
	}
	close(b.jobs["there"].done)
	past := time.Now().Add(-time.Hour)
	for range 20 {
		if !b.within("there", past) || b.within("coming", past) {
			t.Fatal("what is there is not taken, or what is not is")
		}
	}
	if b.within("coming", time.Now().Add(10*time.Millisecond)) {
		t.Error("a program that never came is there")
	}
	time.AfterFunc(10*time.Millisecond, func() { close(b.jobs["coming"].done) })
	if !b.within("coming", time.Time{}) {
		t.Error("without an end it is not waited for")
	}
}
