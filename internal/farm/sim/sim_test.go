package sim

import (
	"math"
	"testing"

	"enhance/internal/farm"
)

func config(photos int) Config {
	return Config{Photos: photos, Workers: []Kind{{"one", 10, 1}}, Policy: farm.DefaultPolicy(), Seed: 1,
		PhotoBytes: 1, ResultBytes: 1, StoreRate: 1e9, SubmitRate: 1e6}
}

// TestNothingGoesWrong: n photos of a second on ten workers take n/10 seconds.
func TestNothingGoesWrong(t *testing.T) {
	r := Run(config(10_000))
	if r.Done != 10_000 || r.Dead != 0 || r.Again != 0 || math.Abs(r.Seconds-1000) > 15 || r.WorkersBusy < 0.98 {
		t.Errorf("%+v", r)
	}
}

// TestBounds: what is short decides: the store, the server or the submitter.
func TestBounds(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Config)
		busy   func(*Result) float64
		want   float64 // seconds
	}{
		{"store", func(c *Config) { c.PhotoBytes, c.ResultBytes, c.StoreRate = 30, 20, 100 }, func(r *Result) float64 { return r.StoreBusy }, 5000},
		{"server", func(c *Config) { c.MessageTime = 0.05 }, func(r *Result) float64 { return r.ServerBusy }, 10_000 * (messagesSubmit + messagesTake + messagesPhoto) * 0.05},
		{"submitter", func(c *Config) { c.SubmitRate = 4 }, func(r *Result) float64 { return r.WorkersBusy / 0.4 }, 2500},
	} {
		k := config(10_000)
		c.change(&k)
		r := Run(k)
		if r.Done != k.Photos || math.Abs(r.Seconds/c.want-1) > 0.1 || c.busy(&r) < 0.9 {
			t.Errorf("%s: %.0f s, want %.0f: %+v", c.name, r.Seconds, c.want, r)
		}
	}
}

// TestTrouble: photos that kill are given up after the attempts of the policy, all others
// are done, and the queue keeps its bound.
func TestTrouble(t *testing.T) {
	c := config(20_000)
	c.Workers = []Kind{{"fast", 20, 0.5}, {"slow", 5, 20}}
	c.Poison, c.KillTime, c.Restart = 1e-3, 600, 5
	c.Policy.Queue = 1000
	r := Run(c)
	if r.Done+r.Dead != c.Photos || r.Dead < 20 || r.Dead > 24 || r.MaxQueue > 1000+3*25 || r.Again < 60 {
		t.Errorf("%+v", r)
	}
	if again := Run(c); again.Seconds != r.Seconds || again.Again != r.Again {
		t.Errorf("the same farm twice: %+v, %+v", r, again)
	}
}

// TestSlowWorkersLeaveTheEnd: the end does not wait for a worker 100 times slower.
func TestSlowWorkersLeaveTheEnd(t *testing.T) {
	c := config(1000)
	c.Workers = []Kind{{"fast", 2, 1}, {"slow", 3, 100}}
	r := Run(c)
	if r.Done != 1000 || r.Seconds > 620 || r.Refused == 0 {
		t.Errorf("%+v", r)
	}
}
