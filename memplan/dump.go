package memplan

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
)

// SectionFacts say what a section does and what it holds. Sizes are bytes.
type SectionFacts struct {
	First    string `json:"first"` // names of its steps
	Last     string `json:"last"`
	Steps    int    `json:"steps"`
	Rows     int    `json:"rows"` // of the highest tensor it delivers, in one strip
	Strips   int    `json:"ticks"`
	Overlaps bool   `json:"joined"` // with the section before, whose last transfers go on beside it
	Launches int    `json:"launches"`
	FLOPs    int64  `json:"flops"`
	// Recomputed counts the operations that make rows anew which were there
	// before: more than the network has. Rings keep what will be read again, so
	// it is 0 in every plan; it is counted, not assumed.
	Recomputed int64 `json:"recomputed_flops"`

	Rings    int64 `json:"ring_bytes"`     // of rings that are gone when the section ends
	Kept     int64 `json:"kept_bytes"`     // of tensors on the device that other sections made or will read
	Upload   int64 `json:"upload_bytes"`   // rows from the host
	Download int64 `json:"download_bytes"` // rows to the host
	Weights  int64 `json:"weight_bytes"`   // parameters loaded for this section
}

// record keeps of the request what a plan's description needs.
func (d *draft) record() {
	p := d.req.Program
	d.plan.rowBytes = make([]int64, len(p.Tensors))
	for t := range p.Tensors {
		d.plan.rowBytes[t] = d.req.RowBytes(t)
	}
}

// Table describes the sections in order. Rings that share storage count once.
func (p *Plan) Table() []SectionFacts {
	facts := make([]SectionFacts, len(p.Sections))
	for s := range p.Sections {
		facts[s] = p.describe(s)
	}
	type place struct{ arena, offset, bytes int64 }
	counted := make([]map[place]bool, len(p.Sections))
	for _, kept := range []bool{true, false} { // what stays first: a guest in its place adds nothing
		for _, r := range p.Rings {
			if first, last := r.used(); (first < last) != kept {
				continue
			}
			for s := r.First; s <= r.Last; s++ {
				at := place{int64(r.Arena), r.Offset, r.Bytes}
				if counted[s][at] {
					continue
				}
				if counted[s] == nil {
					counted[s] = map[place]bool{}
				}
				counted[s][at] = true
				if kept {
					facts[s].Kept += r.Bytes
				} else {
					facts[s].Rings += r.Bytes
				}
			}
		}
	}
	return facts
}

// describe fills in what the moves of section s say.
func (p *Plan) describe(s int) SectionFacts {
	sec := &p.Sections[s]
	f := SectionFacts{First: p.Program.Steps[sec.First].Name, Last: p.Program.Steps[sec.Last].Name,
		Steps: sec.Last - sec.First + 1, Rows: sec.Rows, Strips: sec.Strips, Overlaps: sec.Overlaps}
	made := make([]int32, f.Steps) // rows of each step so far
	for _, m := range sec.Moves {
		n := int64(m.Y1 - m.Y0)
		switch m.Kind {
		case Run:
			k, step := int(m.Index)-sec.First, &p.Program.Steps[m.Index]
			f.Launches++
			f.FLOPs += p.Program.FLOPs(step, int(n))
			if again := made[k] - m.Y0; again > 0 {
				f.Recomputed += p.Program.FLOPs(step, int(min(again, m.Y1-m.Y0)))
			}
			made[k] = max(made[k], m.Y1)
			if p.Groups[m.Index] > 0 {
				f.Weights += p.weights[m.Index]
			}
		case Upload:
			f.Upload += n * p.rowBytes[p.Rings[m.Index].Tensor]
		case Download:
			f.Download += n * p.rowBytes[p.Rings[m.Index].Tensor]
		case LoadWeights:
			f.Weights += p.weights[m.Index]
		}
	}
	return f
}

