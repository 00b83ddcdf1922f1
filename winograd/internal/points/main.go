// Command points searches for the points of F(m,r) with the smallest error and
// prints them as a Markdown table:
//
//	go run ./winograd/internal/points -m 4 -r 3
//
// With -table it prints the tables of docs/winograd-points.md for the named sets
// and the kernels built from them.
//
// Candidates are 0 and infinity or not, pairs ±a, and one unpaired number where
// the count is odd, with a from a list of simple numbers of Q(√2). All are ranked
// by Transform.NoiseGain and the best are measured with ErrorOf.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"

	"enhance/internal/planar"
	"enhance/winograd"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet("points", flag.ContinueOnError)
	fs.SetOutput(stderr)
	m := fs.Int("m", 4, "outputs of a tile")
	r := fs.Int("r", 3, "taps")
	top := fs.Int("top", 6, "how many candidates to measure and print")
	channels := fs.Int("c", 64, "input channels of the measurement")
	tables := fs.Bool("table", false, "print the tables of the named sets instead")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	if *tables {
		if err := printTables(stdout, *channels); err != nil {
			fmt.Fprintln(stderr, "points:", err)
			return 1
		}
		return 0
	}
	if err := search(stdout, *m, *r, *top, *channels); err != nil {
		fmt.Fprintln(stderr, "points:", err)
		return 1
	}
	return 0
}

// magnitudes are the candidates for a.
func magnitudes() []winograd.Surd {
	return []winograd.Surd{
		winograd.Frac(1, 4), winograd.Frac(1, 3), winograd.Root2(1, 4), winograd.Frac(1, 2),
		winograd.Frac(2, 3), winograd.Root2(1, 2), winograd.Frac(3, 4), winograd.Int(1),
		winograd.Frac(4, 3), winograd.Root2(1, 1), winograd.Frac(3, 2), winograd.Int(2),
		winograd.Root2(2, 1), winograd.Int(3), winograd.Int(4),
	}
}

// candidates are all point sets of n points.
func candidates(n int) [][]winograd.Point {
	mags := magnitudes()
	var sets [][]winograd.Point
	for ends := range 4 { // bit 0: zero, bit 1: infinity
		var base []winograd.Point
		if ends&1 != 0 {
			base = append(base, winograd.At(winograd.Int(0)))
		}
		var tail []winograd.Point
		if ends&2 != 0 {
			tail = append(tail, winograd.Infinity())
		}
		rest := n - len(base) - len(tail)
		if rest < 0 || n > 6 && rest%2 != 0 {
			continue // with many points an unpaired one never won, and the sets are many
		}
		subsets(len(mags), rest/2, func(pick []int) {
			set := append([]winograd.Point(nil), base...)
			for _, i := range pick {
				set = append(set, winograd.At(mags[i]), winograd.At(mags[i].Neg()))
			}
			if rest%2 == 0 {
				sets = append(sets, append(set, tail...))
				return
			}
			for i := range mags {
				if !contains(pick, i) {
					one := append(append([]winograd.Point(nil), set...), winograd.At(mags[i]))
					sets = append(sets, append(one, tail...))
				}
			}
		})
	}
	return sets
}

// subsets calls f with every rising choice of k numbers below n.
func subsets(n, k int, f func([]int)) {
	pick := make([]int, 0, k)
	var walk func(from int)
	walk = func(from int) {
		if len(pick) == k {
			f(pick)
			return
		}
		for i := from; i < n; i++ {
			pick = append(pick, i)
			walk(i + 1)
			pick = pick[:len(pick)-1]
		}
	}
	walk(0)
}

func contains(x []int, v int) bool {
	for _, y := range x {
		if y == v {
			return true
		}
	}
	return false
}

type scored struct {
	t          *winograd.Transform
	fp16, fp32 float64
}

func search(w io.Writer, m, r, top, channels int) error {
	if m < 1 || r < 1 || m > winograd.MaxProducts || r > winograd.MaxProducts {
		return fmt.Errorf("m and r must be 1 to %d", winograd.MaxProducts)
	}
	if m+r-1 > winograd.MaxProducts || top < 1 {
		return fmt.Errorf("at most %d points (m+r-1), at least 1 row to print", winograd.MaxProducts)
	}
	var all []scored
	for _, set := range candidates(m + r - 1) {
		t, err := winograd.New(m, r, set)
		if err != nil {
			return err
		}
		all = append(all, scored{t: t})
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].t.NoiseGain() < all[j].t.NoiseGain() })
	best := all[:min(top, len(all))]
	for i := range best {
		var err error
		if best[i].fp16, err = winograd.ErrorOf(best[i].t, planar.FP16, channels); err != nil {
			return err
		}
		if best[i].fp32, err = winograd.ErrorOf(best[i].t, planar.FP32, channels); err != nil {
			return err
		}
	}
	sort.SliceStable(best, func(i, j int) bool { return best[i].fp16 < best[j].fp16 })
	fmt.Fprintf(w, "F(%d,%d), %d sets, %d channels\n\n", m, r, len(all), channels)
	fmt.Fprintln(w, "| points | noise gain | fp16 | fp32 | input | output |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|")
	for _, s := range best {
		if err := printRow(w, s); err != nil {
			return err
		}
	}
	return nil
}

func printRow(w io.Writer, s scored) error {
	in, err := s.t.InputProgram()
	if err != nil {
		return err
	}
	out, err := s.t.OutputProgram()
	if err != nil {
		return err
	}
	names := make([]string, len(s.t.Points))
	for i, p := range s.t.Points {
		names[i] = p.String()
	}
	_, err = fmt.Fprintf(w, "| %s | %.2f | %.2e | %.2e | %v | %v |\n",
		strings.Join(names, ", "), s.t.NoiseGain(), s.fp16, s.fp32, in.Counts(), out.Counts())
	return err
}
