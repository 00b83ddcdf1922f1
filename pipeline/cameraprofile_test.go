package pipeline_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"enhance/internal/colour"
	"enhance/internal/imgio"
	"enhance/pipeline"
	"enhance/pipeline/look"
	"enhance/raw/dcp"
	"enhance/raw/dng"
	"enhance/raw/mosaic"
)

// proPhotoXYZ is the matrix from linear ProPhoto RGB to XYZ as Adobe's and Kodak's papers
// print it: a camera with this forward matrix sees ProPhoto RGB.
var proPhotoXYZ = [3][3]float64{{0.7976749, 0.1351917, 0.0313534}, {0.2880402, 0.7118741, 0.0000857}, {0, 0, 0.82521}}

// profiled is a demosaiced photo of muted colours whose camera sees ProPhoto RGB under every
// light, and whose profile is p.
func profiled(p *mosaic.Profile) dng.Spec {
	s := mutedColours()
	s.Meta.Make, s.Meta.Model, s.Meta.UniqueModel = "Maker", "Model 1", "Maker Model 1"
	s.Meta.ColorMatrix1 = &[3][3]float64{{0.6461, -0.1164, -0.0857}, {-0.3825, 1.1597, 0.2534}, {-0.0416, 0.154, 0.6039}}
	s.Meta.ColorMatrix2, s.Meta.Illuminant1, s.Meta.Illuminant2 = s.Meta.ColorMatrix1, 17, 21
	s.Meta.ForwardMatrix1, s.Meta.ForwardMatrix2 = &proPhotoXYZ, &proPhotoXYZ
	s.Meta.AsShot = &[3]float64{0.6, 1, 0.55}
	s.Meta.BaselineExposure = -0.5
	for i := range s.Samples {
		s.Samples[i] = uint16(float64(s.Samples[i]) * s.Meta.AsShot[i%3])
	}
	s.Meta.Profile = p
	return s
}

// constant is a table that changes all colours alike, but for the value of greys.
func constant(hues, saturations, values int, shift, saturation, value float32) *mosaic.HueSatMap {
	t := &mosaic.HueSatMap{Hues: hues, Saturations: saturations, Values: values}
	for i := range hues * saturations * values {
		d := [3]float32{shift, saturation, value}
		if i%saturations == 0 {
			d[2] = 1
		}
		t.Deltas = append(t.Deltas, d)
	}
	return t
}

// hexcone and fromHexcone are the model of hue (degrees), saturation and value.
func hexcone(c [3]float64) (h, s, v float64) {
	v = max(c[0], c[1], c[2])
	d := v - min(c[0], c[1], c[2])
	if d == 0 {
		return 0, 0, v
	}
	switch v {
	case c[0]:
		h = 60 * (c[1] - c[2]) / d
	case c[1]:
		h = 60*(c[2]-c[0])/d + 120
	default:
		h = 60*(c[0]-c[1])/d + 240
	}
	return h, d / v, v
}

func fromHexcone(h, s, v float64) (c [3]float64) {
	for i, n := range []float64{5, 3, 1} {
		k := math.Mod(n+h/60+12, 6)
		c[i] = v - v*s*max(0, min(k, 4-k, 1))
	}
	return c
}

