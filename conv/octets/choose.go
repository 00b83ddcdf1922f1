package octets

import "enhance/conv"

// Suits reports whether the algorithm is expected to beat those of planes: where so many weights fit into local
// memory that the sources are not read for too few outputs at a time.
func Suits(s conv.Shape) bool {
	if !s.Octets || s.K > 5 || s.K < 1 || s.InC() < 1 || s.OutC < 1 {
		return false
	}
	v := choose(s)
	return v.nt >= min(ceilDiv(s.OutC, 8), 4) && v.localBytes(s.K, stagesOf(s, v)) <= localMem
}

func stagesOf(s conv.Shape, v variant) int { return ceilDiv(len(octetOrder(s.SrcC)), v.os) }

// choose gives the variant for a shape: as many outputs as fit with the patches of three or four teams, which hide each
// other's stores, but rather two teams than fewer than 48 outputs. docs/octets.md has figures.
func choose(s conv.Shape) variant {
	tiles, octets := ceilDiv(s.OutC, 8), len(octetOrder(s.SrcC))
	v := variant{r: 4, os: min(octets, 2)}
	if octets == 3 {
		v.os = 3
	}
	for n := ceilDiv(tiles, 8); ; n++ { // work-groups along the outputs
		v.nt = ceilDiv(tiles, n)
		for _, try := range [][2]int{{4, 4}, {4, 3}, {4, 2}, {3, 4}, {3, 3}, {2, 4}, {2, 3}, {2, 2}} {
			v.teams, v.slots = try[0], try[1]
			if v.teams == 4 && v.nt > 4 || v.teams == 2 && v.nt > 5 || v.slots == 2 && v.teams == 2 && v.nt > 1 {
				continue
			}
			if v.localBytes(s.K, stagesOf(s, v)) <= localMem {
				return v
			}
		}
		if v.nt == 1 {
			return v
		}
	}
}
