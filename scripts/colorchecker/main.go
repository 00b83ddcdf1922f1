// Colorchecker measures the 24 patches of the chart in testdata/raw/colorchart.dng in
// pictures that programs made of it:
//
//	go run ./scripts/colorchecker [-against OTHER.png] PICTURE.png ...
//
// It prints the mean and largest CIEDE2000 difference to the chart's published sRGB values
// after one factor for all light, which removes the exposure; the mean difference of hue
// alone (in CIELAB, over the 18 coloured patches), which a tone curve leaves; and the
// largest chroma of the six greys. With -against it prints how the patches differ from those
// of another picture, as they are.
package main

import (
	"flag"
	"fmt"
	"math"
	"os"

	"enhance/internal/colour"
	"enhance/internal/imgio"
)

// published are the chart's colours as 8-bit sRGB, from dark skin to black.
var published = [24][3]float64{
	{115, 82, 68}, {194, 150, 130}, {98, 122, 157}, {87, 108, 67}, {133, 128, 177}, {103, 189, 170},
	{214, 126, 44}, {80, 91, 166}, {193, 90, 99}, {94, 60, 108}, {157, 188, 64}, {224, 163, 46},
	{56, 61, 150}, {70, 148, 73}, {175, 54, 60}, {231, 199, 31}, {187, 86, 149}, {8, 133, 161},
	{243, 243, 242}, {200, 200, 200}, {160, 160, 160}, {122, 122, 121}, {85, 85, 85}, {52, 52, 52},
}

// Where the patches are in a picture of width 1734: the centres of the first and the last.
const (
	width         = 1734.0
	left, right   = 705.0, 1252.0
	top, bottom   = 618.0, 930.0
	half, columns = 20.0, 6
)

func main() {
	against := flag.String("against", "", "picture whose patches are compared with")
	flag.Parse()
	for _, path := range flag.Args() {
		err := measure(path)
		if err == nil && *against != "" {
			err = compare(path, *against)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "colorchecker:", err)
			os.Exit(1)
		}
	}
}

// compare prints the differences of two pictures' patches.
func compare(path, other string) error {
	a, err := imgio.ReadRGB16(path)
	if err != nil {
		return err
	}
	b, err := imgio.ReadRGB16(other)
	if err != nil {
		return err
	}
	sum, worst := 0.0, 0.0
	for i := range 24 {
		d := colour.DeltaE2000(colour.Lab(patch(a, i)), colour.Lab(patch(b, i)))
		sum, worst = sum+d/24, math.Max(worst, d)
	}
	fmt.Printf("%s beside %s: dE2000 mean %.2f, worst %.2f\n", path, other, sum, worst)
	return nil
}

func measure(path string) error {
	im, err := imgio.ReadRGB16(path)
	if err != nil {
		return err
	}
	var want, got [24][3]float64
	up, down := 0.0, 0.0
	for i := range got {
		got[i] = patch(im, i)
		for c := range 3 {
			want[i][c] = colour.SRGBDecode(published[i][c] / 255)
			up += want[i][c] * got[i][c]
			down += got[i][c] * got[i][c]
		}
	}
	sum, worst, hues, grey := 0.0, 0.0, 0.0, 0.0
	for i := range got {
		for c := range 3 {
			got[i][c] *= up / down
		}
		a, b := colour.Lab(got[i]), colour.Lab(want[i])
		d := colour.DeltaE2000(a, b)
		sum, worst = sum+d/24, math.Max(worst, d)
		if i < 18 {
			hues += math.Abs(math.Remainder(math.Atan2(a[2], a[1])-math.Atan2(b[2], b[1]), 2*math.Pi)) * 180 / math.Pi / 18
		} else {
			grey = math.Max(grey, math.Hypot(a[1], a[2]))
		}
	}
	fmt.Printf("%s: dE2000 mean %.2f, worst %.2f; hue off by %.1f degrees on average; greys of chroma %.2f or less\n", path, sum, worst, hues, grey)
	return nil
}

// patch is the mean light of a patch.
func patch(im *imgio.RGB16, i int) (mean [3]float64) {
	k := float64(im.Width) / width
	x := k * (left + (right-left)*float64(i%columns)/(columns-1))
	y := k * (top + (bottom-top)*float64(i/columns)/3)
	n := 0.0
	for py := int(y - half*k); py < int(y+half*k); py++ {
		for px := int(x - half*k); px < int(x+half*k); px++ {
			for c, v := range im.Row(py)[3*px:][:3] {
				mean[c] += colour.SRGBDecode(float64(v) / 65535)
			}
			n++
		}
	}
	for c := range mean {
		mean[c] /= n
	}
	return mean
}
