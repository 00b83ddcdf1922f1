package defects

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"enhance/raw/mosaic"
)

func needScreens(t *testing.T) {
	if !hasScreens {
		t.Skip("SKIPPED, nothing was tested: this processor has no screens")
	}
}

// TestRootUnits: roots of all samples are as near as the screens count on, at levels of many photos.
func TestRootUnits(t *testing.T) {
	needScreens(t)
	rng := rand.New(rand.NewPCG(4, 5))
	src := make([]uint16, 1<<16)
	for i := range src {
		src[i] = uint16(i)
	}
	dst := make([]uint16, len(src))
	for range 30 {
		m := newShot(64, 64).meta
		b := rng.Float64() * 3000
		m.SetBlack(float32(b))
		m.SetWhite(float32(b + math.Exp(4+7*rng.Float64())))
		f := newFinder(&m)
		for y, row := range f.screen.rows {
			most := rootUnits(&dst[0], &src[0], len(src), &row)
			if most != math.MaxUint16 {
				t.Fatalf("the largest sample is %d", most)
			}
			for v := range int(f.screen.most) + 1 {
				want := float64(row.scale[0]) * f.roots[y][v&1][v]
				if off := math.Abs(float64(dst[v]) - want); off > rootError || dst[v] > rootMost+1 {
					t.Fatalf("black %g, row %d: sample %d has root %d, want %.3f", b, y, v, dst[v], want)
				}
			}
		}
	}
	for _, most := range []uint16{0, 7, 1000, 40000} {
		for i := range src[:64] {
			src[i] = uint16(rng.IntN(int(most) + 1))
		}
		src[rng.IntN(64)] = most
		if got := rootUnits(&dst[0], &src[0], 64, &screenRow{}); got != most {
			t.Errorf("the largest sample is %d, want %d", got, most)
		}
	}
}

// noisy are rows of samples and of their roots, as the screens see them.
func noisy(rng *rand.Rand, f *finder, rows, width, level, span int) (samples, roots []uint16) {
	samples, roots = make([]uint16, rows*width), make([]uint16, rows*width)
	for i := range samples {
		samples[i] = uint16(max(0, level+rng.IntN(2*span+1)-span))
		if rng.IntN(20) == 0 {
			samples[i] = uint16(rng.IntN(int(f.screen.most)))
		}
	}
	for y := range rows {
		rootUnits(&roots[y*width], &samples[y*width], width, &f.screen.rows[y&1])
	}
	return samples, roots
}

