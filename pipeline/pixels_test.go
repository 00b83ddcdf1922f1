package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"enhance/clrt"
	"enhance/internal/imgio"
	"enhance/pipeline/look"
	"enhance/raw"
	"enhance/raw/mosaic"
)

// bright is a headerless mosaic with gradients, edges and light far beyond what clips.
func bright(w, h int, seed uint64) []byte {
	rng := rand.New(rand.NewPCG(seed, 3))
	var b []byte
	for i := range w * h {
		y, x := i/w, i%w
		v := 900 + 40000*math.Pow(0.5+0.5*math.Sin(float64(x)/9)*math.Cos(float64(y)/13), 3)
		if dy, dx := y-h/3, x-w/2; dy*dy+dx*dx < 300 {
			v = 70000
		}
		if x > 2*w/3 && (y&1)^(x&1) == 1 { // green light beyond its level
			v += 45000
		}
		b = binary.LittleEndian.AppendUint16(b, uint16(min(max(v+400*rng.NormFloat64(), 0), 65535)))
	}
	return b
}

var sceneWB = look.WhiteBalance{Mode: look.WBGains, Gains: [3]float64{2.1, 1, 1.6}}

// developed are the codes, of 16 bits if nothing else is asked for, of a scene, by the device if it
// makes them or by the host.
func developed(t *testing.T, set Settings, j Job, w, h int, device bool) []uint16 {
	t.Helper()
	s, err := NewSession(set)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := bright(w, h, uint64(w*h))
	black, white := 512.0, 60000.0
	cfa := mosaic.GBRG
	var out bytes.Buffer
	j.Input, j.Reader, j.Size = "scene", bytes.NewReader(b), int64(len(b))
	j.Raw, j.Output.Writer, j.Output.Bits, j.Output.Format = raw.Options{Width: w, Height: h, CFA: &cfa, Black: &black, White: &white}, &out, cmp.Or(j.Output.Bits, 16), PNG
	j.WB = sceneWB
	r, err := s.begin(context.Background(), j)
	if err != nil {
		t.Fatal(err)
	}
	if !device {
		r.network.picture = nil
	}
	rep, err := r.finish()
	if err != nil {
		t.Fatal(err)
	}
	if r.network.makesPixels() != device {
		t.Fatalf("the device makes the picture: %v", r.network.makesPixels())
	}
	if m := rep.Memory; !m.AsPlanned {
		t.Errorf("the device held %d bytes, planned were %d", m.Peak, rep.Plan.Peak)
	}
	im, err := imgio.DecodeRGB16(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return im.Pix
}

func needDevice(t *testing.T) {
	t.Helper()
	if _, err := clrt.Devices(); err != nil {
		t.Skipf("needs an OpenCL device: %v", err)
	}
}

// TestPixels: codes that a device makes are within one of those that the host makes of the
// same network's rows, whatever is asked for that the device does, at odd sizes.
func TestPixels(t *testing.T) {
	needDevice(t)
	for name, c := range map[string]struct {
		w, h int
		job  Job
		set  Settings
	}{
		"default":     {203, 151, Job{}, Settings{}},
		"fp16":        {203, 151, Job{}, Settings{Precision: FP16}},
		"one cell":    {8, 6, Job{}, Settings{}},
		"narrow":      {17, 90, Job{}, Settings{}},
		"low":         {97, 33, Job{Look: Look{Sharpen: look.SharpenLow}}, Settings{}},
		"not sharp":   {97, 65, Job{Look: Look{Sharpen: look.SharpenOff}}, Settings{}},
		"bright":      {120, 81, Job{Look: Look{Exposure: look.Exposure{EV: 4}}}, Settings{}},
		"dark":        {120, 81, Job{Look: Look{Exposure: look.Exposure{EV: -3}}}, Settings{}},
		"Rec. 2020":   {88, 60, Job{Output: Output{Profile: "rec2020"}}, Settings{}},
		"linear sRGB": {88, 60, Job{Output: Output{Profile: "linear-srgb"}}, Settings{}},
	} {
		got, want := developed(t, c.set, c.job, c.w, c.h, true), developed(t, c.set, c.job, c.w, c.h, false)
		differ, most := 0, 0
		for i, v := range want {
			if d := int(got[i]) - int(v); d != 0 {
				differ, most = differ+1, max(most, d, -d)
			}
		}
		t.Logf("%s: %d of %d codes differ", name, differ, len(want))
		if len(got) != len(want) || most > 1 || differ*50 > len(want) {
			t.Errorf("%s: %d of %d codes differ, by %d at most", name, differ, len(want), most)
		}
	}
}

// TestPixelsAnyPlan: a picture that the device makes has the same bytes under every plan.
func TestPixelsAnyPlan(t *testing.T) {
	needDevice(t)
	want := developed(t, Settings{}, Job{}, 203, 151, true)
	for i, set := range []Settings{{PlanOptions: PlanOptions{StripRows: 2}}, {PlanOptions: PlanOptions{StripRows: 14}}, {PlanOptions: PlanOptions{WholePlanes: true}}, {Memory: Limit(6 << 20)}} {
		if got := developed(t, set, Job{}, 203, 151, true); !equalCodes(got, want) {
			t.Errorf("plan %d gives other bytes", i)
		}
	}
}

func equalCodes(a, b []uint16) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return len(a) == len(b)
}

