package main

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/image/tiff"

	"enhance/model"
	"enhance/raw/dng"
	"enhance/raw/mosaic"
	"enhance/raw/opcode"
)

// Sides of the photos: small, so that a run takes a fraction of a second.
const photoW, photoH = 48, 32

// seeds are good files.
type seeds struct {
	photos     []seed // told by their contents
	headerless []byte
	profiled   []byte // a DNG photo with a camera profile, among photos too
	references []seed
	weights    []seed
	profiles   []seed
	samples    []seed // of testdata/raw
}

type seed struct {
	name string // with the extension that counts
	data []byte
}

func makeSeeds() (s seeds, err error) {
	for _, part := range []func() error{s.makePhotos, s.makeReferences, s.makeWeights, s.makeProfiles, s.readSamples} {
		if err = part(); err != nil {
			return s, err
		}
	}
	for i := range photoW * photoH {
		s.headerless = binary.LittleEndian.AppendUint16(s.headerless, uint16(i*7))
	}
	return s, nil
}

func samples(n int) []uint16 {
	out := make([]uint16, n)
	for i := range out {
		out[i] = uint16(i*37) & 0xfff
	}
	return out
}

// makePhotos makes DNG files of every coding, and mosaics as PNG and TIFF.
func (s *seeds) makePhotos() error {
	base := dng.Spec{Width: photoW, Height: photoH, Samples: samples(photoW * photoH), Bits: 12, Meta: mosaic.Meta{CFA: mosaic.RGGB, Orientation: 6,
		Make: "Maker", Model: "Model", AsShot: &[3]float64{0.5, 1, 0.6}, ColorMatrix1: &[3][3]float64{{1}, {0, 1}, {0, 0, 1}}}}
	strips, packed, lossless, tiles, corrected, linear, deflated := base, base, base, base, base, base, base
	strips.Bits, strips.RowsPerStrip, strips.Order = 16, 5, binary.BigEndian
	packed.Bits, packed.InSubIFD, packed.Linearization = 14, true, []uint16{0, 10, 20, 4000}
	lossless.JPEG = &dng.JPEG{Components: 2, Predictor: 1, RestartRows: 2}
	tiles.JPEG, tiles.TileWidth, tiles.TileHeight, tiles.Big = &dng.JPEG{Components: 1, Predictor: 6}, 16, 16, true
	area := opcode.Area{Bottom: photoH, Right: photoW, Planes: 3, RowPitch: 1, ColPitch: 1}
	corrected.Opcodes = [3][]opcode.Operation{
		{{ID: opcode.BadListID, Params: &opcode.BadList{Points: []opcode.Point{{Row: 3, Column: 4}}}}},
		{{ID: opcode.GainMapID, Params: &opcode.GainMap{Area: area, PointsV: 1, PointsH: 2, SpacingV: 1, SpacingH: 1, Planes: 1, Gains: []float32{1, 2}}}},
		{{ID: opcode.VignetteRadialID, Params: &opcode.VignetteRadial{K: [5]float64{0.5}}}, {ID: opcode.WarpFisheyeID, Params: &opcode.Fisheye{Planes: [][4]float64{{1}}}}},
	}
	linear.Linear, linear.Samples = true, samples(3*photoW*photoH)
	deflated.Bits, deflated.Compression, deflated.Encode = 16, 8, deflate
	xtrans, quad, mono, profiled := base, lossless, base, linear
	profiled.Meta.Profile = wholeProfile()
	xtrans.Meta.CFA, quad.Meta.CFA, mono.Meta.CFA = mosaic.XTrans.Shift(1, 2), mustParse("quad-GBRG"), mosaic.Mono
	for i, spec := range []dng.Spec{base, strips, packed, lossless, tiles, corrected, linear, deflated, xtrans, quad, mono, profiled} {
		var b bytes.Buffer
		if err := dng.Write(&b, spec); err != nil {
			return err
		}
		s.photos = append(s.photos, seed{string(rune('a'+i)) + ".dng", b.Bytes()})
		if spec.Meta.Profile != nil {
			s.profiled = b.Bytes()
		}
	}
	grey := image.NewGray16(image.Rect(0, 0, photoW, photoH))
	for i := range photoW * photoH {
		grey.SetGray16(i%photoW, i/photoW, color.Gray16{Y: uint16(i * 37)})
	}
	var p, t bytes.Buffer
	if err := png.Encode(&p, grey); err != nil {
		return err
	}
	if err := tiff.Encode(&t, grey, nil); err != nil {
		return err
	}
	s.photos = append(s.photos, seed{"mosaic.png", p.Bytes()}, seed{"mosaic.tiff", t.Bytes()})
	return nil
}

