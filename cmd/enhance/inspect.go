package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"enhance/internal/printable"
	"enhance/pipeline"
	"enhance/raw"
)

var inspectCommand = &command{name: "inspect", summary: "print what a photo's file holds and what is done about it",
	usage: []string{"inspect PHOTO... [--json]"}, run: runInspect, files: true,
	about: `Prints the images in the file, the facts about the camera, and, if a DNG file asks for
corrections (opcodes), what becomes of each. A photo that is not read has its reason. Of
several photos --json makes a list named photos; those that cannot be opened are named,
and the exit status is 1.`}

func runInspect(c *call) error {
	switch n := len(c.args); {
	case n == 0:
		return c.wants("a photo")
	case n > 1:
		return c.inspectAll()
	}
	name, f, err := c.inspect(c.args[0])
	if err != nil {
		if c.json {
			err = errors.Join(err, c.writeJSON(failedInspection(name, err)))
		}
		return err
	}
	return c.report(f, func(w io.Writer) error { return writeFacts(w, name, f) })
}

// inspectAll is for several photos. Each is printed when it was read, but for JSON.
func (c *call) inspectAll() error {
	if slices.Contains(c.args, "-") {
		return usagef("inspect: standard input has one photo: leave the others out")
	}
	var (
		list struct {
			Photos []any `json:"photos"`
		}
		failed bool
	)
	for i, path := range c.args {
		name, f, err := c.inspect(path)
		if err != nil {
			failed = true
			fmt.Fprintln(c.stderr, message(err, ""))
			list.Photos = append(list.Photos, failedInspection(name, err))
			continue
		}
		list.Photos = append(list.Photos, struct {
			File string `json:"file"`
			*raw.Facts
		}{name, f})
		if c.json {
			continue
		}
		if i > 0 {
			fmt.Fprintln(c.text())
		}
		if err := writeFacts(c.text(), name, f); err != nil {
			return err
		}
	}
	if c.json {
		if err := c.writeJSON(list); err != nil {
			return err
		}
	}
	if failed {
		return ended(exitFailed)
	}
	return nil
}

// inspect opens a photo, or standard input for "-". Its errors name the file.
func (c *call) inspect(path string) (name string, f *raw.Facts, err error) {
	name, opt := path, raw.Options{LibRaw: c.another(readArgument)}
	if path != "-" {
		f, err = raw.Inspect(path, opt)
	} else {
		name = stdinName
		f, err = inspectStdin(opt)
	}
	if err != nil && !errors.As(err, new(*pipeline.FileError)) {
		err = &pipeline.FileError{Path: name, Err: err}
	}
	return name, f, err
}

func inspectStdin(opt raw.Options) (*raw.Facts, error) {
	p, err := openStdin(0)
	if err != nil {
		return nil, err
	}
	defer p.close()
	return raw.InspectReader(p, p.size, opt), nil
}

// inspectFailure is the report of a file that cannot be opened.
type inspectFailure struct {
	File  string `json:"file"`
	Error string `json:"error"`
}

func failedInspection(name string, err error) inspectFailure {
	return inspectFailure{name, strings.TrimPrefix(message(err, ""), "enhance: ")}
}

func writeFacts(w io.Writer, path string, f *raw.Facts) error {
	item(w, "file", "%s", printable.Text(path))
	if f.Refused != "" {
		item(w, "refused", "%s", printable.Text(f.Refused))
	}
	if p := f.Photo; p != nil {
		writePhotoFacts(w, p)
	}
	for _, i := range f.Images {
		item(w, "image", "%s, %s: %dx%d, %d-bit, %s", i.Kind, i.Content, i.Width, i.Height, i.Bits, i.Compression)
		if len(i.Opcodes) > 0 && f.Refused != "" {
			item(w, "", "asks for %s", strings.Join(i.Opcodes, ", "))
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

func writePhotoFacts(w io.Writer, p *raw.PhotoFacts) {
	camera := strings.TrimSpace(printable.Text(p.Make) + " " + printable.Text(strings.TrimPrefix(p.Model, p.Make+" ")))
	if camera == "" {
		camera = "unknown"
	}
	item(w, "camera", "%s", camera)
	if text := taken(p); text != "" {
		item(w, "taken", "%s", text)
	}
	item(w, "format", "%s", p.Format)
	filters := filterArray(p.CFA, p.Sensor)
	if p.Linear {
		filters = "no filter array"
	}
	item(w, "size", "active area %dx%d, crop %dx%d at %d, %d; %s%s", p.Width, p.Height, p.Crop[2]-p.Crop[0], p.Crop[3]-p.Crop[1], p.Crop[0], p.Crop[1],
		filters, orientation(p.Orientation))
	if p.PixelAspect != 0 {
		item(w, "pixels", "%.4g times as wide as high; the picture gets square ones", p.PixelAspect)
	}
	by := ""
	if p.BlackByRow {
		by += ", by row"
	}
	if p.BlackByColumn {
		by += ", by column"
	}
	item(w, "levels", "black %s%s, white %s", levels(p.Black), by, levels(p.White[:]))
	switch {
	case p.AsShotNeutral != nil:
		n := p.AsShotNeutral
		item(w, "neutral", "%.4g, %.4g, %.4g as shot", n[0], n[1], n[2])
	case p.AsShotWhiteXY != nil:
		item(w, "neutral", "as shot at x %.4g, y %.4g", p.AsShotWhiteXY[0], p.AsShotWhiteXY[1])
	default:
		item(w, "neutral", "none: the file has no white balance")
	}
	item(w, "colour", "%s", matrices(p))
	if f := p.Profile; f != nil {
		item(w, "profile", "%s", profileParts(f))
	}
	if n := p.NoiseProfile; n != nil {
		item(w, "noise", "S %.3g, O %.3g in green", n[raw.Green][0], n[raw.Green][1])
	}
	for _, text := range p.Warnings {
		item(w, "note", "%s", printable.Text(text))
	}
}

// taken is when and how the photo was taken; "" if the file says nothing of it.
func taken(p *raw.PhotoFacts) string {
	var parts []string
	add := func(known bool, format string, v any) {
		if known {
			parts = append(parts, fmt.Sprintf(format, v))
		}
	}
	add(p.DateTime != "", "%s", printable.Text(p.DateTime))
	if e := p.Exposure; e != nil {
		add(e.Seconds > 0 && e.Seconds < 0.3, "1/%.0f s", 1/e.Seconds)
		add(e.Seconds >= 0.3, "%.3g s", e.Seconds)
		add(e.FNumber > 0, "f/%.3g", e.FNumber)
		add(e.ISO > 0, "ISO %.0f", e.ISO)
		add(e.FocalLength > 0, "%.4g mm", e.FocalLength)
		add(e.Lens != "", "%s", printable.Text(e.Lens))
	}
	return strings.Join(parts, ", ")
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
