package model

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
)

// Hash names the network's graph and parameters, 16 hexadecimal digits.
func (m *Model) Hash() string {
	h := sha256.New()
	fmt.Fprintf(h, "%s %d\n", m.Arch, m.Graph.Out)
	for i := range m.Graph.Nodes {
		fmt.Fprintf(h, "%+v\n", m.Graph.Nodes[i])
	}
	names := slices.Sorted(maps.Keys(m.Params))
	sums := make([][sha256.Size]byte, len(names))
	var wg sync.WaitGroup
	for i, name := range names { // a large network has 190 MB of them
		wg.Go(func() { sums[i] = paramHash(name, m.Params[name]) })
	}
	wg.Wait()
	for _, sum := range sums {
		h.Write(sum[:])
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

func paramHash(name string, p *Tensor) [sha256.Size]byte {
	h := sha256.New()
	fmt.Fprintf(h, "%s %v\n", name, p.Shape)
	buf := make([]byte, 0, 1<<12)
	for part := range slices.Chunk(p.Data, cap(buf)/4) {
		buf = buf[:0]
		for _, v := range part {
			buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(v))
		}
		h.Write(buf)
	}
	return [sha256.Size]byte(h.Sum(nil))
}
