// Package kerneltext makes kernel sources of kernel texts: macro definitions
// around a text, and what templates calculate with.
package kerneltext

import (
	"fmt"
	"strings"
	"text/template"
)

// Define puts macro definitions, given as name, value, name, value, before a text
// and removes them after it, so that texts with the same macros stand together.
func Define(text string, defs ...any) string {
	var b, undef strings.Builder
	for i := 0; i+1 < len(defs); i += 2 {
		name, _, _ := strings.Cut(fmt.Sprint(defs[i]), "(")
		fmt.Fprintf(&b, "#define %v %v\n", defs[i], defs[i+1])
		fmt.Fprintf(&undef, "#undef %s\n", name)
	}
	return b.String() + text + undef.String()
}

// Funcs are seq n (0 to n-1), mul of any numbers, add a b, sub a b and half a.
var Funcs = template.FuncMap{
	"seq": func(n int) []int {
		s := make([]int, n)
		for i := range s {
			s[i] = i
		}
		return s
	},
	"mul": func(a ...int) int {
		p := 1
		for _, v := range a {
			p *= v
		}
		return p
	},
	"add":  func(a, b int) int { return a + b },
	"sub":  func(a, b int) int { return a - b },
	"half": func(a int) int { return a / 2 },
}
