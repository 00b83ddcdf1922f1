package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"enhance/bench/eval"
	"enhance/internal/imgio"
	"enhance/pipeline"
)

// failures are the parts of all photos, free of noise, that a network restores
// worst, one a photo, the worst first.
func failures(set pipeline.Settings, kodak string, n int) ([]figure, error) {
	dir, err := os.MkdirTemp("", "quality-crops-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	photos, err := eval.Files([]string{kodak})
	if err != nil {
		return nil, err
	}
	rep, err := eval.Run(context.Background(), eval.Options{Photos: photos, Border: 8, Models: []pipeline.Settings{set}, Save: dir})
	if err != nil {
		return nil, err
	}
	var all []part
	for _, photo := range photos {
		truth, err := imgio.ReadRGB16(photo)
		if err != nil {
			return nil, err
		}
		got, err := imgio.ReadRGB16(eval.SavedAs(dir, photo, rep.Methods[0].Method))
		if err != nil {
			return nil, err
		}
		p := worstPart(got, truth)
		p.photo = filepath.Base(photo)
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b part) int { return cmp.Compare(b.err, a.err) })
	var out []figure
	for i, p := range all[:min(n, len(all))] {
		out = append(out, figure{name: fmt.Sprintf("failure-%d", i+1), photo: p.photo, x: p.x, y: p.y})
	}
	return out, nil
}

// part is a place in a photo and the squared error there.
type part struct {
	photo string
	x, y  int
	err   float64
}

// worstPart finds the part with the largest error, on a grid of 8 pixels.
func worstPart(got, truth *imgio.RGB16) part {
	const step = 8
	gw, gh := truth.Width/step, truth.Height/step
	cells := make([]float64, gw*gh)
	for y := range gh * step {
		a, b := got.Row(y), truth.Row(y)
		for i := range 3 * gw * step {
			d := float64(a[i]>>8) - float64(b[i]>>8)
			cells[y/step*gw+i/3/step] += d * d
		}
	}
	var worst part
	for y := 1; y+cropSide/step < gh; y++ { // without the border
		for x := 1; x+cropSide/step < gw; x++ {
			sum := 0.0
			for dy := range cropSide / step {
				for dx := range cropSide / step {
					sum += cells[(y+dy)*gw+x+dx]
				}
			}
			if sum > worst.err {
				worst = part{x: x * step, y: y * step, err: sum}
			}
		}
	}
	return worst
}
