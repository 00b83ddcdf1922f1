package pipeline

import (
	"math"

	"enhance/internal/colour"
	"enhance/internal/sharpen"
	"enhance/pipeline/look"
	"enhance/raw/noise"
)

// sharpenAmount is that of a job with a tone.
func (j *Job) sharpenAmount(tone look.Tone) (float64, error) {
	if tone == look.ToneNatural {
		return j.Sharpen.Amount(), nil
	}
	if j.Sharpen == look.SharpenLow || j.Sharpen == look.SharpenStandard {
		return 0, optionErrorf("sharpen", "only pictures of --tone natural are sharpened: leave it out")
	}
	return 0, nil
}

const (
	// leftover is by how much the deviation of noise in light that no network cleaned
	// counts more than that of light that one did.
	leftover = 3
	// rounding is the least deviation that counts as noise, in square roots of light.
	rounding = 0.003
	// tooNoisy is the deviation, in square roots of light, at which the amount is halved.
	tooNoisy = 0.03
)

// typicalNoise stands for noise that is not known: that of a camera at ISO 400 or so.
var typicalNoise = noise.Line{S: 4e-4, O: 1e-5}

// noiseLeft is the green samples' noise and by how much its deviation counts after
// the network.
func (r *run) noiseLeft() (noise.Line, float64, error) {
	const green = 1
	f := r.report.Noise
	switch {
	case f != nil && f.Source != noiseNone:
		return f.Levels[green], leftover - (leftover-1)*f.Denoise, nil
	case r.meta.Linear:
		return noise.Line{}, 1, nil
	case !r.meta.CFA.Bayer():
		return typicalNoise, leftover, nil
	}
	if err := r.measureNoise(); err != nil {
		return noise.Line{}, 0, err
	}
	if r.decisions.estimate == nil {
		return typicalNoise, leftover, nil
	}
	return r.decisions.estimate.Levels[green], leftover, nil
}

// decideSharpening settles how the picture is sharpened: not at all if the amount is 0.
func (r *run) decideSharpening(amount float64) error {
	line, times, err := r.noiseLeft()
	if err != nil {
		return err
	}
	b := r.decisions.balance
	gain := b.gains[1]
	deviation := func(root float64) float64 {
		light := b.curve.Inverse(root * root)
		sigma := gain * math.Sqrt(line.At(light/gain))
		// A step of the light's deviation, as a step of the root of what it becomes.
		seen := math.Sqrt(b.curve.At(light+sigma)) - math.Sqrt(b.curve.At(math.Max(light-sigma, 0)))
		return math.Max(times*seen/2, rounding)
	}
	middle := deviation(math.Sqrt(colour.MiddleGrey)) / tooNoisy
	b.sharpen = &sharpen.Settings{Amount: amount / (1 + middle*middle), Noise: deviation, Luminance: b.output.Space.Luminance()}
	r.report.Colour.Sharpen = b.sharpen.Amount
	return nil
}
