package model

// Tensor is a named parameter: row-major float32 values and their shape.
type Tensor struct {
	Shape []int
	Data  []float32
}

// Model is a graph together with the values of its parameters and the rules by
// which a RAW mosaic becomes its input and its output becomes a picture.
type Model struct {
	Arch       string // "pynet", "pynet-s", "pynet-m"
	Graph      *Graph
	Params     map[string]*Tensor
	Convention Convention
	NoiseLeft  *NoiseLeft        // nil if nobody measured it
	Meta       map[string]string // metadata of the file the weights came from
}

// OutputKind says what the samples of a network's result mean.
type OutputKind uint8

const (
	// OutputCameraGamma is camera-space, white-balanced light encoded by the convention's curve.
	OutputCameraGamma OutputKind = iota
	// OutputDisplaySRGB is display-ready sRGB in 0..1: no white balance, matrix or curve follows.
	OutputDisplaySRGB
)

// Convention is how RAW samples are brought to a network and what comes back.
type Convention struct {
	// Samples says what the planes of samples are, and Sensors whose samples a network
	// takes.
	Samples Samples
	Sensors Sensors
	// Pack gives, of SamplesQuad, the (row, column) inside the 2×2 quad, red at (0,0),
	// that each input plane holds.
	Pack [4][2]int

	// Normalised conventions (SubtractBlack true): x = (raw-black)/(white-black),
	// times the white-balance gain of its colour (gains divided by their smallest),
	// limited by Clip, encoded by Curve.
	// Otherwise x = raw·1023/(2^bits-1)/Divisor and nothing else happens.
	SubtractBlack bool
	Curve         Curve
	Clip          Clip
	Gamma         float64 // of CurveGamma
	Divisor       float64

	// NoisePlanes is SamplePlanes if as many planes follow those of the samples, in the
	// same order, with the strength of the noise of each (see NoiseSample), else 0.
	NoisePlanes int

	Output OutputKind

	// Packed planes are padded at the bottom and right to multiples of Multiple, at least MinSide,
	// by reflection of the mosaic, and the output is cropped back.
	Multiple, MinSide int

	// Scale is the output's side divided by the packed input's side, as a fraction
	// Num/Den (pynet level n: 2^(1-n)).
	ScaleNum, ScaleDen int
}