// TestMarkAndSift: bits and excesses are those of the definition.
func TestMarkAndSift(t *testing.T) {
	needScreens(t)
	const width, rows, y = 176, 9, 4
	hadWide := hasWide
	defer func() { hasWide = hadWide }()
	rng := rand.New(rand.NewPCG(8, 5))
	differ := func(a, b uint16) int { return int(max(a, b) - min(a, b)) }
	for _, level := range []int{400, 520, 700, 3000, 15000} {
		for _, span := range []int{1, 20, 300, 301} {
			m := newShot(width, rows).meta
			f := newFinder(&m)
			row := &f.screen.rows[y&1]
			samples, roots := noisy(rng, f, rows, width, level, span)
			e := &extremes{}
			e.begin(width, y, y+1)
			above, below, candidates := e.row(y)
			const first, last = extremeUnit, width - extremeUnit
			if hadWide {
				hasWide = span%2 == 1
			}
			mark(&marking{&above[0], 8 * uintptr(e.plane), &e.excess[0], &samples[(y-2)*width], 4 * width, &roots[(y-2)*width], 4 * width, row}, first, last)
			marked := slices.Clone(candidates)
			siftUnits(&sifting{&candidates[0], len(candidates), &samples[y*width], &e.excess[0], &roots[0], 2 * width, row})
			sifted := 0
			for x := first; x < last; x++ {
				at := y*width + x
				v, lo, hi := int(samples[at]), math.MaxUint16, 0
				var n [8]uint16
				for k, o := range ring {
					s := int(samples[at+o.dy*width+o.dx])
					lo, hi = min(lo, s), max(hi, s)
					n[k] = roots[at+o.dy*width+o.dx]
				}
				mean := func(a, b uint16) uint16 { return uint16((int(a) + int(b) + 1) / 2) }
				excess := int(roots[at]) - int(mean(mean(mean(n[6], n[7]), mean(n[4], n[5])), mean(mean(n[0], n[1]), mean(n[2], n[3]))))
				switch {
				case v > hi:
					excess = max(excess, 0)
				case v < lo && v > int(row.zero[x&1]):
					excess = min(excess, 0)
				default:
					excess = 0
				}
				step, dark := max(v-hi, lo-v), int(row.dark[x&1])
				is := step >= f.step && (step > (hi-lo)/8 || v < lo && max(v-dark, 0) <= max(lo-dark, 0)/4+1)
				bit := func(b []uint64) bool { return b[x/64]>>(x%64)&1 != 0 }
				if bit(above) != (v > hi) || bit(below) != (v < lo) || int(e.excess[x]) != excess || bit(marked) != is {
					t.Fatalf("level %d, column %d: %v %v %v, excess %d; want %v %v %v, %d", level, x, bit(above), bit(below), bit(marked), e.excess[x], v > hi, v < lo, is, excess)
				}
				activity, with := 0, 0
				for i := -4; i <= 4; i += 2 {
					for j := -4; j < 4; j += 2 {
						if i != 0 || j != 0 && j != -2 {
							activity += differ(roots[at+i*width+j], roots[at+i*width+j+2]) + differ(roots[at+j*width+i], roots[at+(j+2)*width+i])
						}
					}
				}
				for _, o := range []pair{{0, 1}, {0, -1}, {1, 0}, {-1, 0}} {
					with += 3 * int(roots[at+o.dy*width+o.dx])
					for _, p := range []pair{{2 * o.dy, 2 * o.dx}, {2 * o.dx, 2 * o.dy}, {-2 * o.dx, -2 * o.dy}} {
						with -= int(roots[at+(o.dy+p.dy)*width+o.dx+p.dx])
					}
				}
				size, sign := excess, 1.0
				if excess < 0 {
					size, sign, with = -excess, -1, -with
				}
				down := excess != 0 && (activity > activityTimes*size+activitySlack ||
					companySum*with >= companyTimes*size+companySlack && row.plain(x, samples[at], samples[at-2], samples[at+2], sign))
				if bit(candidates) != (is && !down) {
					t.Fatalf("level %d, span %d, column %d: candidate is %v, want %v (excess %d, activity %d, company %d)", level, span, x, bit(candidates), is && !down, excess, activity, with)
				}
				if is && down {
					sifted++
				}
			}
			for x := range 64 * len(candidates) {
				if (x < first || x >= last) && (above[x/64]|below[x/64]|candidates[x/64])>>(x%64)&1 != 0 {
					t.Fatalf("column %d is marked", x)
				}
			}
			if span == 300 && sifted == 0 {
				t.Errorf("level %d: nothing was turned down", level)
			}
		}
	}
}

// TestPeers: peers around are counted and told as the definition says.
func TestPeers(t *testing.T) {
	needScreens(t)
	rng := rand.New(rand.NewPCG(9, 5))
	const width = 40
	for range 200 {
		all := make([]int16, peerRows*width+8)
		for i := range all {
			if rng.IntN(4) > 0 {
				all[i] = int16(rng.IntN(65535) - 32767)
			}
		}
		x, size, sign := rng.IntN(width-peerRows), 1+rng.IntN(32767), int16(1-2*rng.IntN(2))
		count := 0
		var want, large [peerRows]uint32
		for dy := range peerRows {
			for dx := range peerRows {
				v := int(all[dy*width+x+dx]) * int(sign)
				nearby := max(dy-peerRows/2, peerRows/2-dy) <= 2 && max(dx-peerRows/2, peerRows/2-dx) <= 2
				if v > size && !nearby {
					count++
				}
				if v > size || v == 0 {
					want[dy] |= 1 << dx
				}
			}
		}
		if got := countPeers(&all[x], 2*width, int16(size)*sign); got != count {
			t.Fatalf("%d peers of sign %d, want %d", got, sign, count)
		}
		if largePeers(&all[x], 2*width, sign, int16(size), &large); large != want {
			t.Fatalf("peers of sign %d: %x, want %x", sign, large, want)
		}
	}
}

