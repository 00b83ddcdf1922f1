package dng

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"enhance/internal/metadata"
	"enhance/raw/mosaic"
	"enhance/raw/opcode"
	"enhance/raw/tiff"
)

// writerSpec is a file with everything in it.
func writerSpec(t *testing.T, order tiff.Order, w, h, planes int) LinearSpec {
	t.Helper()
	first, exif, gps := tiff.NewDir(order, false), tiff.NewDir(order, false), tiff.NewDir(order, false)
	first.Text(tagArtist, "A. Nobody")
	first.Text(tagSoftware, "camera 1.0")
	exif.URationals(33434, 0.004)
	exif.Text(36867, "2024:05:06 07:08:09")
	gps.Text(1, "N")
	d, err := metadata.ParseExif((&metadata.Directories{Order: order, First: first, Exif: exif, GPS: gps}).Encode())
	if err != nil {
		t.Fatal(err)
	}
	m := [3][3]float64{{0.75, 0.1, 0.05}, {-0.25, 1.25, 0.0625}, {0.125, 0.25, 0.5}}
	reduced := 0.75
	s := LinearSpec{Width: w, Height: h, Planes: planes, Directories: d, Software: "enhance", XMP: []byte("<x/>"), NoiseReduction: &reduced,
		PreviewWidth: 3, PreviewHeight: 2}
	s.Meta = mosaic.Meta{Make: "Maker", Model: "Model 1", Orientation: 6, BaselineExposure: 0.5, Crop: mosaic.Rect{X0: 1, Y0: 2, X1: w - 1, Y1: h - 2},
		AsShot: &[3]float64{0.5, 1, 0.625}, AnalogBalance: [3]float64{1, 1, 1}, ColorMatrix1: &m, ColorMatrix2: &m, ForwardMatrix1: &m, ForwardMatrix2: &m,
		CameraCalibration1: &m, CameraCalibration2: &m, Illuminant1: 17, Illuminant2: 21, NoiseProfile: &[3][2]float64{{1e-4, 1e-6}, {2e-4, 2e-6}, {3e-4, 3e-6}}}
	if planes == 1 {
		s.Meta.ColorMatrix1, s.Meta.ColorMatrix2, s.Meta.ForwardMatrix1, s.Meta.ForwardMatrix2 = nil, nil, nil, nil
	}
	name := []byte("Maker Model 1 of someone\x00")
	s.Carried = Carried{Order: order, Tags: []tiff.Value{{Tag: tagUniqueCameraModel, Type: tiff.ASCII, Count: len(name), Data: name}}}
	s.Opcodes = []opcode.Operation{{ID: opcode.WarpRectilinearID, Version: [4]byte{1, 3}, Params: &opcode.Rectilinear{CX: 0.5, CY: 0.5,
		Planes: []opcode.RectilinearPlane{{Radial: []float64{1, 0, 0.01, 0, 0, 0, 0}, Tangential: [2]float64{}, MaxRadius: 1}}}}}
	return s
}

// writeLinear writes rows of random samples, smooth ones and extremes.
func writeLinear(t *testing.T, s LinearSpec, big bool) (file []byte, samples []uint16) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.dng")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := io.WriteString(f, "before"); err != nil { // a file may begin elsewhere
		t.Fatal(err)
	}
	d, err := newLinearWriter(f, s, big)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(uint64(s.Width), uint64(s.Height)))
	for y := range s.Height {
		row := make([]uint16, s.Width*s.Planes)
		for x := range row {
			switch y % 3 {
			case 0:
				row[x] = uint16(100*x/s.Planes + r.IntN(50))
			case 1:
				row[x] = uint16(r.IntN(1 << 16))
			default:
				row[x] = []uint16{0, math.MaxUint16, 1 << 15}[r.IntN(3)]
			}
		}
		if err := d.WriteRow(row); err != nil {
			t.Fatal(err)
		}
		samples = append(samples, row...)
	}
	if err := d.Close([]byte("preview")); err != nil {
		t.Fatal(err)
	}
	if d.WriteRow(nil) == nil {
		t.Error("a closed file takes rows")
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasSuffix(b, []byte("preview")) && !bytes.HasSuffix(b, []byte("preview\x00")) {
		t.Error("the preview is not where it belongs")
	}
	return b[len("before"):], samples
}

func TestLinearWriter(t *testing.T) {
	for _, size := range [][2]int{{8, 8}, {256, 256}, {257, 255}, {517, 300}, {30, 600}} {
		for _, order := range []tiff.Order{binary.LittleEndian, binary.BigEndian} {
			for _, big := range []bool{false, true} {
				t.Run(fmt.Sprintf("%dx%d %v big=%v", size[0], size[1], order, big), func(t *testing.T) {
					s := writerSpec(t, order, size[0], size[1], 3)
					b, samples := writeLinear(t, s, big)
					im, err := openBytes(b)
					if err != nil {
						t.Fatal(err)
					}
					checkWritten(t, im, s, samples)
					if strings.HasPrefix(im.Meta.Format, "DNG 1.7") != big {
						t.Errorf("format %q", im.Meta.Format)
					}
				})
			}
		}
	}
}

