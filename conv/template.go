package conv

import "text/template"

// templateFuncs are what kernel templates calculate with.
var templateFuncs = template.FuncMap{
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
	"half": func(a int) int { return a / 2 },
}
