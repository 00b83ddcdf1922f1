package opcode

import (
	"encoding/binary"
	"math"
)

// parser takes numbers off the front of b. Past the end it gives zeros and sets
// short.
type parser struct {
	b     []byte
	where string
	short bool
}

func (p *parser) bytes(n int64) []byte {
	if n > int64(len(p.b)) {
		p.short, p.b = true, nil
		return nil
	}
	b := p.b[:n]
	p.b = p.b[n:]
	return b
}

func (p *parser) uint16() uint16 {
	if b := p.bytes(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (p *parser) uint32() uint32 {
	if b := p.bytes(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (p *parser) float32() float32 { return math.Float32frombits(p.uint32()) }

func (p *parser) float64() float64 {
	if b := p.bytes(8); b != nil {
		return math.Float64frombits(binary.BigEndian.Uint64(b))
	}
	return 0
}

// has reports whether n values of size bytes are left; if not, the parser is
// short.
func (p *parser) has(n, size uint64) bool {
	if n > uint64(len(p.b))/size {
		p.short = true
	}
	return !p.short
}

// float32s takes n numbers; ok is false if one of them is not finite.
func (p *parser) float32s(n uint64) (v []float32, ok bool) {
	if !p.has(n, 4) {
		return nil, true
	}
	v, ok = make([]float32, n), true
	for i := range v {
		v[i] = p.float32()
		ok = ok && finite(float64(v[i]))
	}
	return v, ok
}

// float64s is float32s for doubles.
func (p *parser) float64s(n uint64) (v []float64, ok bool) {
	if !p.has(n, 8) {
		return nil, true
	}
	v, ok = make([]float64, n), true
	for i := range v {
		v[i] = p.float64()
		ok = ok && finite(v[i])
	}
	return v, ok
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

const notFinite = "it has a parameter that is not a number"
