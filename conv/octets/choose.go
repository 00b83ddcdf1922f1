package octets

import (
	"enhance/conv"
	"enhance/internal/planar"
)

// Suits reports whether the algorithm is expected to beat those of planes.
func Suits(s conv.Shape) bool {
	return s.Octets && s.K >= 1 && s.InC() >= 1 && s.OutC >= 1 && (stays(s) || streams(s))
}

// stays reports whether so many weights fit into local memory that the sources are not read for too few outputs at a time.
func stays(s conv.Shape) bool {
	v := choose(s)
	return s.K <= 5 && v.nt >= min(ceilDiv(s.OutC, 8), 4) && v.localBytes(s.K, stagesOf(s, v)) <= localMem
}

// streams reports whether weights that pass through local memory are worth their way: where a tile has enough to do.
func streams(s conv.Shape) bool {
	return s.K >= 3 && s.K/2 <= planar.Rim && s.InC() >= 16 && s.OutC >= 16
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