// TestProfileLook holds pictures of a profile's look against the DNG specification's stages,
// each by its definition: maps for two lights, exposure, look table, tone curve.
func TestProfileLook(t *testing.T) {
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice})
	p := &mosaic.Profile{Name: "Warm", HueSat1: constant(6, 3, 1, 12, 0.8, 1), HueSat2: constant(6, 3, 1, -6, 1.1, 1),
		Look: constant(4, 2, 2, 5, 0.9, 1), ToneCurve: [][2]float64{{0, 0}, {0.25, 0.375}, {1, 1}}, ExposureOffset: 0.25}
	p.Look.SRGBValues = true
	spec := profiled(p)
	_, info, err := colour.CameraTo(colour.SRGB, dng.ColourFacts(&spec.Meta), [3]float64{})
	if err != nil || info.Weight1 < 0.1 || info.Weight1 > 0.9 {
		t.Fatalf("weight %g: %v", info.Weight1, err)
	}
	var out bytes.Buffer
	j := linearJob(t, spec, &out)
	j.Tone, j.Sharpen, j.ProfileLook = look.ToneNatural, look.SharpenOff, look.LookProfile
	im, rep := develop(t, s, j)
	if rep.Colour.Look != "profile" || rep.Colour.Tone != "profile" || !strings.HasPrefix(rep.Colour.CameraProfile, "Warm (map 6x3x1, look table 4x2x2, tone curve of 3 points") {
		t.Errorf("reported as %+v", rep.Colour)
	}
	// The natural spline through (0, 0), (1/4, 3/8), (1, 1), solved by hand: its one inner
	// second derivative m satisfies 2·1·m = 6·((5/8)/(3/4) - (3/8)/(1/4)).
	m := 3 * (0.625/0.75 - 0.375/0.25)
	curve := func(x float64) float64 {
		x = min(x, 1)
		if x < 0.25 {
			b := x / 0.25
			return b*0.375 + (b*b*b-b)*m*0.25*0.25/6
		}
		a, b := (1-x)/0.75, (x-0.25)/0.75
		return a*0.375 + b + (a*a*a-a)*m*0.75*0.75/6
	}
	w := info.Weight1
	toSRGB := colour.Convert(colour.ProPhoto, colour.SRGB)
	worst, outside := 0.0, 0
	for i := 0; i < len(im.Pix); i += 3 {
		var light [3]float64
		for c := range light {
			light[c] = float64(spec.Samples[i+c]) / 65535 / spec.Meta.AsShot[c]
		}
		h, sat, v := hexcone(light)
		light = fromHexcone(h+w*12+(1-w)*-6, sat*(w*0.8+(1-w)*1.1), v)
		for c := range light {
			light[c] *= math.Exp2(-0.5 + 0.25)
		}
		h, sat, v = hexcone(light)
		light = fromHexcone(h+5, sat*0.9, v)
		high, low := max(light[0], light[1], light[2]), min(light[0], light[1], light[2])
		for c, x := range light {
			light[c] = curve(low) + (curve(high)-curve(low))*(x-low)/max(high-low, 1e-12)
		}
		light = colour.Apply(toSRGB, light)
		if min(light[0], light[1], light[2]) < 0.05 || max(light[0], light[1], light[2]) > 0.95 {
			outside++
			continue
		}
		for c, x := range light {
			worst = math.Max(worst, math.Abs(65535*colour.SRGBEncode(x)-float64(im.Pix[i+c])))
		}
	}
	if t.Logf("%.1f steps of 16 bits; %d of %d pixels near the gamut's bounds", worst, outside, len(im.Pix)/3); worst > 20 || outside > len(im.Pix)/6 {
		t.Errorf("codes differ by %.1f steps, %d pixels not compared", worst, outside)
	}
}

// profileOnDisk is a profile as a job takes it.
func profileOnDisk(t *testing.T, p *mosaic.Profile) *pipeline.CameraProfile {
	t.Helper()
	path := filepath.Join(t.TempDir(), "camera.dcp")
	if err := os.WriteFile(path, dcp.Encode(p, binary.LittleEndian), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := pipeline.ReadCameraProfile(path)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestCameraProfileFile: a profile's matrices replace the photo's; one that has the photo's
// own changes nothing, and calibrations go with their signature only.
func TestCameraProfileFile(t *testing.T) {
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice})
	spec := profiled(nil)
	spec.Meta.CalibrationSignature = "com.maker"
	spec.Meta.CameraCalibration1 = &[3][3]float64{{1, 0.125, 0}, {0, 1, 0}, {0, 0, 1}}
	spec.Meta.CameraCalibration2 = spec.Meta.CameraCalibration1
	m := &spec.Meta
	p := &mosaic.Profile{Camera: "MAKER  Model-1", Signature: "com.maker", ColorMatrix1: m.ColorMatrix1, ColorMatrix2: m.ColorMatrix2,
		ForwardMatrix1: m.ForwardMatrix1, ForwardMatrix2: m.ForwardMatrix2, Illuminant1: 17, Illuminant2: 21}
	made := func(spec dng.Spec, p *mosaic.Profile) *imgio.RGB16 {
		var out bytes.Buffer
		j := linearJob(t, spec, &out)
		if p != nil {
			j.CameraProfile = profileOnDisk(t, p)
		}
		im, _ := develop(t, s, j)
		return im
	}
	plain := spec
	plain.Meta.CameraCalibration1, plain.Meta.CameraCalibration2 = nil, nil
	calibrated := plain
	calibrated.Meta.CameraCalibration1, calibrated.Meta.CameraCalibration2 = m.CameraCalibration1, m.CameraCalibration2
	calibrated.Meta.CalibrationSignature = ""
	if hashOf(made(spec, nil)) != hashOf(made(plain, nil)) {
		t.Error("calibrations signed for another profile are used")
	}
	if hashOf(made(spec, p)) != hashOf(made(calibrated, nil)) {
		t.Error("calibrations signed for the profile are not used")
	}
	p.Signature = ""
	if hashOf(made(spec, p)) != hashOf(made(plain, nil)) {
		t.Error("a profile with the photo's matrices changes the picture")
	}
	p.ForwardMatrix1, p.ForwardMatrix2 = nil, nil
	if hashOf(made(spec, p)) == hashOf(made(plain, nil)) {
		t.Error("the profile's matrices are not used")
	}
	p.HueSat2 = constant(1, 2, 1, 40, 1, 1)
	turned := made(spec, p)
	p.HueSat2 = nil
	if hashOf(turned) == hashOf(made(spec, p)) {
		t.Error("the profile's map is not used with --tone linear")
	}
}

