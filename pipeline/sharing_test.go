package pipeline

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// truth is a simulated device: what it takes, and what is predicted.
type truth struct {
	photo, start, predicted float64
	kind, processor         int
}

// simulate runs photos through devices by a clock of its own and returns when the
// last is done and how many each device made.
func simulate(devices []truth, photos, depth int) (end float64, made []int) {
	clock := time.Unix(1000, 0)
	at := func(s float64) time.Time { return clock.Add(time.Duration(s * 1e9)) }
	var all []*deviceTimes
	for _, d := range devices {
		all = append(all, &deviceTimes{kind: d.kind, processor: d.processor, predicted: d.predicted})
	}
	made = make([]int, len(devices))
	due := make([][]float64, len(devices)) // when photos under way will be done
	now, left := 0.0, photos
	for {
		for left > 0 {
			i := giveTo(loads(all, at(now), depth), left)
			if i < 0 {
				break
			}
			from, d := now, devices[i]
			if n := len(due[i]); n > 0 {
				from = due[i][n-1]
			}
			if made[i] == 0 {
				from += d.start
			}
			all[i].gave(at(now))
			due[i] = append(due[i], from+d.photo)
			made[i]++
			left--
		}
		next := -1
		for i := range due {
			if len(due[i]) > 0 && (next < 0 || due[i][0] < due[next][0]) {
				next = i
			}
		}
		if next < 0 {
			if left > 0 {
				panic("nothing is under way and nobody is given a photo")
			}
			return now, made
		}
		now = due[next][0]
		due[next] = due[next][1:]
		all[next].finished(at(now), true)
	}
}

// fastestAlone is what the fastest device takes for all photos.
func fastestAlone(devices []truth, photos int) float64 {
	least := math.Inf(1)
	for _, d := range devices {
		least = min(least, d.start+float64(photos)*d.photo)
	}
	return least
}

// TestSharing gives photos to simulated devices and holds the result against the fastest
// device alone.
func TestSharing(t *testing.T) {
	for _, c := range []struct {
		name    string
		devices []truth
		photos  int
		share   float64 // of the fastest alone's time, at most
		made    []int   // nil: any
	}{
		{"the host executor beside a fast device", []truth{{photo: 0.87, predicted: 0.4, processor: 0}, {photo: 7, predicted: 5, kind: 1, processor: 0}}, 2, 1, []int{2, 0}},
		{"and with many photos, as they have the same cores", []truth{{photo: 0.87, predicted: 0.4}, {photo: 7, predicted: 5, kind: 1}}, 100, 1, []int{100, 0}},
		{"the slow one comes first", []truth{{photo: 7, predicted: 5, processor: 0}, {photo: 0.1, predicted: 0.1, kind: 1, processor: 2}}, 3, 1, []int{0, 3}},
		{"a GPU and a CPU, many photos", []truth{{photo: 0.1, predicted: 0.05, processor: 1}, {photo: 3, predicted: 1.5, kind: 1}}, 400, 0.985, nil},
		{"two alike", []truth{{photo: 1, predicted: 1, processor: 1}, {photo: 1, predicted: 1, processor: 2}}, 10, 0.5, []int{5, 5}},
		{"three alike, three photos", []truth{{photo: 4, predicted: 1, processor: 1}, {photo: 4, predicted: 1, processor: 2}, {photo: 4, predicted: 1, processor: 3}}, 3, 0.34, []int{1, 1, 1}},
		{"one device twice", []truth{{photo: 1, predicted: 1}, {photo: 1, predicted: 1}}, 8, 0.5, []int{4, 4}},
		{"half as fast", []truth{{photo: 1, predicted: 1, processor: 1}, {photo: 2, predicted: 2, kind: 1, processor: 2}}, 30, 0.72, nil},
		{"the last photo is not for the slow one", []truth{{photo: 1, predicted: 1, processor: 1}, {photo: 3, predicted: 3, kind: 1, processor: 2}}, 2, 1, []int{2, 0}},
		{"predictions ten times too small", []truth{{photo: 1, predicted: 0.1, processor: 1}, {photo: 9, predicted: 0.9, kind: 1, processor: 2}}, 5, 1, []int{5, 0}},
		{"nothing is known of the second", []truth{{photo: 1, predicted: 0.1, processor: 1}, {photo: 9, kind: 1, processor: 2}}, 5, 1, []int{5, 0}},
		{"nothing is known at all", []truth{{photo: 1, processor: 1}, {photo: 9, kind: 1, processor: 2}}, 5, 1, []int{5, 0}},
		{"one photo", []truth{{photo: 9, predicted: 9, processor: 1}, {photo: 1, predicted: 1, kind: 1, processor: 2}}, 1, 1, []int{0, 1}},
	} {
		got, made := simulate(c.devices, c.photos, 3)
		if alone := fastestAlone(c.devices, c.photos); got > alone*c.share+1e-6 {
			t.Errorf("%s: %.2f s, by the fastest alone %.2f; the devices made %v", c.name, got, alone, made)
		}
		for i := range c.made {
			if made[i] != c.made[i] {
				t.Errorf("%s: the devices made %v, want %v", c.name, made, c.made)
				break
			}
		}
	}
}

