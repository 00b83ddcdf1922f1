package papers

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"math"
)

// Chart is a drawing of grouped bars: one group for each entry of Groups, in it
// one bar for each of Series. Values[g][s] is a bar's height; 0, NaN and
// infinities leave a gap.
type Chart struct {
	Title, XLabel, YLabel string
	Groups, Series        []string
	Values                [][]float64
}

// Sizes of a drawing in pixels.
const (
	chartLeft   = 76.0
	chartTop    = 44.0
	chartHeight = 320.0 // of the bars' field
	chartBottom = 130.0 // for the groups' names
	barWidth    = 9.0
	groupGap    = 10.0
	legendLine  = 18.0
	charWidth   = 6.6 // of text of 11 pixels, about
)

// palette has colours that stay apart in print and for most colour-blind eyes
// (the first eight are Okabe and Ito's); series beyond it repeat them paler.
var palette = []string{"#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7", "#f0e442", "#000000",
	"#8c510a", "#5e3c99", "#66a61e", "#999999"}

// WriteSVG draws the chart. The same chart always gives the same bytes.
func (c *Chart) WriteSVG(w io.Writer) error {
	b := bufio.NewWriter(w)
	groupWidth := barWidth*float64(len(c.Series)) + groupGap
	field := math.Max(groupWidth*float64(len(c.Groups)), 360)
	perLine, lines := c.legendLayout(field)
	top := chartTop + legendLine*float64(lines)
	width, height := chartLeft+field+24, top+chartHeight+chartBottom
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" font-family="sans-serif" font-size="11">`+"\n", width, height, width, height)
	fmt.Fprintf(b, `<rect width="100%%" height="100%%" fill="white"/>`+"\n")
	text(b, chartLeft, 22, `font-size="14" font-weight="bold"`, c.Title)
	c.legend(b, perLine)
	most := c.axis(b, top, field)
	for g := range c.Groups {
		x := chartLeft + groupWidth*float64(g) + groupGap/2
		for s := range c.Series {
			v := c.Values[g][s]
			if !(v > 0) || math.IsInf(v, 0) {
				continue
			}
			h := v / most * chartHeight
			fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" %s><title>%s, %s: %.4g</title></rect>`+"\n",
				x+barWidth*float64(s), top+chartHeight-h, barWidth-1, h, fillOf(s), html.EscapeString(c.Groups[g]), html.EscapeString(c.Series[s]), v)
		}
		at, y := x+barWidth*float64(len(c.Series))/2+4, top+chartHeight+10
		text(b, at, y, fmt.Sprintf(`text-anchor="end" transform="rotate(-50 %.1f %.1f)"`, at, y), c.Groups[g])
	}
	text(b, chartLeft+field/2, height-8, `text-anchor="middle"`, c.XLabel)
	y := top + chartHeight/2
	text(b, 16, y, fmt.Sprintf(`text-anchor="middle" transform="rotate(-90 16 %.1f)"`, y), c.YLabel)
	fmt.Fprintln(b, "</svg>")
	return b.Flush()
}

// axis draws the vertical scale and returns its upper end.
func (c *Chart) axis(b io.Writer, top, field float64) float64 {
	most := 0.0
	for _, group := range c.Values {
		for _, v := range group {
			if !math.IsInf(v, 0) && v > most {
				most = v
			}
		}
	}
	step := niceStep(most / 6)
	end := math.Max(math.Ceil(most/step), 1) * step
	for i := 0; float64(i)*step <= end*1.0001; i++ {
		v := float64(i) * step
		y := top + chartHeight*(1-v/end)
		fmt.Fprintf(b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>`+"\n", chartLeft, y, chartLeft+field, y, [2]string{"#333", "#ddd"}[min(i, 1)])
		text(b, chartLeft-6, y+4, `text-anchor="end"`, fmt.Sprintf("%.6g", v))
	}
	return end
}

// niceStep is 1, 2 or 5 times a power of ten, at least v.
func niceStep(v float64) float64 {
	if !(v > 0) {
		return 1
	}
	p := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if m*p >= v {
			return m * p
		}
	}
	return 10 * p
}

// legendLayout says how many entries fit on a line, and how many lines that makes.
func (c *Chart) legendLayout(field float64) (perLine, lines int) {
	perLine = int(math.Max(1, field/c.entryWidth()))
	return perLine, (len(c.Series) + perLine - 1) / perLine
}

func (c *Chart) entryWidth() float64 {
	longest := 0
	for _, s := range c.Series {
		longest = max(longest, len(s))
	}
	return 24 + charWidth*float64(longest)
}

func (c *Chart) legend(b io.Writer, perLine int) {
	for s, name := range c.Series {
		x, y := chartLeft+c.entryWidth()*float64(s%perLine), chartTop-6+legendLine*float64(s/perLine)
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="11" height="11" %s/>`+"\n", x, y-9, fillOf(s))
		text(b, x+16, y, "", name)
	}
}

func fillOf(series int) string {
	s := fmt.Sprintf(`fill="%s"`, palette[series%len(palette)])
	if series >= len(palette) {
		s += ` fill-opacity="0.5"`
	}
	return s
}

func text(b io.Writer, x, y float64, attrs, s string) {
	if attrs != "" {
		attrs = " " + attrs
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f"%s>%s</text>`+"\n", x, y, attrs, html.EscapeString(s))
}
