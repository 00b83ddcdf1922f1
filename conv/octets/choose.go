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

// choose gives the variant for a shape: as many outputs as fit with the patches of three or four teams, or two for the
// largest. Teams hide each other's stores. docs/octets.md has figures.
func choose(s conv.Shape) variant {
	tiles, octets := ceilDiv(s.OutC, 8), len(octetOrder(s.SrcC))
	v := variant{units: warpgroups, wn: 1, p: 1, wc: 4, r: 4, wr: 1, os: 2, per: 1}
	if octets <= 3 {
		v.os = octets
	}
	for n := ceilDiv(tiles, 8); ; n++ { // work-groups along the outputs
		v.nt = ceilDiv(tiles, n)
		for _, try := range [][2]int{{4, 4}, {4, 3}, {4, 2}, {3, 4}, {3, 3}, {2, 4}, {2, 3}, {2, 2}} {
			v.teams, v.slots = try[0], try[1]
			if v.teams == 4 && v.nt > 4 { // whose sums do not fit into 128 registers
				continue
			}
			if v.localBytes(s.K, stagesOf(s, v)) <= most(v) {
				return v
			}
		}
		if v.nt == 1 {
			return v
		}
	}
}
