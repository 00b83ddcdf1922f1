// Command before-after makes docs/images/before-after.png: on the left the
// sample photo with plain bilinear interpolation of its mosaic, on the right
// what the program made of it, both whole and a detail enlarged. Both sides have
// the same white balance, exposure, colour matrix and sRGB curve, so that what
// differs is the interpolation and the noise.
//
//	enhance photo.dng --tone linear --wb 1.47,1,2.26 --exposure 2 -o enhanced.png
//	before-after -wb 1.47,1,2.26 -ev 2 photo.dng enhanced.png before-after.png
package main

import (
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"

	"github.com/disintegration/imaging"

	"enhance/internal/atomicfile"
)

// The layout, in pixels: two columns; in each the whole photo, and below it a
// detail, every pixel of it a square of side zoom.
const (
	column = 408
	gap    = 8
	zoom   = 4
)

// detail is where to look: patches of the chart and the name engraved beside them.
var detail = image.Rect(1256, 738, 1256+column/zoom, 738+66)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "before-after:", err)
		os.Exit(1)
	}
}

func run() error {
	gains := [3]float64{1, 1, 1}
	flag.Func("wb", "white balance: gains `R,G,B`", func(s string) error {
		_, err := fmt.Sscanf(s, "%g,%g,%g", &gains[0], &gains[1], &gains[2])
		return err
	})
	ev := flag.Float64("ev", 0, "exposure in stops")
	flag.Parse()
	if flag.NArg() != 3 {
		return errors.New("want three files: the photo, the enhanced picture and the result")
	}
	before, err := bilinear(flag.Arg(0), gains, *ev)
	if err != nil {
		return err
	}
	after, err := imaging.Open(flag.Arg(1))
	if err != nil {
		return err
	}
	if before.Bounds() != after.Bounds() {
		return fmt.Errorf("the photo is %v and the enhanced picture %v", before.Bounds(), after.Bounds())
	}
	return write(flag.Arg(2), compose(before, after))
}

func compose(before, after image.Image) image.Image {
	whole := column * before.Bounds().Dy() / before.Bounds().Dx()
	page := imaging.New(2*column+gap, whole+gap+detail.Dy()*zoom, color.White)
	for i, m := range []image.Image{before, after} {
		x := i * (column + gap)
		page = imaging.Paste(page, imaging.Resize(m, column, whole, imaging.Lanczos), image.Pt(x, 0))
		enlarged := imaging.Resize(imaging.Crop(m, detail), detail.Dx()*zoom, detail.Dy()*zoom, imaging.NearestNeighbor)
		page = imaging.Paste(page, enlarged, image.Pt(x, whole+gap))
	}
	return page
}

func write(path string, m image.Image) error {
	f, err := atomicfile.Create(path, atomicfile.Options{Overwrite: true})
	if err != nil {
		return err
	}
	defer f.Abort()
	enc := png.Encoder{CompressionLevel: png.BestCompression}
	if err := enc.Encode(f, m); err != nil {
		return err
	}
	return f.Commit()
}
