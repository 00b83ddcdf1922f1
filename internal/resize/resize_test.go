package resize

import (
	"math"
	"math/rand/v2"
	"testing"

	"enhance/internal/colour"
)

// kept keeps what is written.
type kept struct {
	rows [][]uint16
	over bool
}

func (k *kept) WriteRow(rgb []uint16) error {
	k.rows = append(k.rows, append([]uint16(nil), rgb...))
	return nil
}
func (k *kept) Close() error { k.over = true; return nil }

func resized(t *testing.T, w, h, ow, oh int, code func(y, x, c int) uint16) [][]uint16 {
	t.Helper()
	var out kept
	r, err := New(&out, colour.SRGBTransfer, w, h, ow, oh)
	if err != nil {
		t.Fatal(err)
	}
	for y := range h {
		row := make([]uint16, 3*w)
		for i := range row {
			row[i] = code(y, i/3, i%3)
		}
		if err := r.WriteRow(row); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Close(); err != nil || !out.over || len(out.rows) != oh {
		t.Fatalf("%dx%d to %dx%d: %v, closed %v, %d rows", w, h, ow, oh, err, out.over, len(out.rows))
	}
	return out.rows
}

// TestDefinition holds odd sizes against the definition: a sum over all of the source.
func TestDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, s := range [][4]int{{1, 1, 1, 1}, {7, 5, 3, 2}, {33, 21, 10, 7}, {40, 3, 1, 1}, {16, 16, 16, 16}, {50, 31, 49, 31}, {7, 5, 11, 5}, {13, 9, 13, 35}, {1, 1, 3, 2}, {20, 9, 13, 14}} {
		w, h, ow, oh := s[0], s[1], s[2], s[3]
		code := make([]uint16, 3*w*h)
		for i := range code {
			code[i] = uint16(rng.IntN(65536))
		}
		got := resized(t, w, h, ow, oh, func(y, x, c int) uint16 { return code[3*(y*w+x)+c] })
		for y := range oh {
			for x := range ow {
				for c := range 3 {
					sum, norm := 0.0, 0.0
					for sy := range h {
						for sx := range w {
							fy, fx := float64(h)/float64(oh), float64(w)/float64(ow)
							k := lanczos((float64(sy)-(float64(y)+0.5)*fy+0.5)/max(fy, 1)) * lanczos((float64(sx)-(float64(x)+0.5)*fx+0.5)/max(fx, 1))
							norm += k
							sum += k * colour.SRGBDecode(float64(code[3*(sy*w+sx)+c])/65535)
						}
					}
					want := 65535 * colour.SRGBEncode(min(max(sum/norm, 0), 1))
					if math.Abs(float64(got[y][3*x+c])-want) > 3 {
						t.Fatalf("%v: row %d, column %d, component %d is %d, want %.1f", s, y, x, c, got[y][3*x+c], want)
					}
				}
			}
		}
	}
}

// TestLinearLight: black and white lines become the grey of half the light, not of half the
// code.
func TestLinearLight(t *testing.T) {
	got := resized(t, 120, 80, 12, 8, func(_, x, _ int) uint16 { return uint16(x % 2 * 65535) })
	want := 65535 * colour.SRGBEncode(0.5)
	if v := float64(got[4][3*6]); math.Abs(v-want) > 600 {
		t.Errorf("lines become %.0f, want %.0f", v, want)
	}
}

// TestMemory: few rows of the result are held, whatever the height.
func TestMemory(t *testing.T) {
	for _, oh := range []int{7, 40, 999, 1000, 1500, 4000} {
		var out kept
		r, err := New(&out, colour.SRGBTransfer, 3, 1000, 2, oh)
		if err != nil {
			t.Fatal(err)
		}
		for range 1000 {
			if err := r.WriteRow(make([]uint16, 9)); err != nil {
				t.Fatal(err)
			}
			if held := len(r.sums) + len(r.free); held > int(rowsHeld(1000, oh)) {
				t.Fatalf("to %d rows: %d rows are held", oh, held)
			}
		}
		if err := r.WriteRow(make([]uint16, 9)); err == nil {
			t.Error("a row too many was taken")
		}
	}
}

func TestFit(t *testing.T) {
	for _, tt := range [][6]int{{6000, 4000, 1500, 1500, 1500, 1000}, {4000, 6000, 1500, 1500, 1000, 1500}, {100, 50, 200, 200, 100, 50},
		{6000, 4000, 6000, 100, 150, 100}, {10000, 2, 100, 100, 100, 1}, {1 << 30, 1, 5, 5, 5, 1}} {
		if w, h := Fit(tt[0], tt[1], tt[2], tt[3]); w != tt[4] || h != tt[5] {
			t.Errorf("%v: %dx%d", tt, w, h)
		}
	}
	for _, s := range [][4]int{{3, 3, 0, 3}, {3, 3, 3, 0}} {
		if _, err := New(&kept{}, colour.SRGBTransfer, s[0], s[1], s[2], s[3]); err == nil {
			t.Errorf("%v: no error", s)
		}
	}
}

// TestFloatsDefinition: floats are filtered in linear light, beyond white and below black too.
func TestFloatsDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const w, h, ow, oh = 21, 17, 8, 6
	for _, transfer := range []*colour.Transfer{colour.SRGBTransfer, colour.LinearTransfer} {
		var out kept
		r, err := NewFloats(&out, transfer, w, h, ow, oh)
		if err != nil {
			t.Fatal(err)
		}
		var light [h][w][3]float64
		for y := range h {
			row := make([]uint16, 6*w)
			for i := range 3 * w {
				code := float32(3*rng.Float64() - 1)
				light[y][i/3][i%3] = transfer.Decode(float64(code))
				bits := math.Float32bits(code)
				row[2*i], row[2*i+1] = uint16(bits>>16), uint16(bits)
			}
			if err := r.WriteRow(row); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Close(); err != nil || len(out.rows) != oh {
			t.Fatal(len(out.rows), err)
		}
		across, down := allTaps(w, ow), allTaps(h, oh)
		for y := range oh {
			for x := range ow {
				for c := range 3 {
					sum := 0.0
					for i, wy := range down[y].weights {
						for k, wx := range across[x].weights {
							sum += float64(wy) * float64(wx) * light[down[y].first+i][across[x].first+k][c]
						}
					}
					at := 2 * (3*x + c)
					got := float64(math.Float32frombits(uint32(out.rows[y][at])<<16 | uint32(out.rows[y][at+1])))
					if want := transfer.Encode(sum); math.Abs(got-want) > 1e-5 {
						t.Fatalf("%s: %d, %d, %d is %g, want %g", transfer.Name, y, x, c, got, want)
					}
				}
			}
		}
		if err := r.WriteRow(make([]uint16, 3*w)); err == nil {
			t.Error("a row of half the numbers was taken")
		}
	}
}
