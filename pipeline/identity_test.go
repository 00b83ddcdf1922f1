package pipeline_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"enhance/pipeline"
	"enhance/pipeline/look"
)

// TestGeneration: a picture file that changes is of another generation, so that a farm does not take results of
// older builds for those of this one.
func TestGeneration(t *testing.T) {
	files := map[string]string{ // the first 24 digits of the SHA-256 by generation
		"1": "a968b32f5ba539abd40ae848",
		"2": "7b2551e7a73ee7e0dad79970", // colours at the gamut's bounds; dead samples in lit detail
		"3": "d94ee3a8c64f83ef81d16e41", // PNG's own Huffman coder; pictures that devices make
		"4": "d09f49d9ceccf34b0c8201d6", // the same pixels; codes of PNG for 256 KiB, a part of the bytes counted
		"5": "d09f49d9ceccf34b0c8201d6", // the same here; some smooth blocks of PNG are not searched for repetitions
		"6": "d09f49d9ceccf34b0c8201d6", // the same here; other noise stays by --denoise
		"7": "d6da560cf6ee8d82f160bd74", // pynet-m sees zeros beyond its planes, and the mosaic is reflected, not they
		"8": "d6da560cf6ee8d82f160bd74", // the same here; told of no noise, samples stay as they are
	}
	_, generation, ok := strings.Cut(pipeline.Generation(), "-")
	if !ok {
		t.Fatalf("the generation is %q", pipeline.Generation())
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("the host executor's last bits are those of amd64")
	}
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice, Model: "pynet-m-random:x,size=tiny"})
	var out bytes.Buffer
	j := nikon(t).crop(300, 200, 64, 48).job(0, 0, &out)
	j.Tone, j.Output.Bits = look.ToneDefault, 8
	develop(t, s, j)
	sum := sha256.Sum256(out.Bytes())
	if got := hex.EncodeToString(sum[:12]); got != files[generation] {
		t.Errorf("generation %s makes the file %s, was %s: raise pictureGeneration in identity.go and add a line here", generation, got, files[generation])
	}
}

func TestIdentity(t *testing.T) {
	seen := map[string]string{}
	for _, m := range []string{"pynet-m-random:x,size=tiny", "pynet-m-random:y,size=tiny", "fast", "best"} {
		id := session(t, pipeline.Settings{Device: pipeline.HostDevice, Model: m}).Identity()
		if other, there := seen[id.Model]; there || len(id.Model) != 64 {
			t.Errorf("%s is %s, as %s", m, id.Model, other)
		}
		seen[id.Model] = m
		if again := session(t, pipeline.Settings{Device: pipeline.HostDevice, Model: m}).Identity(); again != id {
			t.Errorf("%s: %+v, then %+v", m, id, again)
		}
		if id.Class == "" || id.Generation != pipeline.Generation() || id.Device == "" {
			t.Errorf("%+v", id)
		}
	}
}

// TestRoom: the sizes that the planner has room for, on the host within a budget, and what the others need.
func TestRoom(t *testing.T) {
	sides := []int{128, 256, 512, 1024}
	for _, c := range []struct {
		budget pipeline.Budget
		want   int
	}{{pipeline.Unlimited(), 1024}, {pipeline.Limit(6 << 20), 256}, {pipeline.Limit(1 << 10), 0}} {
		s := session(t, pipeline.Settings{Device: pipeline.HostDevice, Model: "pynet-m-random:x,size=tiny", Memory: c.budget, HostMemory: pipeline.Unlimited()})
		room, err := s.Room(context.Background(), sides)
		if err != nil {
			t.Fatal(err)
		}
		least := int64(0)
		for i, why := range room {
			if (why == nil) != (sides[i] <= c.want) {
				t.Errorf("%v, side %d: %v", c.budget, sides[i], why)
			}
			if why == nil {
				continue
			}
			if n := pipeline.Least(why); pipeline.Classify(why) != pipeline.ClassBudget || n <= least {
				t.Errorf("%v, side %d: %v: it needs %d, and one less %d", c.budget, sides[i], why, n, least)
			} else {
				least = n
			}
		}
	}
}

// TestEach: photos that come one by one give the bytes of a batch, and each is told once.
func TestEach(t *testing.T) {
	b, err := pipeline.NewBatch(pipeline.Settings{Device: pipeline.HostDevice, Model: "pynet-m-random:x,size=tiny"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	const n = 5
	make := func(do func(job func(i int) pipeline.Job, done func(int, *pipeline.Report, error))) []string {
		var outs [n]bytes.Buffer
		var mu sync.Mutex
		var told []int
		do(func(i int) pipeline.Job { return nikon(t).crop(100*i, 200, 64, 48).job(0, 0, &outs[i]) }, func(i int, r *pipeline.Report, err error) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, i)
			if err != nil || r == nil {
				t.Errorf("photo %d: %v, %v", i, r, err)
			}
		})
		slices.Sort(told)
		if !slices.Equal(told, []int{0, 1, 2, 3, 4}) {
			t.Errorf("told of %v", told)
		}
		var sums []string
		for i := range outs {
			sums = append(sums, fmt.Sprintf("%x", sha256.Sum256(outs[i].Bytes())))
		}
		return sums
	}
	want := make(func(job func(int) pipeline.Job, done func(int, *pipeline.Report, error)) {
		b.Run(context.Background(), n, func(i int) (pipeline.Job, bool) { return job(i), true }, done)
	})
	got := make(func(job func(int) pipeline.Job, done func(int, *pipeline.Report, error)) {
		b.Each(context.Background(), func(i int) (pipeline.Job, bool) {
			if i == n {
				return pipeline.Job{}, false
			}
			return job(i), true
		}, done)
	})
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
