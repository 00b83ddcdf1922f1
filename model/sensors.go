package model

import (
	"fmt"
	"strings"

	"enhance/raw/mosaic"
)

// Samples says how a photo's samples lie in a network's planes.
type Samples uint8

const (
	// SamplesQuad is a plane for each place of Bayer's 2×2 quad, red at (0,0).
	SamplesQuad Samples = iota
	// SamplesMasked is a plane for each colour at each place of 2×2 samples, at any
	// phase of any filter array: plane 4c + 2i + j has the samples of colour c (red,
	// green, blue) in row i and column j of the quads, and 0 where the photo has no
	// sample of that colour. Its noise planes have NoNoise there.
	SamplesMasked
)

// MaskedPlane is the plane of SamplesMasked that has the samples of a colour in row i and
// column j of the quads.
func MaskedPlane(colour, i, j int) int { return 4*colour + 2*i + j }

// NoNoise is what a noise plane of SamplesMasked holds where there is no sample.
const NoNoise = -1

var samplesNames = []string{"quad", "masked"}

func (k Samples) String() string { return nameOf("samples", samplesNames, uint8(k)) }

// SamplePlanes is how many planes the samples take.
func (c *Convention) SamplePlanes() int {
	if c.Samples == SamplesMasked {
		return 3 * 4
	}
	return 4
}

// Planes is how many planes a network takes.
func (c *Convention) Planes() int { return c.SamplePlanes() + c.NoisePlanes }

// Sensors is a set of kinds of photos.
type Sensors uint8

const (
	BayerSensor  Sensors = 1 << iota
	XTransSensor         // Fujifilm's 6×6 array
	QuadSensor           // quad-Bayer
	OtherSensor          // any other array of red, green and blue filters
	FullColour           // demosaiced: all three colours at each place

	// AnySensor is what masked planes can hold.
	AnySensor = BayerSensor | XTransSensor | QuadSensor | OtherSensor | FullColour
)

// sensorNames are the words of metadata and those of messages, by bit.
var sensorNames = [...]struct{ meta, text string }{
	{"bayer", "Bayer mosaics"}, {"xtrans", "X-Trans mosaics"}, {"quad", "quad-Bayer mosaics"}, {"other", "other mosaics"}, {"rgb", "demosaiced photos"},
}

// String says in words what photos they are.
func (s Sensors) String() string {
	var all []string
	for i, n := range sensorNames {
		if s&(1<<i) != 0 {
			all = append(all, n.text)
		}
	}
	if n := len(all) - 1; n > 0 {
		return strings.Join(all[:n], ", ") + " and " + all[n]
	}
	return strings.Join(all, "")
}

// SensorOf is the kind of sensor that has a filter array, 0 of one without colours.
func SensorOf(p mosaic.Pattern) Sensors {
	switch {
	case !p.Valid() || p == mosaic.Mono:
		return 0
	case p.Bayer():
		return BayerSensor
	case p.XTrans():
		return XTransSensor
	case p.Quad():
		return QuadSensor
	}
	return OtherSensor
}

// Takes reports whether a network is for photos of one kind.
func (c *Convention) Takes(s Sensors) bool { return s != 0 && c.Sensors&s == s }

// sensorsFromMeta reads what kinds of photos a network was trained for.
func (c *Convention) sensorsFromMeta(meta map[string]string) error {
	c.Sensors = BayerSensor
	if c.Samples != SamplesMasked {
		return nil
	}
	c.Sensors = AnySensor
	text, ok := meta[metaPatterns]
	if !ok {
		return nil
	}
	c.Sensors = 0
	for _, word := range strings.Fields(text) {
		k := 0
		for k < len(sensorNames) && sensorNames[k].meta != word {
			k++
		}
		c.Sensors |= 1 << k
	}
	if c.Sensors == 0 || c.Sensors&^AnySensor != 0 {
		return fmt.Errorf("metadata %s is %q: want any of bayer, xtrans, quad, other and rgb", metaPatterns, text)
	}
	return nil
}
