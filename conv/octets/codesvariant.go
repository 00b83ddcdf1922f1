package octets

import (
	"fmt"
	"math"

	"enhance/internal/planar"
)

const (
	columns    = 64 // of a product
	maxTeams   = 4
	rowsKept   = 4         // of codes
	maxSums    = 64        // registers of a lane for sums
	groupWide  = 16        // channels of a group
	octetWide  = 8         // channels of an octet
	paramBytes = 3 * 4 * 8 // first sums, factors and biases of an octet of outputs
	stepBytes  = 32 * 8    // weights of an octet of outputs for a step
)

// variant is how a work-group divides its work (see codes.cl).
type codesVariant struct {
	outs  int // octets of outputs
	teams int // warpgroups with strips of their own
}

func (v codesVariant) String() string { return fmt.Sprintf("o%d_t%d", v.outs, v.teams) }

// groupsOf is in how many groups channels lie.
func groupsOf(channels int) int { return ceilDiv(channels, groupWide) }

// outerIn is how many channels the outer convolution reads.
func (m *codesImpl) outerIn() int {
	if in := m.shape.Inner; in != nil {
		return in.OutC
	}
	return m.shape.InC()
}

// innerOuts is how many octets of outputs the inner convolution makes, 0 if there is none.
func (m *codesImpl) innerOuts() int {
	if in := m.shape.Inner; in != nil {
		return roundOctets(ceilDiv(in.OutC, octetWide))
	}
	return 0
}

// steps is the number of products for a row of a kernel of side k.
func steps(k, groups int) int { return groups/2*k + groups%2*((k+1)/2) }

// weightBytes is the size of weights for n octets of outputs.
func weightBytes(k, groups, n int) int { return k * steps(k, groups) * n * stepBytes }

// innerBytes is the size of the inner convolution's parameters.
func (m *codesImpl) innerBytes() int {
	if in := m.shape.Inner; in != nil {
		return weightBytes(in.K, groupsOf(m.shape.InC()), m.innerOuts()) + m.innerOuts()*paramBytes
	}
	return 0
}

// groupBytes is the size of a work-group's parameters.
func (m *codesImpl) groupBytes() int {
	return m.innerBytes() + weightBytes(m.shape.K, groupsOf(m.outerIn()), m.variant.outs) + m.variant.outs*paramBytes
}

// teamBytes is the size of a team's rows of codes.
func (m *codesImpl) teamBytes() int {
	outer := groupsOf(m.outerIn()) * (columns + m.shape.K/2*2) * groupWide
	if in := m.shape.Inner; in != nil {
		return rowsKept * (outer + groupsOf(m.shape.InC())*(columns+in.K/2*2)*groupWide)
	}
	return rowsKept * outer
}

// localBytes is the size of parameters and codes, as codes.cl defines it.
func (m *codesImpl) localBytes() int {
	return ceilDiv(m.groupBytes(), 128)*128 + m.variant.teams*m.teamBytes()
}

// groups is the number of work-groups that share a strip.
func (m *codesImpl) groups() int { return ceilDiv(m.shape.OutC, octetWide*m.variant.outs) }

// choose gives the variant for a shape: as many outputs as registers and local memory hold beside two teams'
// rows, and as many teams as fit then; none if that is too much. A block's outputs are not divided, as the
// inner convolution would be done for each part.
func (m *codesImpl) choose(mostTeams int) codesVariant {
	octets := planar.Octets(m.shape.OutC)
	for parts := 1; ; parts++ {
		v := codesVariant{outs: roundOctets(ceilDiv(octets, parts))}
		sums := 4 * (v.outs + m.innerOuts())
		if v.outs > 0 && sums <= maxSums && (m.shape.Inner == nil || m.innerOuts() > 0) {
			v.teams = min(m.registerTeams(v), mostTeams)
			for ; v.teams > 0; v.teams-- {
				if try := (codesImpl{shape: m.shape, variant: v}); try.localBytes() <= localMem &&
					(v.teams > 1 || mostTeams == 1 || v.outs == 1 || m.shape.Inner != nil) {
					return v
				}
			}
		}
		if m.shape.Inner != nil || parts >= octets {
			return codesVariant{}
		}
	}
}

// registerTeams is how many teams have the registers: for sums, for octets of a row on their way and for what is stored.
func (m *codesImpl) registerTeams(v codesVariant) int {
	k := m.shape.K
	if in := m.shape.Inner; in != nil {
		k = in.K
	}
	chunks := ceilDiv(planar.Octets(m.shape.InC())*(columns+k/2*2), team)
	switch n := 4*(v.outs+m.innerOuts()) + 4*chunks + 2*v.outs; {
	case n <= 80: // of 128
		return 4
	case n <= 110: // of 168
		return 3
	}
	return 2
}

// across is the number of strips beside each other.
func (m *codesImpl) across() int {
	w := columns
	if m.shape.Inner != nil {
		w -= m.shape.K / 2 * 2
	}
	return ceilDiv(m.shape.W, w)
}

// stripRows is the height of strips that lets teams end a launch of rows soonest: each strip costs some
// rows more than it makes.
func (m *codesImpl) stripRows(rows, teams int) int {
	more := m.shape.K/2*2 + 2
	if in := m.shape.Inner; in != nil {
		more += in.K/2*2 + 1
	}
	best, least := rows, math.MaxInt
	for n := 1; n <= rows; n++ {
		height := ceilDiv(rows, n)
		if cost := ceilDiv(m.across()*ceilDiv(rows, height), teams) * (height + more); cost < least {
			best, least = height, cost
		}
		if height <= more {
			break
		}
	}
	return best
}
