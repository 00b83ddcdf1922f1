package pipeline

import (
	"slices"
	"testing"

	"enhance/model"
	"enhance/pipeline/facts"
	"enhance/raw"
	"enhance/raw/mosaic"
)

// TestCurves: tables made of kept curves are those made of new ones, whatever other photo was before,
// and as many curves are kept as are said.
func TestCurves(t *testing.T) {
	var kept curves
	conv := model.Convention{SubtractBlack: true, Curve: model.CurveSRGB, Clip: model.ClipHigh, NoisePlanes: 4, Gamma: 1}
	gamma := conv
	gamma.Curve, gamma.Gamma = model.CurveGamma, 2.2
	for k := range 24 {
		m := raw.Meta{Width: 4, Height: 4, CFA: mosaic.RGGB, BitDepth: 14}
		m.SetBlack(float32(100 + k%2))
		m.SetWhite(float32(16000 - k%3))
		gains, c := [3]float64{2, 1, 1.5 + float64(k/6)}, &conv
		if k%4 == 3 {
			c = &gamma
		}
		noise := &facts.Noise{}
		for i := range noise.Levels {
			noise.Levels[i].S, noise.Levels[i].O = 1e-3*float64(i+k), 1e-6
		}
		if k%5 == 4 {
			noise = nil
		}
		got, want := newLevels(&m, c, gains, noise, &kept), newLevels(&m, c, gains, noise, nil)
		for i := range want.tables {
			if !slices.Equal(got.tables[i].light, want.tables[i].light) || !slices.Equal(got.tables[i].noise, want.tables[i].noise) {
				t.Fatalf("photo %d: table %d is another one", k, i)
			}
		}
		again := newLevels(&m, c, gains, noise, &kept)
		if &again.tables[0].light[0] != &got.tables[0].light[0] {
			t.Errorf("photo %d: a curve is not kept", k)
		}
		if len(kept.kept) > maxCurves {
			t.Fatalf("%d curves are kept", len(kept.kept))
		}
	}
}
