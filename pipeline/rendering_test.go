package pipeline_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"runtime"
	"testing"

	"enhance/internal/imgio"
	"enhance/pipeline"
	"enhance/pipeline/look"
	"enhance/raw/dng"
	"enhance/raw/noise"
)

// hashOf is a picture's samples in short.
func hashOf(im *imgio.RGB16) string {
	h := sha256.New()
	binary.Write(h, binary.LittleEndian, im.Pix)
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// noiseOfBefore are the levels that were estimated when the hashes below were taken: what an
// estimate gives may change, and rendering does not with it.
var noiseOfBefore = look.Noise{Mode: look.NoiseGiven, Levels: noise.Levels{
	{S: 9.883496471138445e-08, O: 1.954376383260179e-13}, {S: 9.883496471138445e-08, O: 1.954376383260179e-13}, {S: 9.883496471138445e-08, O: 1.954376383260179e-13}}}

// TestLinearToneOfBefore holds the samples of --tone linear against those that were made
// before there was any other tone, by commit dd9137f but for the borders, where zeros are now.
func TestLinearToneOfBefore(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the host executor's last bits are those of amd64")
	}
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice, Model: "pynet-m-random:x,size=tiny"})
	var out bytes.Buffer
	j := nikon(t).crop(300, 200, 64, 48).job(0, 0, &out)
	j.Noise = noiseOfBefore
	im, _ := develop(t, s, j)
	if got, want := hashOf(im), "c9821e3e97aac1bb12f82f8b"; got != want {
		t.Errorf("samples %s, were %s", got, want)
	}
}

// TestNaturalTone: the default picture is rendered, its exposure is decided from the
// photo, and its samples are those of the golden hash.
func TestNaturalTone(t *testing.T) {
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice, Model: "pynet-m-random:x,size=tiny"})
	var out bytes.Buffer
	j := nikon(t).crop(300, 200, 64, 48).job(0, 0, &out)
	j.Tone, j.Noise = look.ToneDefault, noiseOfBefore
	im, rep := develop(t, s, j)
	if rep.Colour.Tone != "natural" || !rep.Colour.AutoExposure {
		t.Errorf("tone %q, exposure %+v", rep.Colour.Tone, rep.Colour)
	}
	if got, want := hashOf(im), "15a089c00bcc8366fbd4c745"; runtime.GOARCH == "amd64" && got != want {
		t.Errorf("samples %s, were %s", got, want)
	}
}

// TestDisplayReadyHasNoTone: networks that render keep their pictures, and refuse another tone.
func TestDisplayReadyHasNoTone(t *testing.T) {
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice, Model: "pynet-random:x,width=2"})
	var a, b bytes.Buffer
	c := nikon(t).crop(300, 200, 64, 64)
	job := func(tone look.Tone, out *bytes.Buffer) pipeline.Job {
		j := c.job(0, 0, out)
		j.WB, j.Tone = look.WhiteBalance{}, tone
		return j
	}
	_, rep := develop(t, s, job(look.ToneDefault, &a))
	develop(t, s, job(look.ToneLinear, &b))
	if !bytes.Equal(a.Bytes(), b.Bytes()) || rep.Colour.Tone != "the model's own" {
		t.Errorf("tone %q changes a display-ready picture", rep.Colour.Tone)
	}
	if _, err := s.Enhance(context.Background(), job(look.ToneNatural, new(bytes.Buffer))); pipeline.Classify(err) != pipeline.ClassOption {
		t.Errorf("a tone for a display-ready network: %v", err)
	}
}

// TestRampThroughClipping develops a demosaiced ramp of grey light that goes on to where
// all colours are clipped: no pixel is darker than one before, none is coloured, and the
// end is white under every exposure.
func TestRampThroughClipping(t *testing.T) {
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice})
	const w, h = 1500, 70
	p := dng.Spec{Width: w, Height: h, Linear: true, Bits: 16, TileWidth: 64, TileHeight: 64, Samples: make([]uint16, 3*w*h)}
	p.Meta.AsShot = &[3]float64{0.5, 1, 0.625}
	for i := range p.Samples {
		light := 2.2 * float64(i/3%w) / w * p.Meta.AsShot[i%3]
		p.Samples[i] = uint16(min(light, 1) * 65535)
	}
	for _, ev := range []float64{-2, 0, 1} {
		var out bytes.Buffer
		j := linearJob(t, p, &out)
		j.Tone, j.Exposure = look.ToneNatural, look.Exposure{EV: ev, Given: true}
		im, _ := develop(t, s, j)
		for y := 0; y < h; y += 23 {
			row, last := im.Row(y), uint16(0)
			for x := range w {
				px := row[3*x:][:3]
				if least, most := min(px[0], px[1], px[2]), max(px[0], px[1], px[2]); most-least > 130 || int(least)+130 < int(last) {
					t.Fatalf("%+g EV, row %d, column %d: %v after %d", ev, y, x, px, last)
				} else {
					last = max(last, least)
				}
			}
			if last != 65535 {
				t.Errorf("%+g EV, row %d: clipped light gives %d", ev, y, last)
			}
		}
	}
}
