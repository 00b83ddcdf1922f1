package main

import (
	"fmt"
	"io"

	"enhance/internal/planar"
	"enhance/winograd"
)

type named struct {
	name string
	t    *winograd.Transform
}

func namedSets() []named {
	return []named{
		{"F2x2", winograd.F2x2()}, {"F3x2", winograd.F3x2()}, {"F4x2", winograd.F4x2()},
		{"F2x3", winograd.F2x3()}, {"F3x3", winograd.F3x3()}, {"F4x3", winograd.F4x3()},
		{"F6x3", winograd.F6x3()}, {"F2x5", winograd.F2x5()}, {"F4x5", winograd.F4x5()},
		{"F6x5 = F(2,2)×F(3,3)", winograd.F6x5()},
		{"F6x7 = F(2,3)×F(3,3)", winograd.F6x7()}, {"F6x9 = F(2,3)×F(3,3)", winograd.F6x9()},
		{"F9x7 = F(3,3)×F(3,3)", winograd.F9x7()}, {"F9x9 = F(3,3)×F(3,3)", winograd.F9x9()},
	}
}

func printTables(w io.Writer, channels int) error {
	fmt.Fprintf(w, "| set | products | fewer multiplications | noise gain | fp16 | fp32 | input, 1-D | output, 1-D | V range | U range |\n")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|")
	for _, s := range namedSets() {
		if err := setRow(w, s, channels); err != nil {
			return err
		}
	}
	for _, r := range []int{3, 5, 7, 9} {
		e16, err := winograd.DirectError(r, planar.FP16, channels)
		if err != nil {
			return err
		}
		e32, err := winograd.DirectError(r, planar.FP32, channels)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "| direct %d×%d | | 1 | | %.2e | %.2e | | | | |\n", r, r, e16, e32)
	}
	return kernelTable(w)
}

func setRow(w io.Writer, s named, channels int) error {
	e16, err := winograd.ErrorOf(s.t, planar.FP16, channels)
	if err != nil {
		return err
	}
	e32, err := winograd.ErrorOf(s.t, planar.FP32, channels)
	if err != nil {
		return err
	}
	in, err := s.t.InputProgram()
	if err != nil {
		return err
	}
	out, err := s.t.OutputProgram()
	if err != nil {
		return err
	}
	v0, v1, u0, u1 := s.t.Ranges()
	_, err = fmt.Fprintf(w, "| %s | %d² | %.2f | %.2f | %.2e | %.2e | %v | %v | %.2g–%.2g | %.2g–%.2g |\n",
		s.name, s.t.N, s.t.Reduction(), s.t.NoiseGain(), e16, e32, in.Counts(), out.Counts(), v0, v1, u0, u1)
	return err
}

// kernelTable lists the ways to compute each odd kernel: sub-kernels of the given size
// by the given transform.
func kernelTable(w io.Writer) error {
	fmt.Fprintln(w, "\n| kernel | sub-kernels | transform | multiplications per output | fewer than direct |")
	fmt.Fprintln(w, "|---|---|---|---|---|")
	for _, row := range []struct {
		k, r int
		named
	}{
		{3, 3, named{"F(2,3)", winograd.F2x3()}}, {3, 3, named{"F(4,3)", winograd.F4x3()}},
		{5, 5, named{"F(2,5)", winograd.F2x5()}}, {5, 5, named{"F(4,5)", winograd.F4x5()}},
		{5, 5, named{"F6x5 nested", winograd.F6x5()}}, {5, 3, named{"F(4,3)", winograd.F4x3()}},
		{7, 7, named{"F6x7 nested", winograd.F6x7()}}, {7, 7, named{"F9x7 nested", winograd.F9x7()}}, {7, 3, named{"F(4,3)", winograd.F4x3()}},
		{7, 5, named{"F(4,5)", winograd.F4x5()}},
		{9, 9, named{"F6x9 nested", winograd.F6x9()}}, {9, 9, named{"F9x9 nested", winograd.F9x9()}}, {9, 3, named{"F(3,3)", winograd.F3x3()}},
		{9, 3, named{"F(4,3)", winograd.F4x3()}}, {9, 5, named{"F(4,5)", winograd.F4x5()}},
	} {
		// Each of ⌈k/r⌉² blocks of taps is a convolution of its own; their sums are the kernel's.
		blocks := (row.k + row.r - 1) / row.r * ((row.k + row.r - 1) / row.r)
		n := float64(blocks*row.t.N*row.t.N) / float64(row.t.M*row.t.M)
		fmt.Fprintf(w, "| %d×%d | %d of %d×%d | %s | %.2f | %.2f |\n",
			row.k, row.k, blocks, row.r, row.r, row.name, n, float64(row.k*row.k)/n)
	}
	return nil
}
