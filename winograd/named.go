package winograd

import (
	"slices"
	"strings"

	"enhance/conv"
	"enhance/internal/planar"
)

// Named finds a convolution by its Name: a variant, and what the other fields add.
func Named(name string) (Convolution, bool) {
	rest, ok := strings.CutPrefix(name, "winograd-")
	if !ok {
		return Convolution{}, false
	}
	variant, rest, _ := strings.Cut(rest, "-")
	c := Convolution{Variant: Variant(variant)}
	if !slices.Contains(Variants(), c.Variant) {
		return Convolution{}, false
	}
	for rest != "" {
		var word string
		word, rest, _ = strings.Cut(rest, "-")
		form := slices.Index(formNames[:], word)
		switch {
		case c.Form != ByDevice && c.Groups.parse(c.Form, word):
		case form > 0 && c.Form == ByDevice && !c.WideV:
			c.Form = Form(form)
		case word == "v32" && !c.WideV:
			c.WideV = true
		default:
			return Convolution{}, false
		}
	}
	return c, c.Name() == name && c.Groups.sane(c.Form)
}

// Candidates are the convolutions worth measuring for a shape on a kind of device,
// those with the smallest expected cost first. All of them are expected to be
// exact enough for Choose.
func Candidates(caps conv.Caps, s conv.Shape, p planar.Precision) []conv.Algo {
	type priced struct {
		c    Convolution
		cost float64
	}
	var all []priced
	for _, c := range candidates(caps, s.K, p) {
		if e, err := c.ExpectedError(caps, s, p); err != nil || e > maxError {
			continue
		}
		if _, err := c.New(caps, s, p); err == nil {
			all = append(all, priced{c, c.cost(caps, s)})
		}
	}
	slices.SortStableFunc(all, func(a, b priced) int {
		switch {
		case a.cost < b.cost:
			return -1
		case a.cost > b.cost:
			return 1
		}
		return 0
	})
	algos := make([]conv.Algo, len(all))
	for i, a := range all {
		algos[i] = a.c
	}
	return algos
}
