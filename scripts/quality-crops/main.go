// Command quality-crops makes the pictures of docs/quality.md: parts of photos as
// they come back from a mosaic by several methods, beside the photo itself, among
// them those that the last network restores worst; and parts of the sample RAW
// photos as the networks develop them. All are twice enlarged.
//
//	go run ./scripts/quality-crops [-m MODEL]... [-g DEVICE] KODAK-DIR OUT-DIR
//
// KODAK-DIR holds kodim01.png to kodim24.png. LibRaw's program dcraw_emu is needed.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"enhance/bench/eval"
	"enhance/internal/imgio"
	"enhance/model"
	"enhance/pipeline"
)

// classical are the methods of LibRaw that are shown.
var classical = []string{"LibRaw bilinear", "LibRaw AHD", "LibRaw AAHD"}

func main() {
	var models []string
	flag.Func("m", "network to show; can be repeated, the best last; without it all built-in ones for Bayer mosaics", func(s string) error {
		models = append(models, s)
		return nil
	})
	device := flag.String("g", "", "device, as enhance -g takes it")
	flag.Parse()
	if flag.NArg() != 2 {
		fmt.Fprintln(os.Stderr, "quality-crops: want a folder of Kodak's photos and one for the pictures")
		os.Exit(2)
	}
	if len(models) == 0 {
		for _, b := range slices.Backward(model.Builtins()) { // the simplest first
			if b.Name != model.ForAnySensor {
				models = append(models, b.Name)
			}
		}
	}
	var sets []pipeline.Settings
	for _, m := range models {
		sets = append(sets, pipeline.Settings{Model: m, Device: *device})
	}
	if err := run(sets, flag.Arg(0), flag.Arg(1)); err != nil {
		fmt.Fprintln(os.Stderr, "quality-crops:", err)
		os.Exit(1)
	}
}

func run(sets []pipeline.Settings, kodak, out string) error {
	worst, err := failures(sets[len(sets)-1], kodak, 3)
	if err != nil {
		return err
	}
	for _, f := range append(worst, figures...) {
		if err := f.make(sets, kodak, out); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return developed(sets, out)
}

// figure is a part of a photo by all methods.
type figure struct {
	name   string // of the picture: quality-NAME.png
	photo  string
	x, y   int // of its corner; the side is cropSide
	mosaic eval.Mosaic
}

// cropSide is what a panel shows.
const cropSide = 96

var figures = []figure{
	{name: "moire", photo: "kodim19.png", x: 290, y: 452},
	{name: "zipper", photo: "kodim08.png", x: 548, y: 218},
	{name: "text", photo: "kodim08.png", x: 548, y: 296},
	{name: "gradients", photo: "kodim04.png", x: 205, y: 330, mosaic: eval.Mosaic{Sigma: 10, Seed: 1}},
	{name: "night", photo: "kodim05.png", x: 414, y: 14,
		mosaic: eval.Mosaic{Sensor: &eval.Sensor{S: 8e-3, O: 2e-4, Gains: [3]float64{2, 1, 1.6}}, Seed: 1}},
}

// make evaluates the photo, keeps what all methods made of it, and puts the parts
// side by side.
func (f *figure) make(sets []pipeline.Settings, kodak, out string) error {
	dir, err := os.MkdirTemp("", "quality-crops-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	photo := filepath.Join(kodak, f.photo)
	rep, err := eval.Run(context.Background(), eval.Options{Photos: []string{photo}, Mosaic: f.mosaic, Border: 8,
		Models: sets, LibRaw: true, Save: dir})
	if err != nil {
		return err
	}
	truth, err := imgio.ReadRGB16(photo)
	if err != nil {
		return err
	}
	panels := []panel{{"photo", truth, f.x, f.y}}
	add := func(m *eval.MethodResult) error {
		path := eval.SavedAs(dir, f.photo, m.Method)
		im, err := imgio.ReadRGB16(path)
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(strings.TrimSuffix(filepath.Base(m.Method), ".safetensors"), "LibRaw ")
		panels = append(panels, panel{fmt.Sprintf("%s  %.1f dB", name, m.Mean.CPSNR), im, f.x, f.y})
		return nil
	}
	for _, name := range classical {
		for i := range rep.Methods {
			if rep.Methods[i].Method == name {
				if err := add(&rep.Methods[i]); err != nil {
					return err
				}
			}
		}
	}
	for i := range sets {
		if err := add(&rep.Methods[i]); err != nil {
			return err
		}
	}
	fmt.Printf("quality-%s.png: %s at %d,%d; %s; CFA %s\n", f.name, f.photo, f.x, f.y, rep.Domain, rep.CFA)
	return writePanels(filepath.Join(out, "quality-"+f.name+".png"), panels, len(panels))
}
