package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"enhance/raw/dng"
	"enhance/raw/mosaic"
	"enhance/raw/opcode"
	"enhance/raw/tiff"
)

// inputKinds are inputs that a general mutator rarely reaches the inside of.
var inputKinds = []kind{
	{name: "opcodes", weight: 4, make: opcodes},
	{name: "camera samples", weight: 4, make: cameraSample},
	{name: "batch", weight: 2, make: batch},
	{name: "standard input", weight: 2, make: standardInput},
	{name: "lists and folders", weight: 2, make: listed},
	{name: "pipes and folders", weight: 1, make: irregular},
}

// opcodeTags are those of the lists 1 to 3.
var opcodeTags = [3]uint16{51008, 51009, 51022}

// opcodes is a mosaic or a linear photo whose lists are damaged, the rest of it whole.
func opcodes(c *campaign, a *attempt) error {
	s := dng.Spec{Width: photoW, Height: photoH, Samples: samples(photoW * photoH), Meta: mosaic.Meta{CFA: mosaic.RGGB}}
	if a.IntN(3) == 0 {
		s.Linear, s.Samples = true, samples(3*photoW*photoH)
	}
	var lists [3][]byte
	for i := range lists {
		var list []opcode.Operation
		for range a.IntN(3) {
			list = append(list, a.operation())
		}
		lists[i] = opcode.Encode(list)
		if a.IntN(3) == 0 {
			lists[i] = a.damageWords(lists[i])
		}
	}
	s.Edit = func(_, raw *tiff.Dir) {
		for i, list := range lists {
			if len(list) > 0 {
				raw.Raw(opcodeTags[i], tiff.Undefined, len(list), list)
			}
		}
	}
	var b bytes.Buffer
	if err := dng.Write(&b, s); err != nil {
		return err
	}
	path := a.file("opcodes.dng", b.Bytes())
	if a.IntN(5) == 0 {
		a.args = []string{"inspect", path}
		a.maybe("--json")
		return nil
	}
	a.develop(path)
	a.maybe("--dry-run")
	return nil
}

// damageWords puts other numbers into one to three words of big-endian data.
func (a *attempt) damageWords(b []byte) []byte {
	for range 1 + a.IntN(3) {
		at := 4 * a.IntN(len(b)/4)
		v := numbers[a.IntN(len(numbers))]
		switch a.IntN(6) {
		case 0:
			return b[:at]
		case 1:
			v = math.Float64bits([]float64{math.NaN(), math.Inf(1), -1, 1e300, 1e-300}[a.IntN(5)])
		}
		if a.IntN(3) == 0 && at+8 <= len(b) {
			binary.BigEndian.PutUint64(b[at:], v)
		} else {
			binary.BigEndian.PutUint32(b[at:], uint32(v))
		}
	}
	return b
}

// extent is a side or an offset in the photo, or beyond it.
func (a *attempt) extent() uint32 {
	if a.IntN(12) == 0 {
		return uint32(numbers[a.IntN(len(numbers))])
	}
	return uint32(a.IntN(photoW + 8))
}

func (a *attempt) area() opcode.Area {
	b := a.bounds()
	area := opcode.Area{Top: b.Top, Left: b.Left, Bottom: b.Bottom, Right: b.Right, Planes: 1, RowPitch: uint32(1 + a.IntN(4)), ColPitch: uint32(1 + a.IntN(4))}
	if a.IntN(5) == 0 {
		area.Plane, area.Planes = uint32(a.IntN(3)), uint32(1+a.IntN(4))
	}
	return area
}

// coefficient is a small number, now and then one that is not.
func (a *attempt) coefficient() float64 {
	if a.IntN(15) == 0 {
		return []float64{math.NaN(), math.Inf(-1), 1e308, -1e18, 1e-308}[a.IntN(5)]
	}
	return a.NormFloat64()
}

func (a *attempt) singles(n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(a.NormFloat64())
	}
	if n > 0 && a.IntN(8) == 0 {
		v[a.IntN(n)] = float32(a.coefficient())
	}
	return v
}

