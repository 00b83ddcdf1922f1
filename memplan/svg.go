package memplan

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"math"
)

// This file draws a plan: across, the steps in the order of the plan; up, the
// bytes of the device, every buffer at its own place. A bar is a ring: pale for
// the sections in which its bytes are reserved, strong from the first step that
// writes it to the last that reads it. Below is the host's memory of spilled
// tensors in the same way.

// Sizes of the drawing in pixels.
const (
	svgLeft      = 78.0
	svgRight     = 170.0 // names of the bands
	svgTop       = 92.0
	svgDevice    = 560.0 // height of the device's field
	svgHost      = 200.0 // height of the host's, if there is one
	svgGap       = 44.0
	svgNames     = 118.0 // for the names of steps
	svgStep      = 9.0   // width of a step, unless that makes too wide a field
	svgNarrowest = 860.0
	svgWidest    = 1500.0
	svgChar      = 5.4 // width of a letter of 9 pixels, about
)

// kind is what a ring is for, and its colour (of Okabe and Ito's palette).
type kind int

const (
	kindStreamed kind = iota
	kindKept
	kindInput
	kindOutput
	kindSpilled
	kindStatistics
	kinds
)

var (
	kindNames = [kinds]string{"ring that rows pass through", "kept on the device for later sections",
		"network's input", "network's output", "spilled: read back from the host", "statistics"}
	kindFill = [kinds]string{"#009e73", "#0072b2", "#e69f00", "#cc79a7", "#d55e00", "#777777"}
)

// WriteSVG draws the plan. title says of what it is. The same plan always gives
// the same bytes.
func (p *Plan) WriteSVG(w io.Writer, title string) error {
	c := newCanvas(p, w)
	c.head(title)
	c.device()
	if p.HostBytes > 0 {
		c.host()
	}
	c.steps()
	fmt.Fprintln(c, "</svg>")
	return c.Flush()
}

// canvas is a drawing in the making.
type canvas struct {
	*bufio.Writer
	p            *Plan
	field, width float64 // of the fields; of one step
	height       float64 // of the whole drawing
	most         int64   // bytes at the upper edge of the device's field
	showBudget   bool
	from, to     []int // per ring: first and last step that use it
	kinds        []kind
}

func newCanvas(p *Plan, w io.Writer) *canvas {
	n := float64(len(p.Program.Steps))
	c := &canvas{Writer: bufio.NewWriter(w), p: p, field: min(max(svgStep*n, svgNarrowest), svgWidest)}
	c.width = c.field / n
	c.height = svgTop + svgDevice + svgNames
	if p.HostBytes > 0 {
		c.height += svgGap + svgHost
	}
	c.most = p.Peak + p.Peak/40
	if b := p.Budget.Bytes(); b <= p.Peak*3/2 {
		c.showBudget, c.most = true, max(c.most, b+b/40)
	}
	c.uses()
	return c
}

// uses finds the steps between which each ring holds something, and what it is for.
func (c *canvas) uses() {
	p := c.p
	c.from, c.to, c.kinds = make([]int, len(p.Rings)), make([]int, len(p.Rings)), make([]kind, len(p.Rings))
	for i := range c.from {
		c.from[i] = -1
	}
	note := func(ring int32, step int) {
		if c.from[ring] < 0 {
			c.from[ring] = step
		}
		c.to[ring] = step
	}
	for i := range p.Program.Steps {
		for _, ring := range p.reads[i] {
			note(ring, i)
		}
		note(p.writes[i], i)
	}
	filled := make([]bool, len(p.Rings))
	for s := range p.Sections {
		for _, m := range p.Sections[s].Moves {
			if m.Kind == Upload {
				filled[m.Index] = true
			}
		}
	}
	for i, r := range p.Rings {
		first, last := r.used()
		switch {
		case r.Tensor == p.Program.Input:
			c.kinds[i] = kindInput
		case r.Tensor == p.Program.Output:
			c.kinds[i] = kindOutput
		case !p.Program.Tensors[r.Tensor].Storage.Planes():
			c.kinds[i] = kindStatistics
		case filled[i]:
			c.kinds[i] = kindSpilled
		case first < last:
			c.kinds[i] = kindKept
		}
	}
}

func (c *canvas) x(step int) float64 { return svgLeft + float64(step)*c.width }

func (c *canvas) y(bytes int64) float64 {
	return svgTop + svgDevice - float64(bytes)/float64(c.most)*svgDevice
}

func (c *canvas) text(x, y float64, attrs, s string) {
	fmt.Fprintf(c, `<text x="%.1f" y="%.1f" %s>%s</text>`+"\n", x, y, attrs, html.EscapeString(s))
}