// String prints the plan for reading: what it costs, what the device holds, and
// a table of the sections. One whose number has a + overlaps the one before.
func (p *Plan) String() string {
	var b strings.Builder
	var recomputed int64
	table := p.Table()
	for _, f := range table {
		recomputed += f.Recomputed
	}
	fmt.Fprintf(&b, "%s: peak %s", p.Strategy, size(p.Peak))
	if p.Budget.Limited() {
		fmt.Fprintf(&b, " of %s", size(p.Budget.Bytes()))
	}
	fmt.Fprintf(&b, ", host %s, %d launches, %.4g GFLOP (recomputed %s), %s uploaded, %s downloaded, predicted %s\n", size(p.HostBytes),
		p.Cost.Launches, float64(p.Cost.FLOPs)/1e9, share(recomputed, p.Cost.FLOPs), size(p.Cost.UploadBytes), size(p.Cost.DownloadBytes), seconds(p.Cost.Seconds))
	for _, h := range p.Holdings() {
		fmt.Fprintf(&b, "  %10s %s\n", size(h.Bytes), h.Purpose)
	}
	switch {
	case p.Unified && p.HostRest && p.HostBytes+p.LoadedBytes() > 0:
		fmt.Fprintf(&b, "  the device shares the host's memory: of it the plan takes %s as the device's and %s as the host's, %s for tensors and %s for parameters that wait\n",
			size(p.Peak), size(p.HostBytes+p.LoadedBytes()), size(p.HostBytes), size(p.LoadedBytes()))
	case p.Unified && p.HostBytes > 0:
		fmt.Fprintf(&b, "  the device shares the host's memory: only tensors above its largest allocation wait there, which count against the budget: %s held in all\n", size(p.Held()))
	case p.Unified:
		b.WriteString("  the device shares the host's memory: nothing waits there, parameters are held once, and all of it is in the peak\n")
	}
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "section\trows\tstrips\tlaunches\tGFLOP\trings\tkept\tuploaded\tdownloaded\tweights\t  steps")
	for s, f := range table {
		number := fmt.Sprint(s)
		if f.Overlaps {
			number = "+" + number
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%.2f\t%s\t%s\t%s\t%s\t%s\t  %s\n", number, f.Rows, f.Strips, f.Launches, float64(f.FLOPs)/1e9,
			size(f.Rings), size(f.Kept), size(f.Upload), size(f.Download), size(f.Weights), f.Span())
	}
	w.Flush()
	return b.String()
}

// Span names the steps: "first .. last (n)".
func (f *SectionFacts) Span() string {
	if f.Steps == 1 {
		return f.First
	}
	return fmt.Sprintf("%s .. %s (%d)", f.First, f.Last, f.Steps)
}

// Holdings lists the device buffers of the plan; they add up to its peak.
func (p *Plan) Holdings() []Fixed {
	var all []Fixed
	add := func(n int64, purpose string) {
		if n > 0 {
			all = append(all, Fixed{purpose, n})
		}
	}
	for _, n := range p.Arenas {
		add(n, "activations")
	}
	for _, f := range p.Fixed {
		add(f.Bytes, f.Purpose)
	}
	add(p.Resident, "weights")
	add(p.Loaded, "weights of a section at a time")
	add(p.Scratch, "scratch")
	return all
}

// LoadedBytes is the size of the parameters that wait on the host and are loaded section by
// section.
func (p *Plan) LoadedBytes() (n int64) {
	for i, at := range p.LoadAt {
		if at >= 0 {
			n += p.weights[i]
		}
	}
	return n
}

// Spilled lists the tensors that go to the host and come back, the largest first.
func (p *Plan) Spilled() []int {
	var all []int
	for t, at := range p.HostOffset {
		if at >= 0 {
			all = append(all, t)
		}
	}
	slices.SortStableFunc(all, func(a, b int) int { return int(sign(p.tensorBytes(b) - p.tensorBytes(a))) })
	return all
}

func (p *Plan) tensorBytes(t int) int64 { return int64(p.Program.Tensors[t].H) * p.rowBytes[t] }

func sign(n int64) int64 {
	switch {
	case n > 0:
		return 1
	case n < 0:
		return -1
	}
	return 0
}

// size prints bytes in binary units, "-" for none.
func size(n int64) string {
	switch v := float64(n); {
	case n == 0:
		return "-"
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", v/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", v/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", v/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}

func share(part, all int64) string {
	if part == 0 {
		return "0"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(max(all, 1)))
}

func seconds(s float64) string {
	if s < 1 {
		return fmt.Sprintf("%.3g ms", 1e3*s)
	}
	return fmt.Sprintf("%.3g s", s)
}