func (a *attempt) operation() opcode.Operation {
	op := opcode.Operation{ID: opcode.ID(1 + a.IntN(15)), Optional: a.IntN(3) > 0, Version: [4]byte{1, 3}} // 15 is unknown
	switch op.ID {
	case opcode.WarpRectilinearID, opcode.WarpRectilinear2ID:
		w := &opcode.Rectilinear{CX: a.Float64(), CY: a.coefficient()}
		for range 1 + 2*a.IntN(2) {
			p := opcode.RectilinearPlane{Radial: make([]float64, 15), MaxRadius: 1}
			p.Radial[0], p.Radial[2], p.Tangential[0] = 1, 0.1*a.coefficient(), 0.1*a.coefficient()
			w.Planes = append(w.Planes, p)
		}
		op.Params = w
	case opcode.WarpFisheyeID:
		op.Params = &opcode.Fisheye{Planes: [][4]float64{{1, a.coefficient(), 0, a.coefficient()}}, CX: 0.5, CY: a.Float64()}
	case opcode.VignetteRadialID:
		op.Params = &opcode.VignetteRadial{K: [5]float64{a.coefficient(), a.coefficient()}, CX: 0.5, CY: a.coefficient()}
	case opcode.BadConstantID:
		op.Params = &opcode.BadConstant{Constant: uint32(a.IntN(4096)), Phase: uint32(a.IntN(5))}
	case opcode.BadListID:
		op.Params = &opcode.BadList{Points: []opcode.Point{{Row: a.extent(), Column: a.extent()}}, Rects: []opcode.TrimBounds{a.bounds(), a.bounds()}}
	case opcode.TrimBoundsID:
		b := a.bounds()
		op.Params = &b
	case opcode.MapTableID:
		op.Params = &opcode.MapTable{Area: a.area(), Table: samples(1 + a.IntN(300))}
	case opcode.MapPolynomialID:
		op.Params = &opcode.MapPolynomial{Area: a.area(), Coefficients: []float64{a.coefficient(), a.coefficient(), a.coefficient()}}
	case opcode.GainMapID:
		v, h := 1+a.IntN(4), 1+a.IntN(4)
		op.Params = &opcode.GainMap{Area: a.area(), PointsV: v, PointsH: h, SpacingV: a.coefficient(), SpacingH: 0.5, OriginV: a.coefficient(), Planes: 1, Gains: a.singles(v * h)}
	case opcode.DeltaPerRowID, opcode.DeltaPerColumnID, opcode.ScalePerRowID, opcode.ScalePerColumnID:
		op.Params = &opcode.PerLine{Area: a.area(), Values: a.singles(a.IntN(photoW))}
	}
	return op
}

func (a *attempt) bounds() opcode.TrimBounds {
	if a.IntN(5) == 0 {
		return opcode.TrimBounds{Top: a.extent(), Left: a.extent(), Bottom: a.extent(), Right: a.extent()}
	}
	top, left := uint32(a.IntN(photoH/2)), uint32(a.IntN(photoW/2))
	return opcode.TrimBounds{Top: top, Left: left, Bottom: top + 1 + uint32(a.IntN(photoH/2)), Right: left + 1 + uint32(a.IntN(photoW/2))}
}

// cameraSample is a damaged photo of testdata/raw, camera makers' formats among them.
func cameraSample(c *campaign, a *attempt) error {
	s := c.files.samples[a.IntN(len(c.files.samples))]
	path := a.file(s.name, a.damageSample(s.data))
	a.extra = 256 << 20 // of LibRaw's process, and of what a decoder holds of megapixels
	small := len(s.data) < 200<<10
	switch n := a.IntN(6); {
	case n == 0:
		a.args = []string{"inspect", path}
	case n == 1 && small:
		a.develop(path)
	default:
		a.args = append(a.args, path, "--dry-run")
		a.maybe("--exposure", "auto")
		a.maybe("--wb", "auto")
	}
	a.maybe("--json")
	switch strings.ToLower(filepath.Ext(s.name)) {
	case ".png":
		if a.args[0] != "inspect" {
			a.args = append(a.args, "--cfa", "RGGB")
		}
	case ".raw": // whose size does not fit any longer
		if a.args[0] != "inspect" {
			a.args = append(a.args, "--cfa", "RGGB", "--raw-size", "768x512")
		}
	}
	return nil
}

// damageSample damages a large file at its head or at its end, where directories are, or
// anywhere.
func (a *attempt) damageSample(b []byte) []byte {
	b = bytes.Clone(b)
	if a.IntN(5) == 0 {
		return b[:a.IntN(len(b))]
	}
	for range 1 + a.IntN(12) {
		at := a.IntN(len(b))
		switch a.IntN(4) {
		case 0, 1:
			at = a.IntN(min(len(b), 4096))
		case 2:
			at = len(b) - 1 - a.IntN(min(len(b), 4096))
		}
		if a.IntN(2) == 0 {
			putNumber(a.Rand, b[at:])
		} else {
			b[at] ^= 1 << a.IntN(8)
		}
	}
	return b
}

