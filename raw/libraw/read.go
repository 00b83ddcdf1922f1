package libraw

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
)

// snapshot is a copy of libraw_data_t. All processors that it is read on are
// little-endian.
type snapshot []byte

func (s snapshot) u16(at int) int    { return int(binary.LittleEndian.Uint16(s[at:])) }
func (s snapshot) u32(at int) uint32 { return binary.LittleEndian.Uint32(s[at:]) }
func (s snapshot) u64(at int) uint64 { return binary.LittleEndian.Uint64(s[at:]) }

// float is 0, which stands for unknown, where the number is not finite.
func (s snapshot) float(at int) float64 { return finite(float64(math.Float32frombits(s.u32(at)))) }

func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}

// text is a C string in an array of n bytes.
func (s snapshot) text(at, n int) string {
	b, _, _ := bytes.Cut(s[at:at+n], []byte{0})
	return strings.ToValidUTF8(strings.TrimSpace(string(b)), "?")
}

// facts reads what the layout says.
func (s snapshot) facts(l *layout) *facts {
	f := &facts{
		RawHeight: s.u16(l.sizes), RawWidth: s.u16(l.sizes + 2), Height: s.u16(l.sizes + 4), Width: s.u16(l.sizes + 6),
		Top: s.u16(l.sizes + 8), Left: s.u16(l.sizes + 10),
		PixelAspect: finite(math.Float64frombits(s.u64(l.aspect))), Flip: int(int32(s.u32(l.flip))), FujiWidth: s.u16(l.fujiWidth),
		Images: int(s.u32(l.images)), Foveon: s.u32(l.foveon) != 0, DNG: s.u32(l.dngVersion) != 0,
		Colors: int(int32(s.u32(l.colors))), Filters: s.u32(l.filters), Letters: s.text(l.letters, 5),
		Black: s.u32(l.black), Maximum: s.u32(l.maximum),
		Make: s.text(l.maker, 64), Model: s.text(l.model, 64), Software: s.text(l.software, 64), Lens: s.text(l.lensName, 128),
		Artist: s.text(l.artist, 64), Description: s.text(l.description, 512),
		ISO: s.float(l.iso), Shutter: s.float(l.shutter), Aperture: s.float(l.aperture), FocalLength: s.float(l.focal),
		Timestamp: int64(s.u64(l.timestamp)),
	}
	for i := range f.XTrans {
		f.XTrans[i] = s[l.filters+4+i] // xtrans follows filters in the struct
	}
	if f.Lens == "" {
		f.Lens = s.text(l.lensMade, 128)
	}
	cells := 4
	if rows, cols := uint64(s.u32(l.cblack+16)), uint64(s.u32(l.cblack+20)); rows > 0 && cols > 0 && rows*cols <= maxCellBlack-6 {
		cells = 6 + int(rows*cols)
	}
	for i := range cells {
		f.CellBlack = append(f.CellBlack, s.u32(l.cblack+4*i))
	}
	for i := range f.CamMul {
		f.CamMul[i] = s.float(l.camMul + 4*i)
	}
	for i := range f.RGBCam {
		f.PreMul[i] = s.float(l.preMul + 4*i)
		for j := range f.RGBCam[i] {
			f.RGBCam[i][j] = s.float(l.rgbCam + 4*(4*i+j))
		}
	}
	s.floats(l.camXYZ, f.CamXYZ[:])
	for i, at := range []int{l.dngColor, l.dngColor2} {
		f.Sets[i] = s.dngColour(at)
	}
	return f
}

func (s snapshot) floats(at int, rows [][3]float64) {
	for i := range rows {
		for j := range rows[i] {
			rows[i][j] = s.float(at + 4*(3*i+j))
		}
	}
}

// dngColour reads a libraw_dng_color_t: which fields were read, the illuminant, and
// three matrices.
func (s snapshot) dngColour(at int) (d dngColour) {
	d.Illuminant = s.u16(at + 4)
	at += 8
	for i := range d.Calibration {
		for j := range d.Calibration[i] {
			d.Calibration[i][j] = s.float(at + 4*(4*i+j))
		}
	}
	at += 64
	s.floats(at, d.Color[:])
	at += 48
	for i := range d.Forward {
		for j := range d.Forward[i] {
			d.Forward[i][j] = s.float(at + 4*(4*i+j))
		}
	}
	return d
}
