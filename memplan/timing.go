package memplan

// link is what is on its way in one tick, in bytes.
type link struct{ up, down int64 }

// transfers sums, by tick, what the flow moves if tensors are kept on the device
// as kept says. Element 0 is what must be there before the first tick; what is
// uploaded in tick i is at i too.
func (fl *flow) transfers(fr *frame, kept func(ring int32) bool, into []link) []link {
	into = append(into[:0], make([]link, fl.ticks+1)...)
	tick := 0
	for _, m := range fl.moves {
		switch m.Kind {
		case Tick:
			tick++
		case Upload, Download:
			if kept(m.Index) {
				continue
			}
			n := int64(m.Y1-m.Y0) * fr.req.facts.rowBytes[fr.rings[m.Index].tensor]
			if m.Kind == Upload {
				into[tick].up += n
			} else {
				into[tick].down += n
			}
		}
	}
	return into
}

// seconds is what a section takes from its first upload to its last download,
// beginning with weights bytes of parameters. On a device with memory of its own
// a tick's work waits for the uploads made for it and for the downloads of the
// tick before the last, and uploads for the next tick wait for the last one's work.
func (m *CostModel) seconds(fl *flow, moved []link, weights int64, unified bool) float64 {
	if m.LinkRate <= 0 { // not known
		sum := 0.0
		for _, w := range fl.work {
			sum += w
		}
		return sum
	}
	if unified {
		sum, n := 0.0, weights
		for i, w := range fl.work {
			sum += w
			n += moved[i+1].up + moved[i+1].down
		}
		return sum + float64(n+moved[0].up)/m.LinkRate
	}
	hop := func(n int64) float64 { // only queues that something goes through are waited for
		if n > 0 {
			return m.TickSeconds / 2
		}
		return 0
	}
	up, _ := m.both(moved[0].up+weights, 0)
	last, down, downBefore := 0.0, 0.0, 0.0 // ends of work and of downloads so far
	all := int64(0)
	for i, w := range fl.work {
		now, before := moved[i+1], int64(0)
		if i > 1 {
			before = moved[i-1].down
		}
		start := max(last, up+hop(moved[i].up), downBefore+hop(before))
		u, d := m.both(now.up, now.down)
		up = max(up, last+hop(now.up)) + u
		last = start + w
		downBefore, down = down, max(down, last+hop(now.down))+d
		all += now.down
	}
	return max(last, up, down+hop(all))
}

// both is how long transfers in both directions take beside each other.
func (m *CostModel) both(up, down int64) (u, d float64) {
	u, d = float64(up)/m.LinkRate, float64(down)/m.LinkRate
	if m.DuplexRate > 0 && u > 0 && d > 0 {
		if all, longer := float64(up+down)/m.DuplexRate, max(u, d); all > longer {
			u, d = u*all/longer, d*all/longer
		}
	}
	return u, d
}