// TestProfilesRefused: what contradicts is refused, with both cameras' names.
func TestProfilesRefused(t *testing.T) {
	s := session(t, pipeline.Settings{Device: pipeline.HostDevice})
	matrix := profiled(nil).Meta.ColorMatrix1
	withLook := &mosaic.Profile{ToneCurve: [][2]float64{{0, 0}, {1, 1}}}
	for name, tt := range map[string]struct {
		spec dng.Spec
		job  func(j *pipeline.Job)
		want string
	}{
		"another camera": {profiled(nil), func(j *pipeline.Job) {
			j.CameraProfile = profileOnDisk(t, &mosaic.Profile{Camera: "Maker Model 2", ColorMatrix1: matrix})
		}, "for Maker Model 2, and the photo was taken by Maker Model 1"},
		"no look": {profiled(nil), func(j *pipeline.Job) { j.ProfileLook, j.Tone = look.LookProfile, look.ToneNatural }, "no profile with a look"},
		"matrices only": {profiled(withLook), func(j *pipeline.Job) {
			j.ProfileLook, j.Tone = look.LookProfile, look.ToneNatural
			j.CameraProfile = profileOnDisk(t, &mosaic.Profile{ColorMatrix1: matrix})
		}, "only matrices"},
		"linear": {profiled(withLook), func(j *pipeline.Job) { j.ProfileLook = look.LookProfile }, "leave one of them out"},
	} {
		var out bytes.Buffer
		j := linearJob(t, tt.spec, &out)
		tt.job(&j)
		_, err := s.Enhance(context.Background(), j)
		if pipeline.Classify(err) != pipeline.ClassOption || !strings.Contains(err.Error(), tt.want) || out.Len() > 0 {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

// TestLookAnyPlan: the bytes of a picture with a look and another output profile depend on
// neither strips, budget nor cores.
func TestLookAnyPlan(t *testing.T) {
	needOpenCL(t)
	withLook := &mosaic.Profile{HueSat1: constant(6, 3, 1, 12, 0.8, 1), Look: constant(4, 2, 2, 5, 0.9, 1), ToneCurve: [][2]float64{{0, 0}, {0.25, 0.375}, {1, 1}}}
	made := func(set pipeline.Settings, procs int) []byte {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		set.Model = "pynet-m-random:x,size=tiny"
		var out bytes.Buffer
		meta := mosaic.Meta{Profile: withLook, ColorMatrix1: profiled(nil).Meta.ColorMatrix1, Illuminant1: 21}
		j := nikon(t).crop(300, 200, 150, 130).asDNG(t, &out, meta)
		j.Tone, j.ProfileLook, j.Output.Profile = look.ToneNatural, look.LookProfile, "p3"
		develop(t, session(t, set), j)
		return out.Bytes()
	}
	want := made(pipeline.Settings{}, runtime.GOMAXPROCS(0))
	for i, set := range []pipeline.Settings{{PlanOptions: pipeline.PlanOptions{StripRows: 4}}, {PlanOptions: pipeline.PlanOptions{WholePlanes: true}}, {Memory: pipeline.Limit(4 << 20)}} {
		if !bytes.Equal(made(set, 1+i%2), want) {
			t.Errorf("settings %+v change the picture", set)
		}
	}
}