// TestPixelsInBytes: the codes of a file of 8 bits, which the device rounds, are those of 16 bits
// rounded, by the device and by the host; a size of its own is made of codes of 16 bits.
func TestPixelsInBytes(t *testing.T) {
	needDevice(t)
	for _, sharpen := range []look.Sharpen{look.SharpenDefault, look.SharpenOff} {
		for _, device := range []bool{true, false} {
			j := Job{Look: Look{Sharpen: sharpen}}
			wide := developed(t, Settings{}, j, 203, 151, device)
			j.Output.Bits = 8
			for i, v := range developed(t, Settings{}, j, 203, 151, device) {
				if want := 257 * ((uint32(wide[i]) + 128) / 257); uint32(v) != want {
					t.Fatalf("sharpen %v, by the device %v: code %d is %d in 8 bits, %d in 16", sharpen, device, i, v/257, wide[i])
				}
			}
		}
	}
}

// TestWhoMakesThePicture: a device makes it only where it knows all stages.
func TestWhoMakesThePicture(t *testing.T) {
	in := &input{meta: &raw.Meta{CFA: mosaic.RGGB}, geo: geometry{out: raw.Rect{X0: 1, Y0: 2, X1: 31, Y1: 42}}}
	conv := normalised
	for name, c := range map[string]struct {
		job  Job
		want bool
	}{
		"default":      {Job{}, true},
		"natural":      {Job{Look: Look{Tone: look.ToneNatural}}, true},
		"linear":       {Job{Look: Look{Tone: look.ToneLinear}}, false},
		"floats":       {Job{Output: Output{Bits: 32}}, false},
		"DNG":          {Job{Output: Output{Format: DNG}}, false},
		"profile look": {Job{Look: Look{ProfileLook: look.LookProfile}}, false},
		"dcp":          {Job{Look: Look{CameraProfile: &CameraProfile{}}}, false},
	} {
		if p := in.devicePicture(&conv, &c.job); (p != nil) != c.want || p != nil && (p.X0 != 1 || p.Y1 != 42 || !p.Sharpen) {
			t.Errorf("%s: %+v", name, p)
		}
	}
	for name, c := range map[string]struct {
		job  Job
		want bool
	}{
		"default":   {Job{}, true},
		"8 bits":    {Job{Output: Output{Bits: 8, Format: JPEG}}, true},
		"16 bits":   {Job{Output: Output{Bits: 16}}, false},
		"resized":   {Job{Output: Output{Resize: Resize{20, 20}}}, false},
		"reference": {Job{Check: Check{Reference: "a.png"}}, false},
		"looked at": {Job{Show: Show{Side: 100}}, false},
	} {
		if p := in.devicePicture(&conv, &c.job); p.Bytes != c.want {
			t.Errorf("%s: codes of 8 bits: %v", name, p.Bytes)
		}
	}
	wide := *in
	wide.meta = &raw.Meta{CFA: mosaic.RGGB, PixelAspect: 2}
	if p := wide.devicePicture(&conv, &Job{}); p.Bytes {
		t.Error("wide samples: codes of 8 bits")
	}
	if p := in.devicePicture(&maskedConvention, &Job{}); p == nil {
		t.Error("masked planes change who makes the picture")
	}
}