// TestSolveUnits: solutions are those of solve, and what has none is told.
func TestSolveUnits(t *testing.T) {
	needScreens(t)
	rng := rand.New(rand.NewPCG(10, 5))
	for range 100 {
		var a [features]fitRow
		for i := range a { // a sum of squares
			for range 20 {
				var row fitRow
				for j := range features + 1 {
					row[j] = rng.NormFloat64()
				}
				for j := range features {
					for k := j; k <= features; k++ {
						a[j][k] += row[j] * row[k]
					}
				}
			}
			a[i][features+1] = math.Inf(1)
		}
		b := a
		want, ok := solve(&b)
		var got [features]float64
		b = a
		if !solveUnits(&b, &got) || !ok {
			t.Fatal("there is a solution")
		}
		for j := range got {
			if math.Abs(got[j]-want[j]) > 1e-9 {
				t.Fatalf("unknown %d is %g, want %g", j, got[j], want[j])
			}
		}
		for _, v := range []float64{0, -1, math.NaN()} {
			b = a
			k := rng.IntN(features)
			b[k][k] = v
			if solveUnits(&b, &got) {
				t.Fatalf("%g on the diagonal is not told", v)
			}
		}
	}
}

// TestScreens: what screens turn down the tests of find.go turn down too, at all levels, gains and
// depths, among edges, stars, defects and samples that are not light.
func TestScreens(t *testing.T) {
	needScreens(t)
	_, stars := sky(400, 300, 3)
	flat := func(v float64) func(int, int, mosaic.Colour) float64 {
		return func(int, int, mosaic.Colour) float64 { return v }
	}
	all, turned, fitted := 0, 0, 0
	for i, c := range []struct {
		light      func(y, x int, c mosaic.Colour) float64
		gain, read float64
		shift      int // fewer bits
	}{
		{hills, 2e-4, 2e-7, 0}, {hills, 2e-5, 2e-8, 0}, {hills, 0, 0, 0}, {hills, 4e-3, 1e-5, 2}, {stars, 4e-4, 1e-6, 0}, {stars, 2e-5, 1e-8, 0},
		{flat(0), 1e-4, 1e-4, 0}, {flat(0), 4e-3, 1e-3, 0}, {flat(0.002), 1e-3, 1e-5, 0}, {flat(0.1), 2e-5, 0, 4}, {flat(0.97), 1e-3, 0, 0}, {flat(0.5), 4e-2, 0, 0}, {flat(0.3), 2e-7, 0, 0},
	} {
		clean := expose(300, 120, c.light, c.gain, c.read, uint64(i))
		s, _ := clean.injure(uint64(i))
		rng := rand.New(rand.NewPCG(uint64(i), 6))
		for k := range 40 { // clusters, and far above white
			at, most := rng.IntN(len(s.samples)-1), 20000
			if k < 3 {
				at, most = at%(20*300), 1<<16
			}
			s.samples[at], s.samples[at+1] = uint16(rng.IntN(most)), uint16(rng.IntN(most))
		}
		if c.shift > 0 {
			for k := range s.samples {
				s.samples[k] >>= c.shift
			}
			s.meta.SetBlack(float32(int(black) >> c.shift))
			s.meta.SetWhite(float32(int(white) >> c.shift))
		}
		a, b, c := compareScreens(t, s)
		all, turned, fitted = all+a, turned+b, fitted+c
		want, found := s.repaired(t, nil)
		hasScreens = false
		plain, same := s.repaired(t, nil)
		hasScreens = true
		if !slices.Equal(plain.samples, want.samples) || !slices.Equal(found.List(0, 120), same.List(0, 120)) {
			t.Errorf("case %d: other samples are repaired without screens", i)
		}
	}

	t.Logf("%d of %d samples that stand out are turned down, and %d more by single precision", turned, all, fitted)
	if turned < all/3 || fitted < all/50 { // none is near the borders and in rows with samples far above white
		t.Error("too few")
	}
}

