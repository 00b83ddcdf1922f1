package papers

import (
	"strings"

	"enhance/conv"
	"enhance/planar"
)

// Idle says of each algorithm that does no case why it does not do the first.
func Idle(caps conv.Caps, cases []Case, algos []conv.Algo, p planar.Precision) (whys []string) {
	for _, a := range algos {
		why := ""
		for _, c := range cases {
			_, err := a.New(caps, c.Shape(), p)
			if err == nil {
				why = ""
				break
			}
			if why == "" {
				why = strings.TrimPrefix(err.Error(), "conv: ")
			}
		}
		if why != "" {
			whys = append(whys, why)
		}
	}
	return whys
}
