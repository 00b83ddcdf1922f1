package pipeline_test

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"sync/atomic"
	"testing"

	"enhance/pipeline"
	"enhance/raw"
	"enhance/raw/mosaic"
)

// counted counts the bytes that are read.
type counted struct {
	*bytes.Reader
	bytes atomic.Int64
}

func (c *counted) ReadAt(b []byte, off int64) (int, error) {
	n, err := c.Reader.ReadAt(b, off)
	c.bytes.Add(int64(n))
	return n, err
}

// TestDecodedOnce: a photo that can be read from its top only is decoded once where the
// host has memory for it, and the picture is the one that less memory gives.
func TestDecodedOnce(t *testing.T) {
	const w, h = 64, 1600
	im := image.NewGray16(image.Rect(0, 0, w, h))
	for i := range w * h {
		x, y := i%w, i/w
		im.SetGray16(x, y, color.Gray16{Y: uint16(2000 + 9*y + (x*7919+y*104729)%601)})
	}
	var file bytes.Buffer
	if err := png.Encode(&file, im); err != nil {
		t.Fatal(err)
	}
	var pictures [][]byte
	for _, c := range []struct {
		host  pipeline.Budget
		times float64 // that the file is read, at most
	}{{pipeline.Unlimited(), 1.2}, {pipeline.Limit(4 << 30), 2.4}} {
		s := session(t, pipeline.Settings{Device: pipeline.HostDevice, HostMemory: c.host})
		in := &counted{Reader: bytes.NewReader(file.Bytes())}
		cfa := mosaic.RGGB
		var out bytes.Buffer
		if _, err := s.Enhance(t.Context(), pipeline.Job{Input: "photo.png", Reader: in, Size: int64(file.Len()), Raw: raw.Options{CFA: &cfa}, Output: pipeline.Output{Writer: &out}}); err != nil {
			t.Fatal(err)
		}
		times := float64(in.bytes.Load()) / float64(file.Len())
		t.Logf("host memory %v: the file was read %.2f times", c.host, times)
		if times > c.times {
			t.Errorf("host memory %v: the file was read %.2f times", c.host, times)
		}
		pictures = append(pictures, out.Bytes())
	}
	if !bytes.Equal(pictures[0], pictures[1]) {
		t.Error("the pictures differ")
	}
}
