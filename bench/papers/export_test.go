package papers

import "enhance/conv"

// LadderAlgos are the algorithms of the ladder's steps for 3×3, 5×5 and 7×7, none where
// runs choose.
func LadderAlgos(cpu bool) map[string][]string {
	names := map[string][]string{}
	for _, g := range rungs(cpu) {
		names[g.name] = nil
		for k := 3; k <= 7 && g.algo != nil; k += 2 {
			names[g.name] = append(names[g.name], g.algo(conv.Shape{K: k}).Name())
		}
	}
	return names
}
