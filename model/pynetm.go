package model

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
)

// PyNETMConfig chooses a member of the pynet-m family. Its JSON, keys in
// alphabetical order, is a weight file's arch.config; docs/pynet-m.md defines it.
type PyNETMConfig struct {
	Decoder    []int `json:"decoder"` // residual blocks on the way up, levels 1 to L-1
	DownKernel int   `json:"down_kernel"`
	Encoder    []int `json:"encoder"` // residual blocks on the way down, levels 1 to L
	HeadKernel int   `json:"head_kernel"`
	Planes     int   `json:"planes,omitempty"` // of the input: 24 are masked; 0 is 8, Bayer's
	SkipKernel int   `json:"skip_kernel"`
	UpKernel   int   `json:"up_kernel"`
	Widths     []int `json:"widths"` // channels of levels 1 to L
}

const (
	pynetmPlanes    = 8    // four of the mosaic, four of noise
	maskedPlanes    = 24   // twelve of the mosaic, twelve of noise
	pynetmMaxLevels = 6    // levels
	pynetmMaxWidth  = 1024 // channels of a level
	pynetmMaxBlocks = 64   // blocks of a level, either way
	pynetmMaxConfig = 4096 // bytes of arch.config
)

// ParsePyNETMConfig reads arch.config: one JSON object with exactly the keys of
// PyNETMConfig, of which planes may be left out.
func ParsePyNETMConfig(text string) (PyNETMConfig, error) {
	var c PyNETMConfig
	if len(text) > pynetmMaxConfig {
		return c, fmt.Errorf("arch.config has %d bytes: want at most %d", len(text), pynetmMaxConfig)
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil {
		return c, fmt.Errorf("arch.config: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return c, fmt.Errorf("arch.config: more than one JSON value")
	}
	return c, c.Validate()
}

// String is the JSON text, as a weight file holds it.
func (c PyNETMConfig) String() string {
	b, err := json.Marshal(c)
	if err != nil {
		panic("model: integers cannot fail to marshal: " + err.Error())
	}
	return string(b)
}

// Validate reports the first value that is out of range.
func (c PyNETMConfig) Validate() error {
	levels := len(c.Widths)
	if levels < 1 || levels > pynetmMaxLevels {
		return fmt.Errorf("pynet-m: %d widths: want one for each of 1..%d levels", levels, pynetmMaxLevels)
	}
	for i, w := range c.Widths {
		if w < 8 || w > pynetmMaxWidth || w%8 != 0 {
			return fmt.Errorf("pynet-m: width %d of level %d: want a multiple of 8 of 8..%d", w, i+1, pynetmMaxWidth)
		}
	}
	for _, side := range []struct {
		name   string
		blocks []int
		want   int
	}{{"encoder", c.Encoder, levels}, {"decoder", c.Decoder, levels - 1}} {
		if len(side.blocks) != side.want {
			return fmt.Errorf("pynet-m: %s has %d entries, %d levels want %d", side.name, len(side.blocks), levels, side.want)
		}
		for i, n := range side.blocks {
			if n < 0 || n > pynetmMaxBlocks {
				return fmt.Errorf("pynet-m: %d blocks of level %d in %s: want 0..%d", n, i+1, side.name, pynetmMaxBlocks)
			}
		}
	}
	if c.Planes != 0 && c.Planes != pynetmPlanes && c.Planes != maskedPlanes {
		return fmt.Errorf("pynet-m: planes %d: want %d or %d", c.Planes, pynetmPlanes, maskedPlanes)
	}
	for _, k := range []struct {
		name        string
		is, a, orIs int
	}{
		{"down_kernel", c.DownKernel, 1, 3}, {"up_kernel", c.UpKernel, 1, 3},
		{"head_kernel", c.HeadKernel, 1, 3}, {"skip_kernel", c.SkipKernel, 3, 5},
	} {
		if k.is != k.a && k.is != k.orIs {
			return fmt.Errorf("pynet-m: %s %d: want %d or %d", k.name, k.is, k.a, k.orIs)
		}
	}
	return nil
}

// PyNETM builds pynet-m, the noise-aware network of docs/pynet-m.md: levels of
// residual blocks joined by sums, and a linear path from the input to the result.
// Convolutions are padded with zeros.
// Input: 8 planes, or 24, whose sides are multiples of 2^(levels-1); output: 3 planes
// at twice the sides. A module's value is the node of the module's name, a sum has
// the suffix +.
//
// PyNETM panics if the configuration is not valid.
func PyNETM(c PyNETMConfig) *Graph {
	if err := c.Validate(); err != nil {
		panic("model: " + err.Error())
	}
	b := NewBuilder(cmp.Or(c.Planes, pynetmPlanes))
	b.Pad = PadZero
	levels := len(c.Widths)
	down := make([]int, levels+1) // the value of each level on the way down, from 1
	x := b.Conv("stem", "stem", 0, c.Widths[0], 3)
	for l := 1; l <= levels; l++ {
		if l > 1 {
			x = b.MaxPool(fmt.Sprintf("pool%d", l), x)
			name := fmt.Sprintf("down%d", l)
			x = b.Conv(name, name, x, c.Widths[l-1], c.DownKernel)
		}
		x = b.residualBlocks(fmt.Sprintf("enc%d", l), x, c.Widths[l-1], c.Encoder[l-1])
		down[l] = x
	}
	for l := levels - 1; l >= 1; l-- {
		name := fmt.Sprintf("up%d", l)
		x = b.Conv(name, name, x, c.Widths[l-1], c.UpKernel)
		x = b.Upsample(name+".upsample", x, false)
		x = b.Add(name+"+", down[l], x)
		x = b.residualBlocks(fmt.Sprintf("dec%d", l), x, c.Widths[l-1], c.Decoder[l-1])
	}
	x = b.Conv("head", "head", x, 12, c.HeadKernel)
	x = b.Add("head+", x, b.Conv("skip", "skip", 0, 12, c.SkipKernel))
	return b.mustGraph(b.PixelShuffle("output", x))
}

// residualBlocks is n times x + b(leaky_relu(a(x))), both 3×3 to c channels.
func (b *Builder) residualBlocks(name string, x, c, n int) int {
	for i := range n {
		block := fmt.Sprintf("%s.%d", name, i)
		y := b.Conv(block+".a.conv", block+".a", x, c, 3)
		y = b.LeakyReLU(block+".a", y, pynetSlope)
		y = b.Conv(block+".b", block+".b", y, c, 3)
		x = b.Add(block+"+", y, x)
	}
	return x
}

// pynetmConvention is pynet-m's: white-balanced light on sRGB's curve, noise
// below black kept, as many noise planes as there are planes of samples.
func pynetmConvention(cfg PyNETMConfig) Convention {
	levels := len(cfg.Widths)
	c := Convention{
		Pack:          [4][2]int{{0, 0}, {0, 1}, {1, 0}, {1, 1}},
		Sensors:       BayerSensor,
		SubtractBlack: true,
		Curve:         CurveSRGB,
		Clip:          ClipHigh,
		Gamma:         1,
		Divisor:       1,
		Output:        OutputCameraGamma,
		Multiple:      1 << (levels - 1),
		MinSide:       1 << levels,
		ScaleNum:      2, ScaleDen: 1,
	}
	if cfg.Planes == maskedPlanes {
		c.Samples, c.Sensors = SamplesMasked, AnySensor
	}
	c.NoisePlanes = c.SamplePlanes()
	return c
}
