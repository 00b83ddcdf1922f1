package findings

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"enhance/internal/tensorfile"
)

// Exactness is how close the results of a network on the patch come to each other in the precisions that the
// device offers: the PSNR of each against the first, for a peak of 1. Network names it and its algorithms.
// What was not found before is found by run, which returns the result in precisions[i].
func (d *Device) Exactness(ctx context.Context, network string, precisions []string, run func(i int) ([]float32, error)) ([]float64, error) {
	key := "exactness " + network
	if psnrs := d.notedExactness(key, precisions); psnrs != nil {
		return psnrs, nil
	}
	// One process checks, the others wait for what it finds. Without a cache
	// everyone checks for himself.
	store := d.Store()
	release, err := store.Lock(ctx, func() { d.tell("waiting for another process that uses the device for the first time") })
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err == nil:
		defer release()
		if psnrs := d.notedExactness(key, precisions); psnrs != nil {
			return psnrs, nil
		}
	default:
		d.debug(err.Error())
	}
	d.tell("comparing precisions on a patch, once for this device and model")
	psnrs, err := d.comparePrecisions(len(precisions), run)
	if err != nil {
		return nil, err
	}
	if release != nil {
		table, _ := store.Load()
		table.Notes[key] = exactnessNote(precisions, psnrs)
		if err := store.Save(table); err != nil {
			d.debug(err.Error())
		}
	}
	return psnrs, nil
}

// notedExactness is what was found before, nil if nothing was, or not of all these precisions.
func (d *Device) notedExactness(key string, precisions []string) []float64 {
	text := d.table().Notes[key]
	if text == "" {
		return nil
	}
	psnrs, err := parseExactness(text, precisions)
	if err != nil {
		d.debug(fmt.Sprintf("tuning results: note %q: %v", key, err))
	}
	return psnrs
}

// comparePrecisions runs the patch in n precisions.
func (d *Device) comparePrecisions(n int, run func(i int) ([]float32, error)) (psnrs []float64, err error) {
	var want []float32
	for i := range n {
		got, err := run(i)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			want = got
		}
		_, psnr, err := tensorfile.Compare(got, want)
		if err != nil {
			return nil, err
		}
		psnrs = append(psnrs, psnr)
		d.progress(i+1, n)
	}
	return psnrs, nil
}

// exactnessNote is the text of a note: precision and PSNR each.
func exactnessNote(precisions []string, psnrs []float64) string {
	var all []string
	for i, v := range psnrs {
		all = append(all, fmt.Sprintf("%s %.4g", precisions[i], v))
	}
	return strings.Join(all, "; ")
}

// parseExactness reads what exactnessNote wrote of these precisions. A note of more or fewer is none.
func parseExactness(text string, precisions []string) (psnrs []float64, err error) {
	parts := strings.Split(text, "; ")
	if len(parts) != len(precisions) {
		return nil, nil
	}
	for i, part := range parts {
		f := strings.Fields(part)
		if len(f) != 2 || f[0] != precisions[i] {
			return nil, fmt.Errorf("%q is not a precision and decibels", part)
		}
		v, err := strconv.ParseFloat(f[1], 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not a precision and decibels", part)
		}
		psnrs = append(psnrs, v)
	}
	return psnrs, nil
}
