package htmlreport

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"enhance/internal/bytesize"
	"enhance/internal/sidebyside"
)

// number is a coordinate.
func number(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

// Histogram is the drawing of a picture's, 256 wide and 100 high: an area for each colour,
// and if there are two pictures a line for each colour of the first.
type Histogram struct {
	Areas, Lines [3]string // paths of red, green and blue
	Two          bool
	Clipped      string // share of pixels with a colour at 255
}

// histogramStep is how many codes a point of a drawing stands for.
const histogramStep = 2

func newHistogram(r *sidebyside.Result) *Histogram {
	h := &Histogram{Two: r.Before != nil}
	heights := pooled(&r.Histogram)
	all := slices.Clone(heights[0])
	all = append(append(all, heights[1]...), heights[2]...)
	slices.Sort(all)
	top := max(1, all[len(all)*98/100]) // peaks at black and white would flatten the rest
	for c := range heights {
		h.Areas[c] = "M0 100" + points(heights[c], top) + "L256 100Z"
		if h.Two {
			h.Lines[c] = "M0 100" + points(pooled(&r.HistogramBefore)[c], top)
		}
	}
	most := int64(0)
	for c := range r.Histogram {
		most = max(most, r.Histogram[c][255])
	}
	h.Clipped = fmt.Sprintf("%.2g %%", 100*float64(most)/(float64(r.Width)*float64(r.Height)))
	return h
}

// pooled adds up neighbouring codes.
func pooled(h *sidebyside.Histogram) (heights [3][]float64) {
	for c := range h {
		for k := 0; k < 256; k += histogramStep {
			sum := int64(0)
			for _, n := range h[c][k:][:histogramStep] {
				sum += n
			}
			heights[c] = append(heights[c], float64(sum))
		}
	}
	return heights
}

func points(heights []float64, top float64) string {
	var b strings.Builder
	for i, v := range heights {
		fmt.Fprintf(&b, "L%d %s", i*histogramStep+histogramStep/2, number(100-96*math.Sqrt(min(v/top, 1))))
	}
	return b.String()
}

// timesChart is the drawing of a photo's times, as parts of a width of 100.
type timesChart struct {
	Total  string
	Stages []bar
	Busy   []bar
}

// bar is a span drawn from X to X+W.
type bar struct {
	Name, Text string
	X, W       string
	Class      int // of its colour
}

func newTimesChart(t *Times) *timesChart {
	c, total := &timesChart{}, 0.0
	for _, s := range t.Stages {
		total += s.Seconds
	}
	c.Total = seconds(total)
	if total <= 0 {
		return c
	}
	at := 0.0
	for i, s := range t.Stages {
		c.Stages = append(c.Stages, bar{s.Name, seconds(s.Seconds), number(1000 * at / total), number(1000 * s.Seconds / total), i})
		at += s.Seconds
	}
	for _, s := range t.Busy {
		c.Busy = append(c.Busy, bar{Name: s.Name, Text: seconds(s.Seconds), W: number(1000 * min(1, s.Seconds/total))})
	}
	return c
}

func seconds(s float64) string {
	switch {
	case s >= 100:
		return fmt.Sprintf("%.0f s", s)
	case s >= 1:
		return fmt.Sprintf("%.2f s", s)
	}
	return fmt.Sprintf("%.0f ms", 1000*s)
}

// curveChart is the drawing of a curve, 600 wide and 120 high.
type curveChart struct {
	Title, Area, Line string
	Levels            []level
	Seconds           string
	Highest           string // sample
}

// level is a horizontal line.
type level struct {
	Name, Text, Y string
	Class         int // of its dashes
}

const chartW, chartH = 600.0, 120.0

func newCurveChart(c Curve) *curveChart {
	out := &curveChart{Title: c.Title, Seconds: seconds(c.Seconds)}
	highest := int64(0)
	for _, s := range c.Samples {
		highest = max(highest, s.Bytes)
	}
	out.Highest = bytesize.Text(highest)
	top := highest
	for _, l := range c.Lines {
		top = max(top, l.Bytes)
	}
	if top == 0 || c.Seconds <= 0 {
		return out
	}
	y := func(bytes int64) float64 { return chartH - (chartH-16)*float64(bytes)/float64(top) }
	var b strings.Builder
	last := 0.0
	for i, s := range c.Samples {
		last = chartW * min(1, max(0, s.Seconds/c.Seconds))
		fmt.Fprintf(&b, "%c%s %s", "ML"[min(i, 1)], number(last), number(y(s.Bytes)))
	}
	if out.Line = b.String(); len(c.Samples) > 0 {
		first := chartW * min(1, max(0, c.Samples[0].Seconds/c.Seconds))
		out.Area = out.Line + fmt.Sprintf("L%s %sL%s %sZ", number(last), number(chartH), number(first), number(chartH))
	}
	for i, l := range c.Lines {
		out.Levels = append(out.Levels, level{l.Name, bytesize.Text(l.Bytes), number(y(l.Bytes)), i % 2})
	}
	return out
}