func checkWritten(t *testing.T, im *Image, s LinearSpec, samples []uint16) {
	t.Helper()
	m := im.Meta
	if !m.Linear || m.Width != s.Width || m.Height != s.Height || len(m.Warnings) > 0 {
		t.Fatalf("linear %v, %dx%d, warnings %q", m.Linear, m.Width, m.Height, m.Warnings)
	}
	rows := make([]float32, len(samples))
	if err := im.ReadLinear(0, m.Height, rows); err != nil {
		t.Fatal(err)
	}
	for i, want := range samples { // rows have planes one after the other
		y, x, c := i/(3*m.Width), i/3%m.Width, i%3
		if got := rows[(3*y+c)*m.Width+x]; got != float32(want)/LinearWhite {
			t.Fatalf("row %d, column %d, colour %d: %g, want %g", y, x, c, got, float32(want)/LinearWhite)
		}
	}
	want := s.Meta
	got := mosaic.Meta{Make: m.Make, Model: m.Model, Orientation: m.Orientation, BaselineExposure: m.BaselineExposure, Crop: m.Crop,
		AsShot: m.AsShot, AnalogBalance: m.AnalogBalance, ColorMatrix1: m.ColorMatrix1, ColorMatrix2: m.ColorMatrix2, ForwardMatrix1: m.ForwardMatrix1,
		ForwardMatrix2: m.ForwardMatrix2, CameraCalibration1: m.CameraCalibration1, CameraCalibration2: m.CameraCalibration2,
		Illuminant1: m.Illuminant1, Illuminant2: m.Illuminant2, NoiseProfile: m.NoiseProfile}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("facts\n%+v, want\n%+v", got, want)
	}
	if string(m.XMP) != "<x/>" || m.Software != "enhance" || m.DateTime != "2024:05:06 07:08:09" {
		t.Errorf("XMP %q, software %q, time %q", m.XMP, m.Software, m.DateTime)
	}
	if !reflect.DeepEqual(im.Opcodes[2], s.Opcodes) {
		t.Errorf("opcodes %+v, want %+v", im.Opcodes[2], s.Opcodes)
	}
	if len(im.Carried.Tags) != 1 || !reflect.DeepEqual(im.Carried, s.Carried) {
		t.Errorf("carried %+v", im.Carried)
	}
}

func TestLinearWriterMono(t *testing.T) {
	s := writerSpec(t, binary.LittleEndian, 300, 260, 1)
	s.Opcodes = nil
	b, samples := writeLinear(t, s, false)
	im, err := openBytes(b)
	if err != nil {
		t.Fatal(err)
	}
	if im.Meta.Linear || im.Meta.CFA != mosaic.Mono {
		t.Errorf("linear %v, CFA %v", im.Meta.Linear, im.Meta.CFA)
	}
	checkRows(t, im, samples)
}

// TestLinearWriterCores holds the bytes against the number of cores.
func TestLinearWriterCores(t *testing.T) {
	s := writerSpec(t, binary.LittleEndian, 700, 520, 3)
	want, _ := writeLinear(t, s, false)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, n := range []int{1, 3, 8} {
		runtime.GOMAXPROCS(n)
		if got, _ := writeLinear(t, s, false); !bytes.Equal(got, want) {
			t.Errorf("%d cores: other bytes", n)
		}
	}
}

func TestLinearWriterRefuses(t *testing.T) {
	good := writerSpec(t, binary.LittleEndian, 20, 20, 3)
	for name, change := range map[string]func(*LinearSpec){
		"width":   func(s *LinearSpec) { s.Width = 0 },
		"height":  func(s *LinearSpec) { s.Height = math.MaxInt },
		"planes":  func(s *LinearSpec) { s.Planes = 4 },
		"preview": func(s *LinearSpec) { s.PreviewWidth = 0 },
	} {
		s := good
		change(&s)
		if _, err := NewLinearWriter(nil, s); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "x"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, err := NewLinearWriter(f, good)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.WriteRow(make([]uint16, 60)); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(nil); err == nil {
		t.Error("a file with a row of 20 was closed")
	}
	if d, err = NewLinearWriter(f, good); err != nil {
		t.Fatal(err)
	}
	if err := d.WriteRow(make([]uint16, 59)); err == nil {
		t.Error("a row of another length was taken")
	}
}
