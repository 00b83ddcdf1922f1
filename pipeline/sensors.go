package pipeline

import (
	"fmt"

	"enhance/model"
	"enhance/pipeline/look"
	"enhance/raw"
	"enhance/raw/mosaic"
	"enhance/raw/noise"
)

// A session has one network, and most photos are Bayer mosaics. For photos of other
// sensors, if no network was asked for by name, a second session stands beside it: it has
// the network that is built in for such photos, and shares everything else, the device,
// its queue and its memory among them.

// Classical is the model that is none: photos are developed by the classical demosaicer.
const Classical = "classical"

// hasNetwork refuses what is about a network where there is none.
func (s *Session) hasNetwork() error {
	if s.set.Model == Classical {
		return optionErrorf("model", "%s develops photos without a network: name one", Classical)
	}
	return nil
}

// sensorOf is what kind of photo a network would have to take, 0 if there is none for it.
func sensorOf(m *raw.Meta) model.Sensors {
	if m.Linear {
		return model.FullColour
	}
	return model.SensorOf(m.CFA)
}

// forPhoto gives the session whose network develops a photo, which is s or stands beside
// it; nil if no network does. It refuses a photo that the model which was asked for by
// name does not take. A demosaiced photo has no need of a network but for its noise.
func (s *Session) forPhoto(m *raw.Meta, look *Look) (*Session, error) {
	sensor := sensorOf(m)
	switch {
	case s.set.Model == Classical || m.Linear && !look.denoises():
		return nil, nil
	case s.model.Convention.Takes(sensor):
		return s.keeping(s.keeps(look))
	case s.set.Model == "":
		o, err := s.beside(sensor)
		if o == nil || err != nil {
			return nil, err
		}
		return o.keeping(o.keeps(look))
	}
	return nil, optionErrorf("model", "model %s is for %v, and %s: leave --model out, and enhance takes what suits the photo",
		s.modelName, s.model.Convention.Sensors, whatSensor(m))
}

// whatSensor says which kind of photo one is.
func whatSensor(m *raw.Meta) string {
	switch p := m.CFA; {
	case m.Linear:
		return "the photo is demosaiced"
	case !p.Bayer() && !p.XTrans() && !p.Quad() && p != mosaic.Mono:
		return "the photo's sensor has a " + p.Kind()
	}
	return "the photo's sensor is " + m.CFA.Kind()
}

// noiseOption is the option that asks for noise to be measured or removed, "" if none does.
func (l *Look) noiseOption() string {
	switch {
	case l.Denoise != nil && *l.Denoise > 0:
		return "denoise"
	case l.Noise.Mode != look.NoiseDefault:
		return "noise"
	}
	return ""
}

// denoises reports whether noise is expressly to be removed.
func (l *Look) denoises() bool {
	return l.Denoise != nil && *l.Denoise > 0 || l.Denoise == nil && l.Noise.Mode != look.NoiseDefault
}

// beside is the session of the network that is built in for a sensor, nil if none is.
func (s *Session) beside(sensor model.Sensors) (*Session, error) {
	if !model.HasBuiltin(model.ForAnySensor) {
		return nil, nil
	}
	if s.other == nil {
		m := loadedModel{modelName: model.ForAnySensor}
		if err := m.load(nil, s.set.Ensemble); err != nil {
			return nil, err
		}
		o, err := s.sibling(m, s.peers.of(m.modelName))
		if err != nil {
			return nil, err
		}
		o.set.AwaitKernels = nil // they are of s's network
		s.other = o
	}
	if !s.other.model.Convention.Takes(sensor) {
		return nil, nil
	}
	return s.other, nil
}

// sibling is a session with another network that shares everything else.
func (s *Session) sibling(m loadedModel, p *peers) (*Session, error) {
	o := &Session{set: s.set, loadedModel: m, device: s.device, runner: s.runner, budget: s.budget, peers: p,
		queue: s.queue, host: s.host, outputs: s.outputs, profile: s.profile, kernels: newPhotoKernels()}
	if err := o.checkHostPrecision(); err != nil {
		return nil, err
	}
	return o, o.chooseAlgos()
}

// keeps is the share of what the network takes from the samples that is put back: all of it where there is said to be
// no noise, since samples without noise are right as they are.
func (s *Session) keeps(l *Look) float64 {
	if l.Noise.Mode == look.NoiseGiven && l.Noise.Levels == (noise.Levels{}) && s.model.CanKeepNoise() {
		return 1
	}
	return keeps(l.Denoise)
}

// keeps is the share of the noise that is put back, by the share of it that is to be removed.
func keeps(denoise *float64) float64 {
	if denoise == nil || !(*denoise >= 0 && *denoise < 1) { // what is none is refused with the noise
		return 0
	}
	return 1 - *denoise
}

// keeping is the session whose network puts a share of the noise back, which is s or stands beside it.
func (s *Session) keeping(share float64) (*Session, error) {
	if share == 0 || s.model.Convention.NoisePlanes == 0 {
		return s, nil
	}
	if s.kept == nil || s.kept.share != share {
		m := s.loadedModel
		var err error
		if m.model, err = m.model.KeepNoise(share); err != nil {
			return nil, err
		}
		o, err := s.sibling(m, s.peers.of(fmt.Sprintf("%v of the noise", share)))
		if err != nil {
			return nil, err
		}
		o.share = share
		s.kept = o
	}
	return s.kept, nil
}

// DefaultModel is the model that develops mosaics of a filter array if none is asked for,
// or that removes noise from demosaiced photos.
func DefaultModel(p mosaic.Pattern, demosaiced bool) (string, error) {
	sensor := sensorOf(&raw.Meta{CFA: p, Linear: demosaiced})
	if sensor == model.BayerSensor {
		return model.Default, nil
	}
	if model.HasBuiltin(model.ForAnySensor) {
		m, err := model.Load(model.ForAnySensor)
		if err != nil {
			return "", err
		}
		if m.Convention.Takes(sensor) {
			return model.ForAnySensor, nil
		}
	}
	return Classical, nil
}