func (c *canvas) line(x0, y0, x1, y1 float64, attrs string) {
	fmt.Fprintf(c, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" %s/>`+"\n", x0, y0, x1, y1, attrs)
}

// head draws the title, the facts and the legend.
func (c *canvas) head(title string) {
	p, width := c.p, svgLeft+c.field+svgRight
	fmt.Fprintf(c, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" font-family="sans-serif" font-size="11">`+"\n", width, c.height, width, c.height)
	fmt.Fprintln(c, `<rect width="100%" height="100%" fill="white"/>`)
	c.text(svgLeft, 24, `font-size="16" font-weight="bold"`, title)
	facts := fmt.Sprintf("%s: peak %s", p.Strategy, size(p.Peak))
	if p.Budget.Limited() {
		facts += fmt.Sprintf(" of %s", size(p.Budget.Bytes()))
	}
	sections := "1 section"
	if n := len(p.Sections); n != 1 {
		sections = fmt.Sprintf("%d sections", n)
	}
	facts += fmt.Sprintf(" · %s, %d launches · %s uploaded, %s downloaded", sections, p.Cost.Launches, size(p.Cost.UploadBytes), size(p.Cost.DownloadBytes))
	c.text(svgLeft, 44, `font-size="12" fill="#333"`, facts)
	present := [kinds]bool{}
	for i := range p.Rings {
		present[c.kinds[i]] = true
	}
	x := svgLeft
	for k, name := range kindNames {
		if !present[k] {
			continue
		}
		fmt.Fprintf(c, `<rect x="%.1f" y="58" width="12" height="12" fill="%s"/>`+"\n", x, kindFill[k])
		c.text(x+17, 68, "", name)
		x += 17 + 6.2*float64(len(name)) + 12
	}
	c.text(x, 68, `fill="#333"`, "pale: reserved")
}

// device draws the device's field: axis, bands, arenas and their rings.
func (c *canvas) device() {
	p := c.p
	c.axis(svgTop, svgDevice, c.most, "device memory")
	base := int64(0)
	band := func(n int64, name, fill string) {
		if n <= 0 {
			return
		}
		y, h := c.y(base+n), float64(n)/float64(c.most)*svgDevice
		fmt.Fprintf(c, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"><title>%s: %d bytes</title></rect>`+"\n", svgLeft, y,
			c.field, h, fill, html.EscapeString(name), n)
		if h >= 5 {
			c.text(svgLeft+c.field+6, y+h/2+3, `font-size="10"`, name+" "+size(n))
		}
		base += n
	}
	band(p.Resident, "weights", "#c7b8e0")
	band(p.Loaded, "weights of a section", "#ded4ee")
	for _, f := range p.Fixed {
		band(f.Bytes, f.Purpose, "#cccccc")
	}
	band(p.Scratch, "scratch", "#f3e6a8")
	bases := make([]int64, len(p.Arenas))
	for a, n := range p.Arenas {
		bases[a] = base
		y := c.y(base + n)
		fmt.Fprintf(c, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="#f6f6f6" stroke="#999" stroke-width="0.5"/>`+"\n",
			svgLeft, y, c.field, float64(n)/float64(c.most)*svgDevice)
		c.text(svgLeft+c.field+6, y+12, `font-size="10"`, fmt.Sprintf("arena %d %s", a, size(n)))
		base += n
	}
	c.sectionLines(svgTop, svgDevice)
	for i := range p.Rings {
		c.ring(i, bases[p.Rings[i].Arena])
	}
	c.limit(p.Peak, "peak", "#333", "", svgLeft+c.field-4, "end")
	if c.showBudget {
		c.limit(p.Budget.Bytes(), "budget", "#c00", `stroke-dasharray="6 4"`, svgLeft+4, "start")
	}
}

// limit draws a line across the device's field, its name at x.
func (c *canvas) limit(bytes int64, name, colour, dashes string, x float64, anchor string) {
	y := c.y(bytes)
	c.line(svgLeft, y, svgLeft+c.field, y, fmt.Sprintf(`stroke="%s" stroke-width="1.2" %s`, colour, dashes))
	c.text(x, y-4, fmt.Sprintf(`text-anchor="%s" fill="%s"`, anchor, colour), name+" "+size(bytes))
}

// ring draws ring i in an arena that begins at base.
func (c *canvas) ring(i int, base int64) {
	p, r := c.p, &c.p.Rings[i]
	t := p.Program.Tensors[r.Tensor]
	y, h := c.y(base+r.Offset+r.Bytes), float64(r.Bytes)/float64(c.most)*svgDevice
	label := fmt.Sprintf("%s %d/%d rows %s", t.Name, r.Rows, t.H, size(r.Bytes))
	c.bar(p.Sections[r.First].First, p.Sections[r.Last].Last+1, c.from[i], c.to[i]+1, y, h, kindFill[c.kinds[i]], t.Name, label)
}

// bar draws what is reserved in steps [r0,r1) and in use in [u0,u1).
func (c *canvas) bar(r0, r1, u0, u1 int, y, h float64, fill, name, label string) {
	fmt.Fprintf(c, `<g><title>%s</title><rect x="%.1f" y="%.2f" width="%.1f" height="%.2f" fill="%s" fill-opacity="0.18"/>`,
		html.EscapeString(label), c.x(r0), y, c.x(r1)-c.x(r0), h, fill)
	fmt.Fprintf(c, `<rect x="%.1f" y="%.2f" width="%.1f" height="%.2f" fill="%s" fill-opacity="0.8" stroke="white" stroke-width="%.1f"/></g>`+"\n",
		c.x(u0), y, c.x(u1)-c.x(u0), h, fill, math.Min(0.6, h/6))
	if h < 8 {
		return
	}
	font := math.Min(h-1, 9)
	wide := func(s string, x0, x1 int) bool {
		return svgChar*font/9*float64(len(s)) < c.x(x1)-c.x(x0)-4
	}
	for _, text := range []string{label, name} {
		switch {
		case wide(text, u0, u1):
			c.text(c.x(u0)+3, y+h/2+font/3, fmt.Sprintf(`font-size="%.1f" fill="white"`, font), text)
		case wide(text, u1, r1):
			c.text(c.x(u1)+3, y+h/2+font/3, fmt.Sprintf(`font-size="%.1f" fill="#222"`, font), text)
		case wide(text, r0, u0):
			c.text(c.x(u0)-3, y+h/2+font/3, fmt.Sprintf(`font-size="%.1f" fill="#222" text-anchor="end"`, font), text)
		default:
			continue
		}
		return
	}
	if width := c.x(u1) - c.x(u0); width >= 8 && svgChar*float64(len(name)) < h-4 { // upwards
		x, y := c.x(u0)+width/2+3, y+h-3
		c.text(x, y, fmt.Sprintf(`font-size="9.0" fill="white" transform="rotate(-90 %.1f %.1f)"`, x, y), name)
	}
}

// host draws the host's memory of spilled tensors.
func (c *canvas) host() {
	p, top := c.p, svgTop+svgDevice+svgGap
	c.axis(top, svgHost, p.HostBytes, "host memory")
	fmt.Fprintf(c, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="#f6f6f6" stroke="#999" stroke-width="0.5"/>`+"\n", svgLeft, top, c.field, svgHost)
	spilled := p.Spilled()
	c.text(svgLeft, top-8, `font-size="12" fill="#333"`, fmt.Sprintf("spilled to the host: %s, tensor by tensor (%d)", size(p.HostBytes), len(spilled)))
	c.sectionLines(top, svgHost)
	first, last := p.spillTimes()
	for _, t := range spilled {
		tensor := p.Program.Tensors[t]
		h := float64(p.tensorBytes(t)) / float64(p.HostBytes) * svgHost
		y := top + svgHost - float64(p.HostOffset[t])/float64(p.HostBytes)*svgHost - h
		a, b := p.Sections[first[t]].First, p.Sections[last[t]].Last+1
		c.bar(a, b, a, b, y, h, kindFill[kindSpilled], tensor.Name, fmt.Sprintf("%s %s", tensor.Name, size(p.tensorBytes(t))))
	}
}

// spillTimes gives for every tensor the first section that sends it to the host
// and the last that reads it from there.
func (p *Plan) spillTimes() (first, last []int) {
	first, last = make([]int, len(p.Program.Tensors)), make([]int, len(p.Program.Tensors))
	seen := make([]bool, len(p.Program.Tensors))
	for s := range p.Sections {
		for _, m := range p.Sections[s].Moves {
			if m.Kind != Upload && m.Kind != Download {
				continue
			}
			t := p.Rings[m.Index].Tensor
			if !seen[t] {
				seen[t], first[t] = true, s
			}
			last[t] = s
		}
	}
	return first, last
}

// axis draws the scale of bytes at the left of a field.
func (c *canvas) axis(top, height float64, most int64, name string) {
	unit := markDistance(most)
	for v := int64(0); v <= most; v += unit {
		y := top + height - float64(v)/float64(most)*height
		c.line(svgLeft-4, y, svgLeft+c.field, y, `stroke="#e4e4e4" stroke-width="0.7"`)
		label := size(v)
		if v == 0 {
			label = "0"
		}
		c.text(svgLeft-7, y+4, `text-anchor="end"`, label)
	}
	x, y := 14.0, top+height/2
	c.text(x, y, fmt.Sprintf(`text-anchor="middle" transform="rotate(-90 %.1f %.1f)"`, x, y), name)
}

// markDistance is a distance of marks that gives 4 to 8 of them.
func markDistance(most int64) int64 {
	unit := int64(1)
	for most/unit >= 8 {
		unit *= 2
	}
	return unit
}

// sectionLines marks where sections begin, if they have more than a step each.
func (c *canvas) sectionLines(top, height float64) {
	if len(c.p.Sections) > len(c.p.Program.Steps)/2 {
		return
	}
	for _, s := range c.p.Sections[1:] {
		c.line(c.x(s.First), top, c.x(s.First), top+height, `stroke="#bbb" stroke-width="0.6"`)
	}
}

// steps names the steps below the fields, as many as there is room for.
func (c *canvas) steps() {
	y, every := c.height-svgNames+10, max(1, int(math.Ceil(10/c.width)))
	for i := 0; i < len(c.p.Program.Steps); i += every {
		x := c.x(i) + c.width/2 + 3
		c.text(x, y, fmt.Sprintf(`text-anchor="end" font-size="8" fill="#444" transform="rotate(-60 %.1f %.1f)"`, x, y), c.p.Program.Steps[i].Name)
	}
}