// TestSharingNeverSlower: with any devices and numbers of photos, and predictions in seconds of
// another length that rank the devices rightly, no batch takes longer than on the fastest device alone.
func TestSharingNeverSlower(t *testing.T) {
	shared := 0
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var devices []truth
		scale, power := math.Exp(rng.NormFloat64()), 0.8+0.4*rng.Float64()
		for i := range 1 + rng.IntN(4) {
			photo := math.Exp(3 * rng.NormFloat64())
			devices = append(devices, truth{photo: photo, predicted: scale * math.Pow(photo, power), kind: i, processor: i})
			if i > 0 && rng.IntN(3) == 0 {
				devices[i] = devices[i-1]
				devices[i].processor = i
			}
		}
		photos := 1 + rng.IntN(60)
		got, made := simulate(devices, photos, 3+rng.IntN(6))
		if alone := fastestAlone(devices, photos); got > alone*(1+1e-9) {
			t.Errorf("seed %d: %.3f s, by the fastest alone %.3f: %d photos, %+v made %v", seed, got, alone, photos, devices, made)
		} else if got < 0.95*alone {
			shared++
		}
	}
	if shared < 500 {
		t.Errorf("only %d of 3000 batches were faster for having several devices", shared)
	}
}

// TestDeviceTimes: the first photo does not count when there are others, overlapping photos are
// counted once, failures not at all, and a photo takes as long as it has taken.
func TestDeviceTimes(t *testing.T) {
	at := func(s float64) time.Time { return time.Unix(50, 0).Add(time.Duration(s * 1e9)) }
	d := &deviceTimes{predicted: 1, start: 2}
	state := func(now float64) deviceLoad { return loads([]*deviceTimes{d}, at(now), 3)[0] }
	check := func(what string, now, photo, busy float64) {
		t.Helper()
		if l := state(now); math.Abs(l.photo-photo) > 1e-9 || math.Abs(l.busy-busy) > 1e-9 {
			t.Errorf("%s: %+v, want %g s a photo, busy for %g", what, l, photo, busy)
		}
	}
	check("not opened", 0, 1, 2)
	d.gave(at(0))
	check("opening", 1, 1, 2)
	check("late", 10, 8, 0)
	d.gave(at(1))
	d.gave(at(1))
	if state(1).room {
		t.Error("three photos of three, and room")
	}
	d.finished(at(5), true)
	check("one is done", 5, 5, 10)
	d.finished(at(5.5), false)
	check("one failed", 6, 5, 4.5)
	d.finished(at(7.5), true)
	check("two are done", 7.5, 2, 0)
	d.gave(at(20))
	check("after a pause", 21, 2, 1)
	d.finished(at(24), true)
	check("the mean", 24, 3, 0)
	if l := state(24); !l.sure || !l.room {
		t.Errorf("%+v is measured and has room", l)
	}
}
