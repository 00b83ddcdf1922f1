package pipeline_test

import (
	"bytes"
	"context"
	"testing"

	"enhance/pipeline"
	"enhance/pipeline/look"
	"enhance/raw/mosaic"
)

const noiseAware = "pynet-m-random:denoise"

// TestNoiseAwareBytes develops a capture with a network that takes the noise level
// within several budgets and forced strips, with an estimate and with a file's
// profile: same bytes, and the peak as planned.
func TestNoiseAwareBytes(t *testing.T) {
	needOpenCL(t)
	c := nikon(t).crop(201, 100, 301, 203)
	profile := mosaic.Meta{NoiseProfile: &[3][2]float64{{2e-5, 2e-8}, {1.5e-5, 1e-8}, {2e-5, 2e-8}}}
	half := 0.5
	for name, o := range map[string]struct {
		meta    mosaic.Meta
		denoise *float64
		source  string
	}{"estimated": {mosaic.Meta{}, nil, "estimated"}, "file": {profile, nil, "file"}, "half": {profile, &half, "file"}} {
		var want []byte
		for i, set := range []pipeline.Settings{{PlanOptions: pipeline.PlanOptions{WholePlanes: true}}, {Memory: pipeline.Unlimited()}, {PlanOptions: pipeline.PlanOptions{StripRows: 2}}, {PlanOptions: pipeline.PlanOptions{StripRows: 22}}, {Memory: pipeline.Limit(4 << 20)}} {
			set.Model = noiseAware
			s := session(t, set)
			var out bytes.Buffer
			j := c.asDNG(t, &out, o.meta)
			j.Denoise = o.denoise
			_, rep := develop(t, s, j)
			if rep.Noise == nil || rep.Noise.Source != o.source || rep.Noise.Denoise == 1 != (o.denoise == nil) {
				t.Fatalf("%s: noise %+v", name, rep.Noise)
			}
			if want == nil {
				want = bytes.Clone(out.Bytes())
			}
			if !bytes.Equal(out.Bytes(), want) {
				t.Errorf("%s: plan %d (%s) gives other bytes", name, i, rep.Plan.Strategy)
			}
		}
	}
}

// TestNoiseOptions: what is given comes before the file, the file before the
// estimate, and the strength changes the picture.
func TestNoiseOptions(t *testing.T) {
	s := session(t, pipeline.Settings{Model: noiseAware, Device: pipeline.HostDevice})
	c := nikon(t).crop(300, 200, 128, 96)
	profile := mosaic.Meta{NoiseProfile: &[3][2]float64{{2e-5, 2e-8}, {1.5e-5, 1e-8}, {2e-5, 2e-8}}}
	var given look.Noise
	if err := given.UnmarshalText([]byte("1e-3,1e-5")); err != nil {
		t.Fatal(err)
	}
	zero, half, one, two := 0.0, 0.5, 1.0, 2.0
	pictures := map[string]string{}
	for name, o := range map[string]struct {
		meta    mosaic.Meta
		noise   look.Noise
		denoise *float64
		source  string
		s       float64
	}{
		"file":           {profile, look.Noise{}, nil, "file", 1.5e-5},
		"file, one":      {profile, look.Noise{}, &one, "file", 1.5e-5},
		"file, half":     {profile, look.Noise{}, &half, "file", 1.5e-5},
		"file, none":     {profile, look.Noise{}, &zero, "file", 1.5e-5},
		"given, none":    {profile, given, &zero, "given", 1e-3},
		"given":          {profile, given, nil, "given", 1e-3},
		"no noise":       {profile, look.Noise{Mode: look.NoiseGiven}, nil, "given", 0},
		"no noise, one":  {profile, look.Noise{Mode: look.NoiseGiven}, &one, "given", 0},
		"no noise, none": {profile, look.Noise{Mode: look.NoiseGiven}, &zero, "given", 0},
		"estimate":       {profile, look.Noise{Mode: look.NoiseEstimate}, nil, "estimated", -1},
		"nothing to say": {mosaic.Meta{}, look.Noise{}, nil, "estimated", -1},
	} {
		var out bytes.Buffer
		j := c.asDNG(t, &out, o.meta)
		j.Noise, j.Denoise = o.noise, o.denoise
		_, rep := develop(t, s, j)
		n := rep.Noise
		if n == nil || n.Source != o.source || (o.s >= 0 && n.Levels[1].S != o.s) || (o.s < 0) != (n.Blocks > 0) {
			t.Errorf("%s: noise %+v, want %s", name, n, o.source)
		}
		pictures[name] = out.String()
	}
	for a, b := range map[string]string{"file": "file, one", "estimate": "nothing to say", "no noise": "no noise, none", "no noise, one": "no noise, none"} {
		if pictures[a] != pictures[b] {
			t.Errorf("%q and %q differ", a, b)
		}
	}
	for a, b := range map[string]string{"file": "file, half", "file, half": "file, none", "given": "file", "file, none": "file", "given, none": "given"} {
		if pictures[a] == pictures[b] {
			t.Errorf("%q and %q do not differ", a, b)
		}
	}
	var out bytes.Buffer
	j := c.asDNG(t, &out, mosaic.Meta{})
	j.Denoise = &two
	if _, err := s.Enhance(context.Background(), j); pipeline.Classify(err) != pipeline.ClassOption {
		t.Errorf("denoise 2: error %v", err)
	}
	other := session(t, pipeline.Settings{Model: "pynet-s", Device: pipeline.HostDevice})
	for name, change := range map[string]func(*pipeline.Job){
		"noise": func(j *pipeline.Job) { j.Noise = given }, "denoise": func(j *pipeline.Job) { j.Denoise = &one },
	} {
		j := c.asDNG(t, &out, mosaic.Meta{})
		change(&j)
		if _, err := other.Enhance(context.Background(), j); pipeline.Classify(err) != pipeline.ClassOption {
			t.Errorf("%s for pynet-s: error %v", name, err)
		}
	}
}

// TestNoiseOfSmallPhoto: where nothing can be measured, that is said.
func TestNoiseOfSmallPhoto(t *testing.T) {
	s := session(t, pipeline.Settings{Model: noiseAware, Device: pipeline.HostDevice})
	var out bytes.Buffer
	_, rep := develop(t, s, nikon(t).crop(300, 200, 20, 20).asDNG(t, &out, mosaic.Meta{}))
	if rep.Noise.Source != "none" || len(rep.Warnings) == 0 {
		t.Errorf("noise %+v, warnings %q", rep.Noise, rep.Warnings)
	}
}