// batch develops several photos, of which some are damaged, into a folder.
func batch(c *campaign, a *attempt) error {
	a.args = []string{"-g", "host", "--host-mem", fmt.Sprint(int64(hostMem))}
	a.extra = hostMem
	good := 0
	for i := range 2 + a.IntN(5) {
		s := c.files.photos[a.IntN(len(c.files.photos))]
		if !strings.HasSuffix(s.name, ".dng") { // a flag for one would be for all
			s = c.files.photos[0]
		}
		data := s.data
		if a.IntN(2) == 0 {
			data = a.damage(s)
		} else {
			good++
		}
		a.args = append(a.args, a.file(fmt.Sprintf("%d%s", i, s.name), data))
	}
	out := filepath.Join(a.dir, "out")
	if err := os.Mkdir(out, 0o755); err != nil {
		return err
	}
	a.own["out"] = true
	a.args = append(a.args, "-o", out)
	a.maybe("--json")
	a.batch, a.several = good, true
	return nil
}

// standardInput is a damaged photo that comes through a pipe.
func standardInput(c *campaign, a *attempt) error {
	s := c.files.photos[a.IntN(len(c.files.photos))]
	if a.IntN(4) == 0 {
		s = c.files.kodak()
	}
	a.stdin = a.damage(s)
	if a.IntN(8) == 0 { // an end too early, or no photo at all
		a.stdin = a.stdin[:a.IntN(min(len(a.stdin), 64))]
	}
	a.bytes += int64(len(a.stdin))
	a.develop("-")
	if !strings.HasSuffix(s.name, ".dng") {
		a.args = append(a.args, "--cfa", "RGGB")
	}
	a.maybe("--dry-run")
	a.maybe("--exposure", "auto")
	return nil
}

// listed is photos by a list of names, or in folders, some of them damaged or not there.
func listed(c *campaign, a *attempt) error {
	a.args = []string{"-g", "host", "--host-mem", fmt.Sprint(int64(hostMem))}
	a.extra = hostMem
	in, out := filepath.Join(a.dir, "in"), filepath.Join(a.dir, "out")
	for _, dir := range []string{out, filepath.Join(in, "deep", "deeper")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	a.own["in"], a.own["out"], a.several = true, true, true
	var list []byte
	end := []string{"\n", "\r\n", "\x00"}[a.IntN(3)]
	for i := range 1 + a.IntN(4) {
		s := c.files.photos[a.IntN(len(c.files.photos))]
		path := filepath.Join([]string{in, in + "/deep", in + "/deep/deeper"}[a.IntN(3)], fmt.Sprintf("%d%s", i, s.name))
		if err := os.WriteFile(path, a.damage(s), 0o644); err != nil {
			return err
		}
		list = append(list, path+end...)
	}
	_ = os.Symlink("..", filepath.Join(in, "deep", "loop")) // where that fails there is one danger less
	_ = makePipe(filepath.Join(in, "pipe.dng"))
	if a.IntN(2) == 0 {
		a.args = append(a.args, "-r", in)
	} else {
		odd := []string{"no such file", in, "-", "--help", "\x1b[2J.dng", strings.Repeat("x", 5000), "\ufeff", ".", "/dev/zero", in + "/pipe.dng"}
		for range a.IntN(3) {
			list = append(list, odd[a.IntN(len(odd))]+end...)
		}
		if a.IntN(3) == 0 {
			list = mutate(a.Rand, list)
		}
		if a.IntN(2) == 0 {
			a.stdin = list
			a.args = append(a.args, "--from", "-")
		} else {
			a.args = append(a.args, "--from", a.file("list", list))
		}
	}
	a.args = append(a.args, "-o", out)
	a.maybe("--json")
	a.maybe("--dry-run")
	return nil
}

// irregular puts a pipe, a folder, a device or a dangling link where a file should be.
func irregular(c *campaign, a *attempt) error {
	ext := []string{".dng", ".safetensors", ".pth", ".json", ".png", ".tiff", ".raw"}[a.IntN(7)]
	path := filepath.Join(a.dir, "thing"+ext)
	a.own["thing"+ext] = true
	var err error
	switch a.IntN(4) {
	case 0:
		err = makePipe(path)
	case 1:
		err = os.Mkdir(path, 0o755)
	case 2:
		err = os.Symlink([]string{os.DevNull, "/dev/zero", "/dev/tty", "/dev/full"}[a.IntN(4)], path)
	case 3:
		err = os.Symlink("thing"+ext, path)
	}
	if err != nil {
		return err
	}
	a.refused = true
	switch a.IntN(7) {
	case 0:
		a.args = []string{"inspect", path}
	case 1:
		a.info(path)
	case 2:
		a.args = append(a.headerless(c), "--dry-run", "--device-profile", path)
	case 3:
		a.develop(a.headerless(c)...)
		a.args = append(a.args, "-m", path)
	case 4:
		a.develop(a.headerless(c)...)
		a.args = append(a.args, "--reference", path)
	case 5:
		a.args = []string{"model", "run", "-g", "host", "-m", "pynet-s", "-i", path, "--shape", "4,8,8"}
	default:
		a.develop(path)
		a.maybe("--dry-run")
	}
	return nil
}
