package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"enhance/internal/atomicfile"
	"enhance/internal/htmlreport"
	"enhance/internal/printable"
	"enhance/pipeline/compare"
	"enhance/pipeline/facts"
)

var compareCommand = &command{name: "compare", minor: true, summary: "compare two pictures: PSNR, SSIM, colour difference, a page",
	usage: []string{"compare A B [-o PAGE.html|DIFFERENCE.png] [--min-psnr DB]"}, run: runCompare, files: true,
	about: `Compares two PNG, TIFF or JPEG pictures of one size: CPSNR and SSIM of the stored samples,
and CIEDE2000 colour differences, for which samples are taken for sRGB. -o PAGE.html shows
both with a slider, and at full size the places where they differ most; -o DIFFERENCE.png
draws the colour difference of every pixel, black for 0 and white for 10 and more.`}

// compareResult is what --json prints.
type compareResult struct {
	*facts.Comparison
	Output string `json:"output,omitempty"`
	outcome
}

func runCompare(c *call) error {
	j, err := c.compareJob()
	if err != nil {
		return err
	}
	var file *atomicfile.File
	if c.output != "" {
		if file, err = atomicfile.Create(c.output, atomicfile.Options{Overwrite: c.overwrite, Keep: c.args}); err != nil {
			return err
		}
		defer file.Abort() // nothing after Commit
	}
	page := isPage(c.output)
	if file != nil && !page {
		j.Difference = file
	}
	ctx, stop := interruptible(c.env, func() {
		if file != nil {
			file.Abort()
		}
	})
	defer stop()
	r := compareResult{Output: c.output}
	if r.Comparison, err = compare.Pictures(ctx, j); r.Comparison != nil {
		if made := c.finishCompare(ctx, file, page, r.Comparison); made != nil {
			err = made
		}
		c.tellCompared(r.Comparison)
	}
	r.outcome = c.tell(err)
	return c.finish(r, r.Status)
}

// compareJob is what the command line asks for.
func (c *call) compareJob() (j compare.Job, err error) {
	switch {
	case len(c.args) != 2:
		return j, c.wants(fmt.Sprintf("two pictures, not %d", len(c.args)))
	case !(c.minPSNR >= 0):
		return j, usagef("--min-psnr: want decibels above 0")
	case c.output != "" && !isPage(c.output) && !strings.EqualFold(filepath.Ext(c.output), ".png"):
		return j, usagef("compare: -o %s: the name should end in .html for a page or .png for a picture of differences", c.output)
	}
	var all fileUses
	all.reads(c.args[0], "the first picture")
	all.reads(c.args[1], "the second picture")
	all.makes(c.output, "the result (-o)")
	return compare.Job{Before: c.args[0], After: c.args[1], MinPSNR: c.minPSNR,
		Side: detailSide, Crops: detailCrops, CropSide: cropSide}, all.check()
}

// isPage reports whether a name is that of a page.
func isPage(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return ext == ".html" || ext == ".htm"
}

// finishCompare completes the file, if there is one.
func (c *call) finishCompare(ctx context.Context, file *atomicfile.File, page bool, r *facts.Comparison) error {
	if file == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	what := "the picture of differences"
	if page {
		what = "the page"
		p, err := comparePage(r)
		if err != nil {
			return err
		}
		if err := p.Write(file); err != nil {
			return err
		}
	}
	if err := file.Commit(); err != nil {
		return err
	}
	c.wrote(c.stderr, c.output, what)
	return nil
}

func (c *call) tellCompared(r *facts.Comparison) {
	if c.json || c.quiet {
		return
	}
	writeCompared(c.text(), r)
}

func writeCompared(w io.Writer, r *facts.Comparison) {
	item(w, "size", "%dx%d, %s samples", r.Width, r.Height, r.Domain)
	if math.IsInf(float64(r.CPSNR), 1) {
		item(w, "CPSNR", "infinite: equal samples")
	} else {
		item(w, "CPSNR", "%s dB (R %s, G %s, B %s)", decibels(r.CPSNR), decibels(r.PSNR[0]), decibels(r.PSNR[1]), decibels(r.PSNR[2]))
	}
	item(w, "SSIM", "%.4f, luma %.4f", r.SSIM, r.SSIMLuma)
	item(w, "dE2000", "mean %.2f, 95 %% up to %.2f, most %.2f", r.DeltaE.Mean, r.DeltaE.P95, r.DeltaE.Max)
}

// comparePage makes the page of a comparison.
func comparePage(r *facts.Comparison) (*htmlreport.Page, error) {
	p, err := htmlreport.Encode(r.Seen, true)
	if err != nil {
		return nil, err
	}
	if p.Difference, err = htmlreport.AsPNG(r.Difference); err != nil {
		return nil, err
	}
	before, after := printable.Text(filepath.Base(r.Before)), printable.Text(filepath.Base(r.After))
	if before == after {
		before, after = printable.Text(r.Before), printable.Text(r.After)
	}
	photo := &htmlreport.Photo{Name: before + " and " + after, Before: before, After: after, Pictures: p,
		Figures: []htmlreport.Fact{
			{Name: "CPSNR", Value: psnrValue(r.CPSNR)}, {Name: "SSIM", Value: fmt.Sprintf("%.4f", r.SSIM)},
			{Name: "ΔE mean", Value: fmt.Sprintf("%.2f", r.DeltaE.Mean)}, {Name: "ΔE of 95 %, up to", Value: fmt.Sprintf("%.2f", r.DeltaE.P95)},
			{Name: "ΔE most", Value: fmt.Sprintf("%.2f", r.DeltaE.Max)},
		},
		Facts: []htmlreport.Group{
			{Title: "Pictures", Facts: []htmlreport.Fact{{Name: "First", Value: printable.Text(r.Before)},
				{Name: "Second", Value: printable.Text(r.After)}, {Name: "Size", Value: fmt.Sprintf("%d × %d", r.Width, r.Height)}}},
			{Title: "Figures", Facts: []htmlreport.Fact{{Name: "Samples compared", Value: r.Domain},
				{Name: "PSNR of red, green, blue", Value: fmt.Sprintf("%s, %s, %s dB", decibels(r.PSNR[0]), decibels(r.PSNR[1]), decibels(r.PSNR[2]))},
				{Name: "SSIM of luma", Value: fmt.Sprintf("%.4f", r.SSIMLuma)}}},
		}}
	return &htmlreport.Page{Title: photo.Name, Program: programName(), Photos: []*htmlreport.Photo{photo}}, nil
}

// psnrValue is a PSNR as a page shows it.
func psnrValue(d facts.Decibels) string {
	if math.IsInf(float64(d), 1) {
		return "equal"
	}
	return decibels(d) + " dB"
}
