package model

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// pynetConvention is PyNET's: planes by position in the order blue, green, red,
// green of a mosaic whose red is at (0,0), the RAW of any depth brought to 10
// bits and divided by 4·255; display-ready output of 2^(1-level) times the sides.
func pynetConvention(level int) Convention {
	c := Convention{
		Pack:     [4][2]int{{1, 1}, {0, 1}, {0, 0}, {1, 0}},
		Sensors:  BayerSensor,
		Gamma:    1,
		Divisor:  4 * 255,
		Output:   OutputDisplaySRGB,
		Multiple: 16, MinSide: 32,
		ScaleNum: 2, ScaleDen: 1,
	}
	if level > 0 {
		c.ScaleNum, c.ScaleDen = 1, 1<<(level-1)
	}
	return c
}

// pynetsConvention is pynet-s's: normalised, white-balanced, gamma 2.2 in and out.
func pynetsConvention() Convention {
	return Convention{
		Pack:          [4][2]int{{0, 0}, {0, 1}, {1, 0}, {1, 1}},
		Sensors:       BayerSensor,
		SubtractBlack: true,
		Gamma:         2.2,
		Divisor:       1,
		Output:        OutputCameraGamma,
		Multiple:      8, MinSide: 16,
		ScaleNum: 2, ScaleDen: 1,
	}
}

func (c *Convention) validate() error {
	var seen [2][2]bool
	for _, p := range c.Pack {
		if p[0] < 0 || p[0] > 1 || p[1] < 0 || p[1] > 1 || seen[p[0]][p[1]] {
			return fmt.Errorf("convention: pack %v is not an order of the four places of a quad", c.Pack)
		}
		seen[p[0]][p[1]] = true
	}
	switch {
	case !(c.Gamma >= 0.1 && c.Gamma <= 10):
		return fmt.Errorf("convention: gamma %g: want 0.1..10", c.Gamma)
	case !(c.Divisor >= 1e-6 && c.Divisor <= 1e9):
		return fmt.Errorf("convention: divisor %g: want 1e-6..1e9", c.Divisor)
	case c.Curve > CurveSRGB || c.Clip > ClipHigh:
		return fmt.Errorf("convention: unknown curve %d or clip %d", c.Curve, c.Clip)
	case c.Samples > SamplesMasked:
		return fmt.Errorf("convention: unknown samples %d", c.Samples)
	case c.NoisePlanes != 0 && (c.NoisePlanes != c.SamplePlanes() || !c.SubtractBlack):
		return fmt.Errorf("convention: %d noise planes: want none, or %d beside a normalised mosaic", c.NoisePlanes, c.SamplePlanes())
	case c.Output > OutputDisplaySRGB:
		return fmt.Errorf("convention: unknown output kind %d", c.Output)
	case c.Multiple < 1 || c.MinSide < 1 || c.ScaleNum < 1 || c.ScaleDen < 1:
		return fmt.Errorf("convention: multiple, smallest side and scale must be at least 1")
	}
	return nil
}

var (
	outputNames = []string{"camera-gamma", "display-srgb"}
	curveNames  = []string{"gamma", "srgb"}
	clipNames   = []string{"both", "high"}
)

func (k OutputKind) String() string { return nameOf("output", outputNames, uint8(k)) }
func (k Curve) String() string      { return nameOf("curve", curveNames, uint8(k)) }
func (k Clip) String() string       { return nameOf("clip", clipNames, uint8(k)) }

func nameOf(kind string, names []string, k uint8) string {
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("%s(%d)", kind, k)
}

// Metadata keys of a convention in a weight file. What follows from the
// architecture (multiples, scale) is not written.
const (
	metaPack          = "convention.pack" // four "row,column", separated by spaces
	metaSubtractBlack = "convention.subtract_black"
	metaGamma         = "convention.gamma"
	metaDivisor       = "convention.divisor"
	metaOutput        = "convention.output"
	metaCurve         = "convention.curve"   // gamma or srgb
	metaClip          = "convention.clip"    // both or high
	metaNoise         = "convention.noise"   // planes of noise: 0, or as many as of samples
	metaSamples       = "convention.samples" // quad or masked
	metaPatterns      = "train.patterns"     // of masked samples: what the network was trained for
)

