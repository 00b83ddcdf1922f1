package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"enhance/internal/imgio"
	"enhance/pipeline"
	"enhance/pipeline/look"
	"enhance/raw"
)

// sample is a RAW photo of testdata, how it is developed, and what parts are shown.
type sample struct {
	name  string
	job   pipeline.Job
	parts [][2]int // corners
}

// samples are developed as README.md and the tests do it.
func samples() []sample {
	rggb, _ := raw.ParsePattern("RGGB")
	black, white := 600.0, 15520.0
	return []sample{
		{"colorchart", pipeline.Job{Input: "testdata/raw/colorchart.dng", Look: pipeline.Look{Tone: look.ToneLinear, Exposure: look.Exposure{EV: 2}, WB: look.WhiteBalance{Mode: look.WBGains, Gains: [3]float64{1.47, 1, 2.26}}}},
			[][2]int{{1288, 790}, {850, 735}, {600, 850}, {940, 465}}},
		{"dsc1339", pipeline.Job{Input: "testdata/raw/DSC_1339_768x512_rggb.raw", Look: pipeline.Look{Tone: look.ToneLinear, Exposure: look.Exposure{Auto: true}, WB: look.WhiteBalance{Mode: look.WBGains, Gains: [3]float64{1.94921875, 1, 1.34375}}}, Raw: raw.Options{Width: 768, Height: 512, CFA: &rggb, Black: &black, White: &white}},
			[][2]int{{100, 100}, {340, 200}, {560, 330}}},
	}
}

// developed shows parts of the sample photos by every network, a row for each
// part.
func developed(sets []pipeline.Settings, out string) error {
	for _, s := range samples() {
		var pictures []*imgio.RGB16
		var names []string
		for _, set := range sets {
			im, err := develop(set, s.job)
			if err != nil {
				return err
			}
			pictures = append(pictures, im)
			names = append(names, strings.TrimSuffix(filepath.Base(set.Model), ".safetensors"))
		}
		var panels []panel
		for _, at := range s.parts {
			for i, im := range pictures {
				panels = append(panels, panel{fmt.Sprintf("%s at %d,%d", names[i], at[0], at[1]), im, at[0], at[1]})
			}
		}
		fmt.Printf("quality-%s.png: %s\n", s.name, s.job.Input)
		if err := writePanels(filepath.Join(out, "quality-"+s.name+".png"), panels, len(pictures)); err != nil {
			return err
		}
	}
	return nil
}

func develop(set pipeline.Settings, j pipeline.Job) (*imgio.RGB16, error) {
	var b bytes.Buffer
	j.Output = pipeline.Output{Writer: &b, Format: pipeline.PNG, Bits: 8}
	if _, err := pipeline.Enhance(context.Background(), pipeline.Options{Settings: set, Job: j}); err != nil {
		return nil, err
	}
	return imgio.DecodeRGB16(bytes.NewReader(b.Bytes()), int64(b.Len()))
}
