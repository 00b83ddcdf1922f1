package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"enhance/internal/printable"
	"enhance/pipeline"
	"enhance/raw"
)

var inspectCommand = &command{name: "inspect", summary: "print what a photo's file holds and what is done about it",
	usage: []string{"inspect PHOTO [--json]"}, run: runInspect, files: true,
	about: `Prints the images in the file, the facts about the camera, and, if a DNG file asks for
corrections (opcodes), what becomes of each. A photo that is not read has its reason.`}

func runInspect(c *call) error {
	if len(c.args) != 1 {
		return usagef("inspect: want one photo")
	}
	name, f, err := c.inspect(c.args[0])
	if err != nil {
		if !errors.As(err, new(*pipeline.FileError)) {
			err = &pipeline.FileError{Path: name, Err: err}
		}
		if c.json {
			err = errors.Join(err, c.writeJSON(inspectFailure{name, strings.TrimPrefix(message(err, ""), "enhance: ")}))
		}
		return err
	}
	return c.report(f, func(w io.Writer) error { return writeFacts(w, name, f) })
}

// inspect opens a photo, or standard input for "-".
func (c *call) inspect(path string) (name string, f *raw.Facts, err error) {
	opt := raw.Options{LibRaw: c.another(readArgument)}
	if path != "-" {
		f, err = raw.Inspect(path, opt)
		return path, f, err
	}
	p, err := openStdin(0)
	if err != nil {
		return stdinName, nil, err
	}
	defer p.close()
	return stdinName, raw.InspectReader(p, p.size, opt), nil
}

// inspectFailure is the report of a file that cannot be opened.
type inspectFailure struct {
	File  string `json:"file"`
	Error string `json:"error"`
}

func writeFacts(w io.Writer, path string, f *raw.Facts) error {
	item := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-8s%s\n", name, fmt.Sprintf(format, args...))
	}
	item("file", "%s", printable.Text(path))
	if f.Refused != "" {
		item("refused", "%s", printable.Text(f.Refused))
	}
	if p := f.Photo; p != nil {
		writePhotoFacts(item, p)
	}
	for _, i := range f.Images {
		item("image", "%s, %s: %dx%d, %d-bit, %s", i.Kind, i.Content, i.Width, i.Height, i.Bits, i.Compression)
		if len(i.Opcodes) > 0 && f.Refused != "" {
			item("", "asks for %s", strings.Join(i.Opcodes, ", "))
		}
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, op := range f.Opcodes {
		need := "required"
		if op.Optional {
			need = "optional"
		}
		fmt.Fprintf(t, "opcode\tlist %d\t%s (DNG %s, %s)\t%s\n", op.List, op.Name, op.Version, need, op.Done)
	}
	return t.Flush()
}

func writePhotoFacts(item func(name, format string, args ...any), p *raw.PhotoFacts) {
	camera := strings.TrimSpace(printable.Text(p.Make) + " " + printable.Text(strings.TrimPrefix(p.Model, p.Make+" ")))
	if camera == "" {
		camera = "unknown"
	}
	item("camera", "%s", camera)
	item("format", "%s", p.Format)
	filters := filterArray(p.CFA, p.Sensor)
	if p.Linear {
		filters = "no filter array"
	}
	item("size", "active area %dx%d, crop %dx%d at %d, %d; %s%s", p.Width, p.Height, p.Crop[2]-p.Crop[0], p.Crop[3]-p.Crop[1], p.Crop[0], p.Crop[1],
		filters, orientation(p.Orientation))
	if p.PixelAspect != 0 {
		item("pixels", "%.4g times as wide as high; the picture gets square ones", p.PixelAspect)
	}
	by := ""
	if p.BlackByRow {
		by += ", by row"
	}
	if p.BlackByColumn {
		by += ", by column"
	}
	item("levels", "black %s%s, white %s", levels(p.Black), by, levels(p.White[:]))
	switch {
	case p.AsShotNeutral != nil:
		n := p.AsShotNeutral
		item("neutral", "%.4g, %.4g, %.4g as shot", n[0], n[1], n[2])
	case p.AsShotWhiteXY != nil:
		item("neutral", "as shot at x %.4g, y %.4g", p.AsShotWhiteXY[0], p.AsShotWhiteXY[1])
	default:
		item("neutral", "none: the file has no white balance")
	}
	item("colour", "%s", matrices(p))
	if f := p.Profile; f != nil {
		item("profile", "%s", profileParts(f))
	}
	if n := p.NoiseProfile; n != nil {
		item("noise", "S %.3g, O %.3g in green", n[raw.Green][0], n[raw.Green][1])
	}
	for _, text := range p.Warnings {
		item("note", "%s", printable.Text(text))
	}
}

// matrices counts those of the file, and names their light if it does.
func matrices(p *raw.PhotoFacts) string {
	if len(p.ColorMatrices) == 0 {
		return "no colour matrix"
	}
	text := fmt.Sprintf("colour matrices: %d", len(p.ColorMatrices))
	if n := len(p.ForwardMatrices); n > 0 {
		text += fmt.Sprintf(", forward matrices: %d", n)
	}
	switch i := p.Illuminants; {
	case i[0] > 0 && i[1] > 0:
		text += fmt.Sprintf(", calibration illuminants: %d, %d", i[0], i[1])
	case i[0] > 0:
		text += fmt.Sprintf(", calibration illuminant: %d", i[0])
	}
	return text
}

// profileParts names what a camera profile has, and what asks for it.
func profileParts(f *raw.ProfileFacts) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if t := f.HueSatMap; t != nil {
		lights := ""
		if f.HueSatMaps > 1 {
			lights = " for two lights"
		}
		add("map of hue and saturation %dx%dx%d%s", t[0], t[1], t[2], lights)
	}
	if t := f.LookTable; t != nil {
		add("look table %dx%dx%d", t[0], t[1], t[2])
	}
	if f.ToneCurve > 0 {
		add("tone curve of %d points", f.ToneCurve)
	}
	asks := ""
	if len(parts) > 0 {
		asks = "; --look profile applies them"
	}
	if f.ExposureOffset != 0 {
		add("%+.2g EV", f.ExposureOffset)
	}
	name := ""
	if f.Name != "" {
		name = printable.Text(f.Name) + ": "
	}
	return name + strings.Join(parts, ", ") + asks
}