// compareScreens fails if screens turn down what the tests of find.go do not. It returns how many
// samples stand out, how many of them are turned down, and how many by a prediction in single precision.
func compareScreens(t *testing.T, s *shot) (all, turned, fitted int) {
	t.Helper()
	m, f := &s.meta, newFinder(&s.meta)
	w := &window{rows: s.samples, width: m.Width, height: m.Height}
	screened, plain := searching{fitting: newFitting()}, searching{}
	screened.extremes.begin(m.Width, 0, m.Height)
	screened.rooted.begin(f, w, 0)
	hasScreens = false
	plain.extremes.begin(m.Width, 0, m.Height)
	hasScreens = true
	for y := range m.Height {
		screened.extremes.screenedRow(&screened.rooted, y, true)
		plain.extremes.unscreened(w, y)
	}
	for y := range m.Height {
		kept := map[int]bool{}
		b := bandOf(w, y)
		a, be, _ := screened.extremes.row(y)
		pa, pb, _ := plain.extremes.row(y)
		if !slices.Equal(a, pa) || !slices.Equal(be, pb) {
			t.Fatalf("row %d: other samples are extreme", y)
		}
		f.candidates(&b, &screened.extremes, func(x int) { kept[x] = true })
		f.candidates(&b, &plain.extremes, func(x int) {
			all++
			if !kept[x] {
				turned++
			}
			q, p := &plain.spot, &plain.patch
			q.move(&b, x)
			sight, ok := f.look(q)
			if !ok {
				return
			}
			least, times := improbable, peers
			if sight.alone {
				least, times = improbableAlone, peersAlone
			}
			if p.clear(q); f.crowded(q, &plain.extremes, &sight, times, p) {
				return
			}
			if !kept[x] {
				t.Fatalf("row %d, column %d is turned down: %+v", y, x, sight)
			}
			bad := p.bad
			if p.clear(q); f.crowded(q, &screened.extremes, &sight, times, p) || p.bad != bad {
				t.Fatalf("row %d, column %d: others are bad with screens", y, x)
			}
			if compareFit(t, f, screened.fitting, p, q, sight.sign, least) {
				fitted++
			}
		})
	}
	return all, turned, fitted
}

// compareFit fails if a prediction in single precision is less exact than the screen counts on. It
// reports whether it turns the spot down.
func compareFit(t *testing.T, f *finder, a *fitting, p *patch, q *spot, sign, least float64) bool {
	t.Helper()
	down := f.unlikely(a, p, q, sign, least)
	if !q.inside || !p.fit.all {
		return false
	}
	count := 0
	for _, w := range a.near {
		if w != 0 {
			count++
		}
	}
	off, slack, rms, sure := a.solve(f.priorAt(q.y, q.x), count)
	f.fill(p, q)
	want, ok := p.predict(f.priorAt(q.y, q.x))
	if down && (!ok || (p.middle()-want.value)*sign >= least*want.rms) {
		t.Fatalf("row %d, column %d is turned down, and should not: off by %g, usually %g", q.y, q.x, p.middle()-want.value, want.rms)
	}
	if !sure {
		return down
	}
	if p.fit.count != count {
		t.Fatalf("row %d, column %d: %d samples in use, want %d", q.y, q.x, count, p.fit.count)
	}
	const share = 0.01 // of what is counted on, fitMargin
	if d := math.Abs(off/2 - (p.middle() - want.value)); d > slack/2+share*want.rms {
		t.Fatalf("row %d, column %d: off by %g, want %g (usually %g)", q.y, q.x, off/2, p.middle()-want.value, want.rms)
	}
	if math.Abs(rms/2-want.rms) > share*want.rms {
		t.Fatalf("row %d, column %d: usual error %g, want %g", q.y, q.x, rms/2, want.rms)
	}
	return down
}
