package memplan

// traffic is what is copied during one strip: bytes, and in how many copies.
type traffic struct {
	up, down   int64 // uploaded and downloaded
	ups, downs int
}

// transfers sums, by strip, what the flow moves if tensors are kept on the device
// as kept says. Element 0 is what must be there before the first strip; what is
// uploaded in strip i is at i too.
func (fl *flow) transfers(fr *frame, kept func(ring int32) bool, into []traffic) []traffic {
	into = append(into[:0], make([]traffic, fl.strips+1)...)
	strip := 0
	for _, m := range fl.moves {
		switch m.Kind {
		case NextStrip:
			strip++
		case Upload, Download:
			if kept(m.Index) {
				continue
			}
			n := int64(m.Y1-m.Y0) * fr.req.facts.rowBytes[fr.rings[m.Index].tensor]
			if m.Kind == Upload {
				into[strip].up += n
				into[strip].ups++
			} else {
				into[strip].down += n
				into[strip].downs++
			}
		}
	}
	return into
}

// seconds is what a section takes by itself from its first upload to its last download,
// beginning with weights bytes of parameters.
func (m *CostModel) seconds(fl *flow, moved []traffic, weights int64, unified bool) float64 {
	if m.LinkRate <= 0 { // not known
		return fl.worked()
	}
	if unified {
		n := weights
		for _, l := range moved {
			n += l.up + l.down
		}
		return fl.worked() + float64(n)/m.LinkRate
	}
	var c clock
	c.section(m, fl, moved, weights, false)
	return c.now()
}

// worked sums the work of all strips.
func (fl *flow) worked() (sum float64) {
	for _, w := range fl.work {
		sum += w
	}
	return sum
}

// clock is when the queues of a device with memory of its own come to the end of what
// they were given. A strip's work waits for the uploads made for it and for the downloads
// of the strip before the last; uploads for the next strip wait for the last one's
// work and for the downloads before it.
type clock struct {
	last         float64 // work
	up           float64
	down, before float64 // downloads, and those of the strips before the last
	// Bytes on their way, as only queues that something goes through are waited for:
	// uploads for the next strip, downloads of the last and of the one before.
	uploading, downloading, downloadingBefore int64
}

// now is when everything has come to an end.
func (c *clock) now() float64 { return max(c.last, c.up, c.down) }

// section adds a section, which begins with weights bytes of parameters. Its first
// uploads wait for the end of everything before or, if it overlaps the section
// before, for no more than any uploads of that section's last strip.
func (c *clock) section(m *CostModel, fl *flow, moved []traffic, weights int64, overlaps bool) {
	first, _ := m.moving(&moved[0])
	if overlaps {
		c.up += first
		c.uploading += moved[0].up
	} else {
		now := c.now()
		if c.downloading > 0 {
			now += m.StripSeconds / 2
		}
		*c = clock{last: now, up: now + first, down: now, before: now, uploading: moved[0].up}
	}
	c.last += float64(weights) / m.LinkRate
	for i, w := range fl.work {
		c.strip(m, w, &moved[i+1])
	}
}

// strip adds a strip's work and what is sent beside it: up for the next strip, and down
// what the work makes.
func (c *clock) strip(m *CostModel, work float64, l *traffic) {
	hop := func(n int64) float64 {
		if n > 0 {
			return m.StripSeconds / 2
		}
		return 0
	}
	start := max(c.last, c.up+hop(c.uploading), c.before+hop(c.downloadingBefore))
	u, d := m.moving(l)
	c.up = max(c.up, c.last+hop(l.up), c.before) + u
	c.last = start + work
	c.before, c.down = c.down, max(c.down, c.last+hop(l.down))+d
	c.uploading, c.downloadingBefore, c.downloading = l.up, c.downloading, l.down
}

// moving is how long the transfers of a strip take in each direction.
func (m *CostModel) moving(l *traffic) (u, d float64) {
	u, d = m.both(l.up, l.down)
	return u + float64(l.ups)*m.TransferSeconds, d + float64(l.downs)*m.TransferSeconds
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
