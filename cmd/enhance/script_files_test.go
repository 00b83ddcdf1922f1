package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"

	"enhance/raw/dng"
	"enhance/raw/mosaic"
	"enhance/raw/opcode"
	"enhance/raw/tiff"
)

const photoXMP = `<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="" xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmlns:tiff="http://ns.adobe.com/tiff/1.0/" xmlns:crs="http://ns.adobe.com/camera-raw-settings/1.0/" xmp:Rating="4" tiff:Orientation="6" crs:Exposure2012="+1.0"/>
</rdf:RDF></x:xmpmeta><?xpacket end="w"?>`

// cmdMkphoto: mkphoto FILE [damaged]: a part of the capture of testdata as a camera's DNG file, turned, with
// EXIF, GPS and XMP data and a lens correction; damaged: the three cannot be read.
func cmdMkphoto(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: mkphoto FILE [damaged]")
	}
	const w, h = 160, 120
	src, err := os.ReadFile(filepath.Join(ts.Getenv("DATA"), "raw/DSC_1339_768x512_rggb.raw"))
	check(ts, err)
	s := dng.Spec{Width: w, Height: h, Bits: 16}
	for i := range w * h {
		s.Samples = append(s.Samples, binary.LittleEndian.Uint16(src[2*((i/w+200)*768+i%w+300):]))
	}
	s.Meta = mosaic.Meta{Make: "Nikon", Model: "D1", Orientation: 6, CFA: mosaic.RGGB, AsShot: &[3]float64{0.5, 1, 0.75}, Illuminant1: 17, Illuminant2: 21,
		ColorMatrix1: &[3][3]float64{{0.75, -0.125, -0.0625}, {-0.5, 1.25, 0.25}, {-0.125, 0.25, 0.625}},
		ColorMatrix2: &[3][3]float64{{0.625, -0.125, -0.0625}, {-0.5, 1.25, 0.25}, {-0.125, 0.25, 0.75}},
		Crop:         mosaic.Rect{X0: 4, Y0: 4, X1: 156, Y1: 116}}
	s.Meta.SetBlack(600)
	s.Meta.SetWhite(15520)
	s.Opcodes[2] = []opcode.Operation{{ID: opcode.WarpRectilinearID, Version: [4]byte{1, 3}, Params: &opcode.Rectilinear{CX: 0.5, CY: 0.5,
		Planes: []opcode.RectilinearPlane{{Radial: []float64{1, 0, -0.05, 0, 0, 0, 0}, MaxRadius: 1}}}}}
	s.Edit = func(first, _ *tiff.Dir) { photoMetadata(first, len(args) == 2) }
	var b bytes.Buffer
	check(ts, dng.Write(&b, s))
	check(ts, os.WriteFile(ts.MkAbs(args[0]), b.Bytes(), 0o644))
}

func photoMetadata(first *tiff.Dir, damaged bool) {
	exif, gps := tiff.NewDir(binary.LittleEndian, false), tiff.NewDir(binary.LittleEndian, false)
	exif.URationals(33434, 0.004)
	exif.URationals(33437, 5.6)
	exif.Shorts(34855, 400)
	exif.Raw(36864, tiff.Undefined, 4, []byte("0230"))
	exif.Text(36867, "2011:12:13 14:15:16")
	exif.Raw(37500, tiff.Undefined, 12, []byte("Nikon offset"))
	exif.Longs(40962, 4000)
	exif.Text(42036, "AF 50mm")
	exif.Text(42033, "\x00\x00\x00\x00")
	gps.Bytes(0, 2, 3, 0, 0)
	gps.Text(1, "N")
	gps.URationals(2, 47, 30, 0)
	gps.Text(3, "E")
	gps.URationals(4, 8, 15, 0)
	first.Text(315, "A. Nonymous")
	first.Text(270, "\x00\x00  ")
	first.Dirs(tiff.TagExifIFD, exif)
	first.Dirs(tiff.TagGPSIFD, gps)
	first.Bytes(700, []byte(photoXMP)...)
	if damaged {
		first.Longs(tiff.TagExifIFD, 1<<30)
		first.Longs(tiff.TagGPSIFD, 1<<29)
		first.Bytes(700, []byte(photoXMP)[:300]...)
	}
}
