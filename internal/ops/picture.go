package ops

import (
	_ "embed"
	"fmt"
	"math"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/colour"
	"enhance/internal/fuse"
	"enhance/internal/highlights"
	"enhance/internal/kerneltext"
	"enhance/internal/planar"
	"enhance/internal/sharpen"
)

//go:embed picture.cl
var pictureCL string

// LightSteps are the intervals of a table of light.
const LightSteps = 4096

// Places of the numbers that kernels of pictures calculate with.
const (
	paramInverse   = 0
	paramClipped   = 3
	paramWhite     = 6
	paramWide      = 7
	paramOutput    = 16
	paramLuminance = 25
	paramScale     = 28
	paramSlope     = 29
	paramFirst     = 30
	paramChords    = 31
	paramKnee      = 32
	paramCodeSlope = 33
	paramAmount    = 34

	tableLight = 64
	tableNoise = tableLight + 2*(LightSteps+1)
	tableCodes = tableNoise + sharpen.Levels + 1
	tableCurve = tableCodes + 3*colour.CodeChords
	pictureLen = tableCurve + 2*colour.MaxCurveChords
)

// PictureBytes is the size of the numbers of a PictureTables on the device.
const PictureBytes = 4 * pictureLen

// surroundRun is how many cells a work-item makes colours for, and surroundFar how far around
// it looks: 0.7^80 is less than 1e-12.
const surroundRun, surroundFar = 16, 80

// PictureSource is the text of the kernels of a picture's steps, without the prelude: a program
// of its own. Which there are depends on whether pictures are sharpened.
func PictureSource(sharpened bool) string {
	float := func(v float64) string { return fmt.Sprintf("%gf", v) }
	if highlights.Side != fuse.CellSide || sharpen.Reach != fuse.SharpenReach {
		panic("ops: the steps of pictures read other rows than their definitions")
	}
	sharp := 0
	if sharpened {
		sharp = 1
	}
	return linesCL + kerneltext.Define(pictureCL, "SHARPENED", sharp,
		"INVERSE", paramInverse, "CLIPPED", paramClipped, "WHITE", paramWhite, "TO_WIDE", paramWide, "TO_OUTPUT", paramOutput, "LUMINANCE", paramLuminance,
		"SCALE", paramScale, "SLOPE", paramSlope, "FIRST", paramFirst, "CHORDS", paramChords, "KNEE", paramKnee, "CODE_SLOPE", paramCodeSlope, "AMOUNT", paramAmount,
		"LIGHT", tableLight, "NOISE", tableNoise, "CODES", tableCodes, "CURVE", tableCurve,
		"LIGHT_STEPS", LightSteps, "CURVE_SHIFT", colour.CurveShift, "CODE_SHIFT", colour.CodeShift, "CODE_FIRST", colour.CodeFirst, "CODE_CHORDS", colour.CodeChords,
		"GAMUT_KNEE", float(colour.GamutKnee), "SHARPEN_LEVELS", sharpen.Levels, "SHARPEN_MOST", float(sharpen.MostPart), "SIDE", highlights.Side,
		"BRIGHT_OF", float(highlights.BrightOf), "CLIP_FROM", float(highlights.ClipFrom), "CLIP_TO", float(highlights.ClipTo), "WHITE_OF", float(highlights.WhiteOf),
		"DECAY", float(highlights.Decay), "NEUTRAL", float(highlights.Neutral), "RUN", surroundRun, "FAR", surroundFar)
}

// PictureTables are what makes a picture of a network's light.
type PictureTables struct {
	Light         func(k int) (at, rise float32) // of a network's sample k/LightSteps, 0 to LightSteps
	Clip, Inverse [3]float32                     // light at which each component is clipped, and one over it
	White         float32                        // the level of light where all are
	Tone          colour.ToneTables
	Codes         colour.CodeTables
	Amount        float32   // of sharpening
	Variances     []float32 // of what is no detail; nil: nothing is sharpened
}