func (c *Convention) toMeta(meta map[string]string) {
	var pack []string
	for _, p := range c.Pack {
		pack = append(pack, fmt.Sprintf("%d,%d", p[0], p[1]))
	}
	meta[metaPack] = strings.Join(pack, " ")
	meta[metaSubtractBlack] = strconv.FormatBool(c.SubtractBlack)
	meta[metaGamma] = strconv.FormatFloat(c.Gamma, 'g', -1, 64)
	meta[metaDivisor] = strconv.FormatFloat(c.Divisor, 'g', -1, 64)
	meta[metaOutput] = c.Output.String()
	meta[metaCurve], meta[metaClip] = c.Curve.String(), c.Clip.String()
	meta[metaNoise] = strconv.Itoa(c.NoisePlanes)
	if c.Samples != SamplesQuad {
		meta[metaSamples] = c.Samples.String()
	}
}

// fromMeta replaces what a file's metadata says about the convention.
func (c *Convention) fromMeta(meta map[string]string) error {
	bad := func(key, want string) error { return fmt.Errorf("metadata %s is %q: want %s", key, meta[key], want) }
	var err error
	if s, ok := meta[metaPack]; ok {
		n, scanErr := fmt.Sscanf(s, "%d,%d %d,%d %d,%d %d,%d", &c.Pack[0][0], &c.Pack[0][1],
			&c.Pack[1][0], &c.Pack[1][1], &c.Pack[2][0], &c.Pack[2][1], &c.Pack[3][0], &c.Pack[3][1])
		if n != 8 || scanErr != nil {
			return bad(metaPack, "four places such as 0,0 0,1 1,0 1,1")
		}
	}
	if s, ok := meta[metaSubtractBlack]; ok {
		if c.SubtractBlack, err = strconv.ParseBool(s); err != nil {
			return bad(metaSubtractBlack, "true or false")
		}
	}
	if s, ok := meta[metaGamma]; ok {
		if c.Gamma, err = strconv.ParseFloat(s, 64); err != nil {
			return bad(metaGamma, "a number")
		}
	}
	if s, ok := meta[metaDivisor]; ok {
		if c.Divisor, err = strconv.ParseFloat(s, 64); err != nil {
			return bad(metaDivisor, "a number")
		}
	}
	if s, ok := meta[metaNoise]; ok {
		if c.NoisePlanes, err = strconv.Atoi(s); err != nil {
			return bad(metaNoise, "a whole number")
		}
	}
	for _, word := range []struct {
		key   string
		names []string
		to    *uint8
	}{
		{metaSamples, samplesNames, (*uint8)(&c.Samples)}, {metaOutput, outputNames, (*uint8)(&c.Output)}, {metaCurve, curveNames,
			(*uint8)(&c.Curve)}, {metaClip, clipNames, (*uint8)(&c.Clip)},
	} {
		if s, ok := meta[word.key]; ok {
			i := slices.Index(word.names, s)
			if i < 0 {
				return bad(word.key, strings.Join(word.names, " or "))
			}
			*word.to = uint8(i)
		}
	}
	if err := c.sensorsFromMeta(meta); err != nil {
		return err
	}
	return c.validate()
}

// PaddedSides gives the sides that packed planes of h×w are padded to at the
// bottom and right before the network: multiples of Multiple, at least MinSide.
func (c *Convention) PaddedSides(h, w int) (int, int) {
	pad := func(n int) int {
		n = max(n, c.MinSide)
		return (n + c.Multiple - 1) / c.Multiple * c.Multiple
	}
	return pad(h), pad(w)
}
