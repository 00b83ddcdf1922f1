package tune

import (
	"testing"
	"time"

	"enhance/clrt"
	"enhance/conv"
	"enhance/conv/convtest"
	"enhance/planar"
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