// Numbers are the tables as the kernels read them.
func (t *PictureTables) Numbers() ([]float32, error) {
	v := make([]float32, pictureLen)
	for c := range 3 {
		v[paramInverse+c], v[paramClipped+c], v[paramLuminance+c] = t.Inverse[c], t.Clip[c]*highlights.ClipFrom, t.Tone.Luminance[c]
	}
	copy(v[paramWide:], t.Tone.ToWide[:])
	copy(v[paramOutput:], t.Tone.ToOutput[:])
	v[paramWhite], v[paramScale], v[paramSlope] = t.White, t.Tone.Scale, t.Tone.Slope
	v[paramFirst], v[paramChords] = math.Float32frombits(t.Tone.First), math.Float32frombits(uint32(len(t.Tone.Chords)))
	v[paramKnee], v[paramCodeSlope], v[paramAmount] = t.Codes.Knee, t.Codes.Slope, t.Amount
	for k := range LightSteps + 1 {
		v[tableLight+2*k], v[tableLight+2*k+1] = t.Light(k)
	}
	copy(v[tableNoise:tableCodes], t.Variances)
	if len(t.Codes.Chords) != colour.CodeChords || len(t.Tone.Chords) == 0 || len(t.Tone.Chords) > colour.MaxCurveChords {
		return nil, fmt.Errorf("ops: a picture's tables have %d and %d chords: want %d and 1 to %d", len(t.Codes.Chords),
			len(t.Tone.Chords), colour.CodeChords, colour.MaxCurveChords)
	}
	for i, c := range t.Codes.Chords {
		copy(v[tableCodes+3*i:], c[:])
	}
	for i, c := range t.Tone.Chords {
		copy(v[tableCurve+2*i:], c[:])
	}
	return v, nil
}

// Pictures has the kernels of PictureSource.
type Pictures struct{ kernels }

// NewPictures takes the kernels from a program built with PictureSource.
func NewPictures(p *clrt.Program, q *clrt.Queue, c conv.Caps, sharpened bool) (*Pictures, error) {
	names := []string{"picture_cells", "picture_colours", "picture_codes"}
	if sharpened {
		names = []string{"picture_cells", "picture_colours", "picture_render", "picture_sharpen"}
	}
	k, err := takeKernels(p, q, c, names...)
	if err != nil {
		return nil, err
	}
	return &Pictures{k}, nil
}

// Close releases the kernels.
func (d *Pictures) Close() {
	if d != nil {
		d.release()
	}
}

// Make makes rows [y0,y1) of dst by step s of a picture. tables holds PictureTables.Numbers,
// bad an int for every row of the picture: the least column of a sample of the network's that
// is not finite is put there.
func (d *Pictures) Make(s *fuse.Step, src []planar.Ring, dst planar.Ring, tables, bad *clrt.Buffer, y0, y1 int) error {
	p := s.Picture
	w, h := p.X1-p.X0, p.Y1-p.Y0
	bytes := 0
	if p.Bytes {
		bytes = 1
	}
	args := new(conv.KernelArgs).Ring(src[0])
	switch s.Kind {
	case fuse.Cells:
		return d.launch("picture_cells", args.Ring(dst).Buffer(tables).Buffer(bad).Int(y0, p.Y0, p.X0, h, w), dst.W, y1-y0)
	case fuse.Colours:
		return d.launch("picture_colours", args.Ring(dst).Int(y0), (dst.W+surroundRun-1)/surroundRun, y1-y0)
	case fuse.Sharpen:
		return d.launch("picture_sharpen", args.Ring(dst).Buffer(tables).Int(bytes, y0, w), (w+7)/8, y1-y0)
	case fuse.Render:
		args.Ring(src[1]).Ring(dst).Buffer(tables)
		if p.Sharpen {
			return d.launch("picture_render", args.Int(y0, p.Y0, p.X0, w), (w+7)/8, y1-y0)
		}
		return d.launch("picture_codes", args.Int(bytes, y0, p.Y0, p.X0, w), (w+7)/8, y1-y0)
	}
	return fmt.Errorf("ops: step %s is none of a picture's", s.Name)
}

// launch starts a kernel over items along lines of so many rows.
func (d *Pictures) launch(name string, args *conv.KernelArgs, items, rows int) error {
	lx := local(d.caps, items)
	return args.Launch(d.q, d.all[name], []int{(items + lx - 1) / lx * lx, rows}, []int{lx, 1})
}
