package memplan

import (
	"testing"
	"time"

	"enhance/fuse"
	"enhance/model"
)

func TestTmp(t *testing.T) {
	for _, sz := range [][2]int{{592, 944}, {1440, 1984}, {4350, 5800}} {
		p, err := fuse.Fuse(model.PyNETS([4]int{24, 40, 64, 96}), (sz[0]+7)/8*8, (sz[1]+7)/8*8)
		if err != nil {
			t.Fatal(err)
		}
		row := func(i int) int64 {
			q := p.Tensors[i]
			return int64(q.C) * int64((q.W+15)/16*16+32) * 4
		}
		req := &Request{Program: p, RowBytes: row, RimBytes: func(int) int64 { return 0 }, Granule: func(int) int { return 1 }, Scratch: func(int, int) int64 { return 0 },
			Fixed: []Fixed{{"weights", 4600000}}}
		t0 := time.Now()
		w, err := req.wholePlanes()
		t.Log(sz, "whole", w.Peak>>20, err, time.Since(t0))
		for _, r := range req.tickHeights() {
			t0 := time.Now()
			q, err := req.streaming(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			rr := *req
			rr.Budget = 1
			s, _ := rr.spilling(r, q)
			t.Log(r, q.Peak>>20, q.Cost.Launches, "spill", s.Peak>>20, s.HostBytes>>20, len(s.Rings), time.Since(t0))
		}
	}
}
