package pipeline_test

import (
	"bytes"
	"context"
	"math"
	"testing"

	"enhance/internal/colour"
	"enhance/pipeline"
	"enhance/pipeline/look"
	"enhance/raw/dng"
)

// profileMeanings is what the profiles must mean, stated a second time.
var profileMeanings = map[string]struct {
	space  colour.Space
	decode func(float64) float64
}{
	"srgb":           {colour.SRGB, colour.SRGBDecode},
	"p3":             {colour.DisplayP3, colour.SRGBDecode},
	"rec2020":        {colour.Rec2020, bt2020Light},
	"linear-srgb":    {colour.SRGB, func(v float64) float64 { return v }},
	"linear-p3":      {colour.DisplayP3, func(v float64) float64 { return v }},
	"linear-rec2020": {colour.Rec2020, func(v float64) float64 { return v }},
}

// bt2020Light is the inverse of the signal's definition in ITU-R BT.2020.
func bt2020Light(v float64) float64 {
	const alpha, beta = 1.09929682680944, 0.018053968510807
	if v < 4.5*beta {
		return v / 4.5
	}
	return math.Pow((v+alpha-1)/alpha, 1/0.45)
}

// mutedColours is a demosaiced photo of smooth colours that lie within sRGB.
func mutedColours() dng.Spec {
	const w, h = 96, 70
	p := dng.Spec{Width: w, Height: h, Linear: true, Bits: 16, Samples: make([]uint16, 3*w*h)}
	p.Meta.AsShot = &[3]float64{1, 1, 1}
	for i := range p.Samples {
		x, y, c := i/3%w, i/3/w, i%3
		p.Samples[i] = uint16(20000 + 9000*math.Sin(float64(x)/9+float64(2*c)) + 6000*math.Cos(float64(y)/7+float64(c)))
	}
	return p
}

// TestOutputProfiles: a colour within sRGB is the same colour in every profile, whatever made
// the light and whether it is resized.
func TestOutputProfiles(t *testing.T) {
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice})
	for _, tone := range []look.Tone{look.ToneLinear, look.ToneNatural} {
		var want []float64
		for _, name := range pipeline.OutputProfiles() {
			var out bytes.Buffer
			j := linearJob(t, mutedColours(), &out)
			j.Tone, j.Output.Resize = tone, pipeline.Resize{Width: 60, Height: 60}
			// Sharpening goes by luminance, which the space decides.
			j.Output.Profile, j.Sharpen = pipeline.OutputProfile(name), look.SharpenOff
			im, rep := develop(t, s, j)
			if rep.Output.Profile != name {
				t.Errorf("%s is reported as %q", name, rep.Output.Profile)
			}
			means := profileMeanings[rep.Output.Profile]
			toXYZ, worst := means.space.ToXYZ(), 0.0
			for i := 0; i < len(im.Pix); i += 3 {
				var light [3]float64
				for c := range light {
					light[c] = means.decode(float64(im.Pix[i+c]) / 65535)
				}
				for c, v := range colour.Apply(toXYZ, light) {
					if name == "srgb" {
						want = append(want, v)
					} else {
						worst = math.Max(worst, math.Abs(v-want[i+c]))
					}
				}
			}
			if t.Logf("%v %s: %.6f", tone, name, worst); worst > 1e-4 {
				t.Errorf("%v %s: XYZ differs by %.6f from the sRGB picture's", tone, name, worst)
			}
		}
	}
}

// TestDisplayReadyProfiles: the sRGB codes of a network that renders become those of another
// profile.
func TestDisplayReadyProfiles(t *testing.T) {
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice, Model: "pynet-random:x,width=2"})
	var a, b bytes.Buffer
	job := func(profile pipeline.OutputProfile, out *bytes.Buffer) pipeline.Job {
		j := nikon(t).crop(300, 200, 64, 64).job(0, 0, out)
		j.WB, j.Tone, j.Output.Profile = look.WhiteBalance{}, look.ToneDefault, profile
		return j
	}
	srgb, _ := develop(t, s, job("srgb", &a))
	linear, _ := develop(t, s, job("linear-srgb", &b))
	for i, v := range srgb.Pix {
		if want := 65535 * colour.SRGBDecode(float64(v)/65535); math.Abs(float64(linear.Pix[i])-want) > 3 {
			t.Fatalf("sample %d: sRGB code %d becomes %d, want %.1f", i, v, linear.Pix[i], want)
		}
	}
}

// TestOutputProfilesRefused: what a file cannot hold well is refused.
func TestOutputProfilesRefused(t *testing.T) {
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice})
	for name, change := range map[string]func(j *pipeline.Job){
		"unknown":        func(j *pipeline.Job) { j.Output.Profile = "adobe" },
		"linear, 8 bits": func(j *pipeline.Job) { j.Output.Profile, j.Output.Bits = "linear-p3", 8 },
		"linear JPEG": func(j *pipeline.Job) {
			j.Output.Profile, j.Output.Format, j.Output.Bits = "linear-srgb", pipeline.JPEG, 8
		},
		"reference": func(j *pipeline.Job) { j.Output.Profile, j.Reference = "p3", "testdata/none.png" },
	} {
		var out bytes.Buffer
		j := linearJob(t, mutedColours(), &out)
		change(&j)
		if _, err := s.Enhance(context.Background(), j); pipeline.Classify(err) != pipeline.ClassOption || out.Len() > 0 {
			t.Errorf("%s: %v, %d bytes written", name, err, out.Len())
		}
	}
}

// TestGreysStayGrey: grey surfaces under every light are grey in every picture: their chroma in
// CIELAB is far below one.
func TestGreysStayGrey(t *testing.T) {
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice})
	for _, neutral := range [][3]float64{{0.4, 1, 0.7}, {0.8, 1, 0.35}, {1, 0.6, 0.9}} {
		spec := profiled(nil)
		spec.Meta.ForwardMatrix1, spec.Meta.ForwardMatrix2, spec.Meta.AsShot = nil, nil, &neutral
		for i := range spec.Samples {
			level := 60000 * math.Pow(0.5, float64(i/3%spec.Width/16)) // six greys, from white to black
			spec.Samples[i] = uint16(level * neutral[i%3])
		}
		for _, tone := range []look.Tone{look.ToneLinear, look.ToneNatural} {
			var out bytes.Buffer
			j := linearJob(t, spec, &out)
			j.Tone = tone
			im, _ := develop(t, s, j)
			for i := 0; i < len(im.Pix); i += 3 {
				var light [3]float64
				for c := range light {
					light[c] = colour.SRGBDecode(float64(im.Pix[i+c]) / 65535)
				}
				if lab := colour.Lab(light); math.Hypot(lab[1], lab[2]) > 0.3 {
					t.Fatalf("neutral %v, %v: %v has the chroma %.3f", neutral, tone, im.Pix[i:i+3], math.Hypot(lab[1], lab[2]))
				}
			}
		}
	}
}
