package pipeline_test

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"enhance/pipeline"
	"enhance/pipeline/look"
)

// shrinking is a file that loses its end after a number of reads.
type shrinking struct {
	whole *bytes.Reader
	cut   int64
	left  int
}

func (s *shrinking) ReadAt(b []byte, off int64) (int, error) {
	if s.left--; s.left < 0 {
		return bytes.NewReader(make([]byte, s.cut)).ReadAt(b, off)
	}
	return s.whole.ReadAt(b, off)
}

// TestFileShrinks: a photo that is cut while it is read is an error of the file, wherever
// it happens.
func TestFileShrinks(t *testing.T) {
	photo, err := os.ReadFile("../testdata/raw/colorchart.dng")
	if err != nil {
		t.Fatal(err)
	}
	s := session(t, pipeline.Settings{Device: "host"})
	for _, reads := range []int{0, 1, 3, 10, 100} {
		file := &shrinking{bytes.NewReader(photo), 1 << 16, reads}
		_, err := s.Enhance(context.Background(), pipeline.Job{Input: "photo", Reader: file, Size: int64(len(photo)), DryRun: true, Look: pipeline.Look{Tone: look.ToneLinear, Exposure: look.Exposure{Auto: true}}})
		if c := pipeline.Classify(err); file.left < 0 && c != pipeline.ClassIO && c != pipeline.ClassInput {
			t.Errorf("cut after %d reads: class %d, %v", reads, c, err)
		}
	}
}

// TestReferenceBomb: a reference of other sides is refused by its header, before its pixels
// take memory.
func TestReferenceBomb(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bomb.png")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := png.Encode(f, image.NewGray(image.Rect(0, 0, 8000, 5000))); err != nil {
		t.Fatal(err)
	}
	f.Close()
	s := session(t, pipeline.Settings{Device: "host"})
	j := filled(64, 48, 700).job(0, 0, new(bytes.Buffer))
	j.Reference = path
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = s.Enhance(context.Background(), j)
	runtime.ReadMemStats(&after)
	if pipeline.Classify(err) != pipeline.ClassOption || !strings.Contains(err.Error(), "8000x5000") {
		t.Error(err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
		t.Errorf("%d bytes were taken", n)
	}
}

// unread is a photo whose reads are counted.
type unread struct{ n atomic.Int64 }

func (u *unread) ReadAt(b []byte, off int64) (int, error) {
	u.n.Add(1)
	clear(b)
	return len(b), nil
}

// TestHopelessBudget: what no budget allows is refused before the photo is read, but for the
// samples of its noise and light, which are read while the device is opened.
func TestHopelessBudget(t *testing.T) {
	for _, set := range []pipeline.Settings{
		{Device: "host", HostMemory: pipeline.Limit(300 << 20)}, {Device: "host", Memory: pipeline.Limit(1 << 20)},
	} {
		const w, h = 40000, 40000
		j := filled(2, 2, 0).job(0, 0, new(bytes.Buffer))
		photo := new(unread)
		j.Raw.Width, j.Raw.Height, j.Reader, j.Size = w, h, photo, 2*w*h
		j.WB = look.WhiteBalance{Mode: look.WBAuto}
		_, err := session(t, set).Enhance(context.Background(), j)
		if pipeline.Classify(err) != pipeline.ClassBudget {
			t.Error(err)
		}
		if n := photo.n.Load(); n > 500 {
			t.Errorf("%d reads of %d rows before the refusal", n, h)
		}
	}
}

// TestUnknownError: only what no package of this program gives is of no class.
func TestUnknownError(t *testing.T) {
	if c := pipeline.Classify(errors.New("boo")); c != pipeline.ClassOther {
		t.Error(c)
	}
}
