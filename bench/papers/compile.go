package papers

import (
	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/planar"
)

// Compile compiles the programs of all cases by all algorithms into the cache, side by
// side, and returns how many they are: compilers take most of a suite's time where they
// get one program after another. What does not compile says so when it is measured.
func Compile(cl *clrt.Context, caps conv.Caps, cases []Case, algos []conv.Algo, p planar.Precision) int {
	var sources []string
	seen := map[string]bool{}
	for _, c := range cases {
		for _, a := range algos {
			impl, err := a.New(caps, c.Shape(), p)
			if err != nil {
				continue
			}
			if src := conv.ProgramSource(impl, p, conv.Shape{}); !seen[src] {
				seen[src], sources = true, append(sources, src)
			}
		}
	}
	progs, _ := cl.BuildAll(sources, conv.BuildOptions) // none where one failed
	for _, p := range progs {
		p.Close()
	}
	return len(sources)
}
