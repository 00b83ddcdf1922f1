package octets

import (
	"math"

	"enhance/internal/planar"
)

// octetOrder lists the first channel of each octet of the sources and how many there are.
func octetOrder(sources []int) (order [][2]int) {
	first := 0
	for _, c := range sources {
		for i := 0; i < c; i += 8 {
			order = append(order, [2]int{first + i, min(8, c-i)})
		}
		first += c
	}
	return order
}

func (m *impl) stages() int { return ceilDiv(len(m.order), m.variant.os) }

// groups is the number of work-groups that share a tile of pixels.
func (m *impl) groups() int { return ceilDiv(m.shape.OutC, m.variant.outputs()) }

// groupWords is how many words of weights a work-group has.
func (m *impl) groupWords() int { return m.stages() * m.variant.stageBytes(m.shape.K) / 4 }

// biasAt and zerosAt are where, in words, the biases and a line of zeros begin.
func (m *impl) biasAt() int  { return m.groups() * m.groupWords() }
func (m *impl) zerosAt() int { return m.biasAt() + m.groups()*m.variant.outputs() }

func (m *impl) PackedLen() int { return m.zerosAt() + (tileW+m.shape.K-1)*4 }

// Pack lays the weights out as [work-group][stage][step][kernel row], each of two octets of channels for all outputs of
// a work-group, in the order of place. Bias follows as float32, then a line of zeros, which stands
// for lines that are not there.
func (m *impl) Pack(weights, bias []float32) []float32 {
	out := make([]float32, m.PackedLen())
	v, k, inC := m.variant, m.shape.K, m.shape.InC()
	for o := range m.shape.OutC {
		group, n := o/v.outputs(), o%v.outputs()
		for stage := range m.stages() {
			for step := range v.steps(k) {
				for half := range 2 {
					octet, kx := v.half(k, step, half)
					if octet += stage * v.os; octet >= len(m.order) || kx >= k {
						continue
					}
					for i := range m.order[octet][1] {
						for ky := range k {
							at := group*m.groupWords() + ((stage*v.steps(k)+step)*k+ky)*v.outputs()*8
							w := planar.Half(weights[(o*inC+m.order[octet][0]+i)*k*k+ky*k+kx])
							put(out, 2*at+v.place(n, half, i), w)
						}
					}
				}
			}
		}
		out[m.biasAt()+o] = bias[o]
	}
	return out
}

// put stores w as half i of words.
func put(words []float32, i int, w uint16) {
	words[i/2] = math.Float32frombits(math.Float32bits(words[i/2]) | uint32(w)<<(16*(i%2)))
}

// half is the octet of a stage and the column of the kernel that a half of a step is of. Of a last step that has one half
// the column is not there.
func (v variant) half(k, step, half int) (octet, kx int) {
	if pairs := v.os / 2 * k; step >= pairs {
		return v.os - 1, 2*(step-pairs) + half
	}
	return step/k*2 + half, step % k
}

// place is where, in halves of words, the weight of an output and channel i of a half of a step is among those of a kernel
// row: core matrices of eight outputs of eight channels.
func (v variant) place(n, half, i int) int { return half*v.outputs()*8 + n*8 + i }

func ceilDiv(a, b int) int { return (a + b - 1) / b }
