package pipeline

import (
	"errors"
	"slices"

	"enhance/model"
	"enhance/pipeline/facts"
	"enhance/pipeline/look"
	"enhance/raw"
	"enhance/raw/mosaic"
	"enhance/raw/noise"
)

// Sources of noise levels, in facts.Noise.
const (
	noiseNone      = "none"      // it cannot be estimated
	noiseGiven     = "given"     // by the caller
	noiseFile      = "file"      // its NoiseProfile
	noiseEstimated = "estimated" // from the photo
)

// decideNoise settles the noise levels before the network runs, so that they
// cannot depend on how the picture is divided. It gives nil for a model that
// does not ask for them.
func (r *run) decideNoise() (*facts.Noise, error) {
	j := r.job
	if r.session.model.Convention.NoisePlanes == 0 {
		name := j.noiseOption()
		if name == "" && j.Denoise != nil {
			name = "denoise"
		}
		if name != "" {
			return nil, optionErrorf(name, "model %s does not take the noise level: choose one that does", r.session.modelName)
		}
		return nil, nil
	}
	f := &facts.Noise{Source: noiseNone, Denoise: 1}
	if j.Denoise != nil {
		f.Denoise = *j.Denoise
	}
	if !(f.Denoise >= 0 && f.Denoise <= 1) {
		return nil, optionErrorf("denoise", "%g: want 0 to 1", f.Denoise)
	}
	switch {
	case j.Noise.Mode == look.NoiseGiven:
		f.Source, f.Levels = noiseGiven, j.Noise.Levels
		if err := r.doubtNoise(f); err != nil {
			return nil, err
		}
	default:
		if err := r.measureNoise(); err != nil {
			return nil, err
		}
		chooseNoise(f, r.decisions.estimate, r.meta.NoiseProfile, j.Noise.Mode, r.report.Warn)
	}
	for _, l := range f.Levels {
		if !(l.S >= 0 && l.O >= 0 && l.S <= 1 && l.O <= 1) {
			return nil, optionErrorf("noise", "levels %g, %g: want numbers from 0 to 1", l.S, l.O)
		}
	}
	if f.Levels.Bound() {
		r.report.Warn("noise of more than %g·v + %g is taken for that: no network knows more", noise.MaxS, noise.MaxO)
	}
	return f, nil
}

// Levels above these are those of very high sensitivities. Told of them without cause, a network takes colours for noise.
const highS, highO = 2e-3, 1e-4

// doubtNoise says if given levels are high, and the photo shows far less.
func (r *run) doubtNoise(f *facts.Noise) error {
	if !slices.ContainsFunc(f.Levels[:], func(l noise.Line) bool { return l.S > highS || l.O > highO }) {
		return nil
	}
	if err := r.measureNoise(); err != nil {
		return err
	}
	if e := r.decisions.estimate; e != nil {
		if times := e.Compare(&f.Levels); times > profileTolerance {
			r.report.Warn("--noise has %.3g times the variance that the photo shows: the network takes detail and colours for noise; --noise estimate takes the photo's", times)
		}
	}
	return nil
}

// decideLeft says how much of the noise's deviation will be left on smooth surfaces: what is put back (see
// [model.Model.KeepNoise]), and what the network leaves, if that was measured.
func (r *run) decideLeft() {
	f, n := r.report.Noise, r.session.model.NoiseLeft
	if f == nil || f.Source == noiseNone || n == nil {
		return
	}
	deviation, gains := 0.0, r.decisions.balance.networkGains()
	for c, l := range f.Levels {
		deviation += r.session.model.Convention.NoiseAtGrey(gains[c], l.S, l.O) / float64(len(f.Levels))
	}
	if deviation == 0 { // whatever noise there is, it is not told
		return
	}
	left := 1 - f.Denoise + f.Denoise*n.Share(deviation)
	f.Left = &left
}

// profileTolerance is how many times a file's variance and the estimate may differ.
const profileTolerance = 2

// chooseNoise takes the file's profile or the estimate, which is nil if there is none. Of
// two that contradict each other it takes the smaller: noise that is left is a lesser
// harm than detail that is lost.
func chooseNoise(f *facts.Noise, e *noise.Estimation, profile *[3][2]float64, mode look.NoiseMode, warn func(string, ...any)) {
	if mode == look.NoiseDefault && profile != nil {
		for c := range f.Levels {
			f.Levels[c] = noise.Line{S: profile[c][0], O: profile[c][1]}
		}
		f.Source = noiseFile
		if e == nil {
			return
		}
		f.ProfileRatio = e.Compare(&f.Levels)
		switch times := f.ProfileRatio; {
		case times > profileTolerance:
			warn("the file's noise profile has %.1f times the variance that the photo shows: the estimate from the photo is used; --noise sets another", times)
		case times < 1/float64(profileTolerance):
			warn("the photo shows %.1f times the noise variance of the file's profile: the file's is used; --noise estimate takes the photo's", 1/times)
			return
		default:
			return
		}
	}
	if e == nil {
		f.Source = noiseNone
		warn("the noise level cannot be estimated (%v) and is taken as 0; --noise sets it", noise.ErrNoFlatBlocks)
		return
	}
	f.Source, f.Levels, f.Blocks = noiseEstimated, e.Levels, e.Blocks
}

// measureNoise estimates the photo's noise levels, once; r.estimate stays nil if too
// little of the photo can be measured. It reads the photo itself before decoding
// ahead has begun, which would decode what lies between the bands; after that, which
// is where the whole photo is decoded and kept anyway, it takes the rows from there.
func (r *run) measureNoise() (err error) {
	if r.decisions.measured {
		return nil
	}
	defer r.session.stages().Begin("estimate noise")()
	r.decisions.measured = true
	meta, read := r.meta, noise.RowReader(r.photo.ReadRows)
	switch {
	case r.meta.Linear:
		meta, read = r.asMosaic()
	case r.ahead != nil:
		read = r.sampled(r.ahead.rows)
	default:
		read = r.sampled(read)
	}
	r.decisions.estimate, err = noise.Estimate(r.ctx, meta, read, r.photo.Gains())
	if errors.Is(err, noise.ErrNoFlatBlocks) {
		err = nil
	}
	return err
}

// asMosaic is a demosaiced photo as the Bayer mosaic that it has among its samples: those
// that were not interpolated, if it was made of such a mosaic.
func (r *run) asMosaic() (*raw.Meta, noise.RowReader) {
	const black, white = 8192, 65535
	m := *r.meta
	m.Linear, m.CFA = false, mosaic.RGGB
	m.SetBlack(black)
	m.SetWhite(white)
	var light []float32
	return &m, func(y, n int, stored []uint16) error {
		if len(light) < 3*n*m.Width {
			light = make([]float32, 3*n*m.Width)
		}
		if err := r.photo.ReadLinear(y, n, light); err != nil {
			return err
		}
		for i := range stored[:n*m.Width] {
			k, x := i/m.Width, i%m.Width
			v := light[(3*k+int(m.CFA.At(y+k, x)))*m.Width+x]
			stored[i] = uint16(min(max(black+v*(white-black), 0), white) + 0.5)
		}
		return nil
	}
}

// strength is what a noise plane holds for white-balanced light x of a colour.
func (l *levels) strength(x float64, col mosaic.Colour) float32 {
	return l.strengthAt(l.conv.Slope(x), x, col)
}

// strengthAt is strength where the slope of the convention's curve is known.
func (l *levels) strengthAt(slope, x float64, col mosaic.Colour) float32 {
	n := l.noise.Levels[col]
	return float32(model.NoiseOf(slope, x, l.gains[col], n.S, n.O))
}
