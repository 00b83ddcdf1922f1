package winograd

import (
	"fmt"

	"enhance/conv"
	"enhance/internal/planar"
)

// Groups are the shapes of the work-groups of the forms for GPUs. The zero value
// leaves them to the rules. Every output is the same sum in the same order whatever
// they are.
type Groups struct {
	// Of the products: Outputs output channels by Tiles tiles of a work-group (Fused:
	// always 32 tiles), Stage input channels in local memory at a time. Each is the
	// outputs of a work-item by 8 tiles (Tiled), or its products of 8 outputs by 8
	// tiles (Fused).
	Outputs, Tiles, Each, Stage int
	// Of the transforms of Tiled: Wide tiles side by side by High work-items.
	Wide, High int
}

// words are the part of a name that says the shapes: "-b64x128t8i8-w32x4" for the
// tiled form, "-b32r2i4" for the fused one.
func (g Groups) words(f Form) string {
	switch {
	case g == Groups{}:
		return ""
	case f == Fused:
		return fmt.Sprintf("-b%dr%di%d", g.Outputs, g.Each, g.Stage)
	}
	return fmt.Sprintf("-b%dx%dt%di%d-w%dx%d", g.Outputs, g.Tiles, g.Each, g.Stage, g.Wide, g.High)
}

// parse reads one word of those that words writes.
func (g *Groups) parse(f Form, word string) bool {
	scan := func(format string, at ...any) bool {
		n, err := fmt.Sscanf(word, format, at...)
		return err == nil && n == len(at)
	}
	switch {
	case f == Fused:
		return scan("b%dr%di%d", &g.Outputs, &g.Each, &g.Stage)
	case f == Tiled && g.Outputs == 0:
		return scan("b%dx%dt%di%d", &g.Outputs, &g.Tiles, &g.Each, &g.Stage)
	}
	return f == Tiled && scan("w%dx%d", &g.Wide, &g.High)
}

// sane says which shapes the kernels of a form take; see their templates.
func (g Groups) sane(f Form) bool {
	if g == (Groups{}) {
		return true
	}
	positive := func(most int, all ...int) bool {
		for _, n := range all {
			if n < 1 || n > most {
				return false
			}
		}
		return true
	}
	switch f {
	case Fused:
		return g.Tiles == 0 && g.Wide == 0 && g.High == 0 && positive(128, g.Outputs, g.Each, g.Stage) && g.Outputs%8 == 0 && g.Each <= 4
	case Tiled:
		return positive(512, g.Outputs, g.Tiles, g.Each, g.Stage, g.Wide, g.High) &&
			(g.Each == 4 || g.Each == 8) && g.Outputs%g.Each == 0 && g.Tiles%8 == 0 && g.Wide%8 == 0
	}
	return false
}

// Neighbours of the work-groups that the form has for a shape: see conv.Shaped.
func (c Convolution) Neighbours(caps conv.Caps, s conv.Shape, p planar.Precision) []conv.Algo {
	if caps.CPU {
		return nil
	}
	impl, err := c.New(caps, s, p)
	if err != nil {
		return nil
	}
	g, form := Groups{}, Tiled
	switch w := impl.(type) {
	case *tiled:
		g = Groups{w.gemm.bk, w.gemm.bt, w.gemm.tk, w.gemm.cc, w.wide, w.high}
	case *fused:
		g, form = Groups{Outputs: w.bk, Each: w.rounds, Stage: w.cc}, Fused
	default:
		return nil
	}
	var tries []conv.Algo
	try := func(at *int, values []int) {
		was := *at
		for _, v := range values {
			if *at = v; g.sane(form) && g.suits(c.Variant, form, caps) {
				c.Form, c.Groups = form, g
				tries = append(tries, c)
			}
		}
		*at = was
	}
	for _, at := range []*int{&g.Outputs, &g.Each, &g.Stage, &g.Tiles, &g.High} {
		if *at > 0 {
			try(at, conv.Steps(*at))
		}
	}
	if form == Tiled {
		try(&g.Outputs, []int{g.Outputs * 3 / 4, g.Outputs * 3 / 2})
		for _, v := range conv.Steps(g.Wide) { // the work-group stays as large
			high := g.High
			g.High = g.High * g.Wide / v
			try(&g.Wide, []int{v})
			g.High = high
		}
	}
	return conv.Affordable(impl, tries, caps, s, p)
}

// suits reports whether work-groups of these shapes are worth measuring. Those of
// Fused share products of 36 or 16 among their work-items: they are no multiple of a
// sub-group, but must not be much less than a few.
func (g Groups) suits(v Variant, f Form, caps conv.Caps) bool {
	if f == Fused {
		t, err := v.compiled()
		return err == nil && t.N*t.N%g.Each == 0 && t.N*t.N/g.Each*g.Outputs/2 >= 64
	}
	gemm := gemmTile{g.Outputs, g.Tiles, g.Each, g.Stage}
	return conv.GroupSuits(caps, gemm.threads()) && conv.GroupSuits(caps, g.Wide*g.High)
}
