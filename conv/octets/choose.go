package octets

import "enhance/conv"

// Suits reports whether the algorithm is expected to beat those of planes: where so many weights fit into local
// memory that the sources are not read for too few outputs at a time.
func Suits(s conv.Shape) bool {
	if !s.Octets || s.K > 5 || s.K < 1 || s.InC() < 1 || s.OutC < 1 {
		return false
	}
	v := choose(s)
	return v.nt >= min(ceilDiv(s.OutC, 8), 4) && v.localBytes(s.K, stagesOf(s, v)) <= most(v)
}

// most is how much local memory a work-group may take. Each takes 1 KiB more than it has.
func most(v variant) int { return localMem/v.per - 1<<10 }

func stagesOf(s conv.Shape, v variant) int { return ceilDiv(len(octetOrder(s.SrcC)), v.os) }

// choose gives the variant for a shape: as many outputs as fit with the patches.
func choose(s conv.Shape) variant {
	tiles, octets := ceilDiv(s.OutC, 8), len(octetOrder(s.SrcC))
	v := variant{units: warpgroups, nt: tiles, wn: 1, p: 1, wc: 4, r: 4, wr: 1, teams: 1, os: 2, slots: 3, per: 2}
	if octets <= 4 {
		v.os = octets
	}
	for n := ceilDiv(tiles, 8); ; n++ { // work-groups along the outputs
		v.nt = ceilDiv(tiles, n)
		for _, v.per = range []int{2, 1} {
			if v.localBytes(s.K, stagesOf(s, v)) <= most(v) || v.nt == 1 && v.per == 1 {
				return v
			}
		}
	}
}