// wholeProfile is a camera profile that has everything.
func wholeProfile() *mosaic.Profile {
	table := &mosaic.HueSatMap{Hues: 6, Saturations: 3, Values: 2, SRGBValues: true}
	for i := range 36 {
		table.Deltas = append(table.Deltas, [3]float32{float32(i%7 - 3), 1 + float32(i%5)/16, 1})
	}
	eye := &[3][3]float64{{1}, {0, 1}, {0, 0, 1}}
	return &mosaic.Profile{Name: "Profile", Camera: "Maker Model", Signature: "com.maker", HueSat1: table, HueSat2: table, Look: table,
		ColorMatrix1: eye, ColorMatrix2: eye, ForwardMatrix1: eye, ForwardMatrix2: eye, Illuminant1: 17, Illuminant2: 255,
		IlluminantXY: [2]*[2]float64{nil, {0.3127, 0.329}}, ToneCurve: [][2]float64{{0, 0}, {0.25, 0.375}, {1, 1}}, ExposureOffset: -0.5}
}

func mustParse(pattern string) mosaic.Pattern {
	p, err := mosaic.ParsePattern(pattern)
	if err != nil {
		panic(err)
	}
	return p
}

func deflate(samples []uint16, _, _ int) ([]byte, error) {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	if err := binary.Write(z, binary.LittleEndian, samples); err != nil {
		return nil, err
	}
	err := z.Close()
	return b.Bytes(), err
}

// makeReferences makes pictures of the headerless photo's size.
func (s *seeds) makeReferences() error {
	im := image.NewNRGBA64(image.Rect(0, 0, photoW, photoH))
	for i := range photoW * photoH {
		im.Set(i%photoW, i/photoW, color.NRGBA64{R: uint16(i * 37), G: uint16(i * 11), B: uint16(i * 3), A: 65535})
	}
	var p, j, t, d bytes.Buffer
	if err := png.Encode(&p, im); err != nil {
		return err
	}
	if err := jpeg.Encode(&j, im, nil); err != nil {
		return err
	}
	if err := tiff.Encode(&t, im, nil); err != nil {
		return err
	}
	if err := tiff.Encode(&d, im, &tiff.Options{Compression: tiff.Deflate, Predictor: true}); err != nil {
		return err
	}
	s.references = []seed{{"ref.png", p.Bytes()}, {"ref.jpg", j.Bytes()}, {"ref.tiff", t.Bytes()}, {"deflated.tiff", d.Bytes()}}
	return nil
}

// makeWeights takes a small network as safetensors, and the state dicts of the tests.
func (s *seeds) makeWeights() error {
	for _, spec := range []string{"pynet-s", "pynet-m-random:1"} {
		m, err := model.Load(spec)
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if err := model.Write(&b, m); err != nil {
			return err
		}
		s.weights = append(s.weights, seed{"net.safetensors", b.Bytes()})
	}
	dicts, err := filepath.Glob("model/pickle/testdata/*.pth")
	if err != nil {
		return err
	}
	for _, name := range dicts {
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		s.weights = append(s.weights, seed{"net.pth", b})
	}
	return nil
}

func (s *seeds) readSamples() error {
	names, err := filepath.Glob("testdata/raw/*.[a-zA-Z][a-zA-Z][a-zA-Z]")
	for _, name := range names {
		b, readErr := os.ReadFile(name)
		if readErr != nil {
			return readErr
		}
		if len(b) < 3<<20 || strings.HasSuffix(name, ".dng") {
			s.samples = append(s.samples, seed{filepath.Base(name), b})
		}
	}
	if err == nil && len(s.samples) == 0 {
		err = errors.New("testdata/raw is empty: run this in the root of the repository")
	}
	return err
}

// kodak is a small photo that LibRaw reads, in a process of its own.
func (s *seeds) kodak() seed {
	return s.samples[slices.IndexFunc(s.samples, func(s seed) bool { return s.name == "DC50.kdc" })]
}

func (s *seeds) makeProfiles() error {
	names, err := filepath.Glob("internal/profile/data/*.json")
	for _, name := range names {
		b, readErr := os.ReadFile(name)
		if readErr != nil {
			return readErr
		}
		s.profiles = append(s.profiles, seed{"device.json", b})
	}
	return err
}
