// Package htmlreport writes a page that shows what became of photos, or how two pictures
// differ: one HTML file that holds everything it shows and fetches nothing.
//
// Fill a [Page] and call [Page.Write]. Pictures come from package sidebyside through
// [Encode], which makes JPEG and PNG data of them, so that a page in the making holds
// compressed pictures only. Texts may hold anything: html/template escapes them.
//
//	page.go                       what a page says
//	pictures.go                   pictures as data URIs
//	charts.go                     histograms, times and memory as paths of SVG
//	page.html, page.css, page.js  the page; without JavaScript pictures stand side by side
package htmlreport

import (
	_ "embed"
	"html/template"
	"io"
	"sync"
)

// Page is a whole report.
type Page struct {
	Title   string
	Summary string // a sentence below the title
	Program string // that made it, at the end
	Photos  []*Photo
}

// Photo is an entry of a page.
type Photo struct {
	Name     string
	Subtitle string // camera, size, date
	Failure  string // why there is no picture; "" if there is one
	Skipped  bool   // nothing was done
	// Before and After name the two pictures.
	Before, After string
	Pictures      *Pictures // nil: none
	Figures       []Fact    // numbers worth showing large: PSNR, time
	Facts         []Group
	Notes         []string
	Times         *Times
	Memory        []Curve
}

// Fact is a name and a value.
type Fact struct{ Name, Value string }

// Group is facts under a heading.
type Group struct {
	Title string
	Facts []Fact
}

// Times are a photo's stages: those that follow each other, and how long each worker was
// busy meanwhile.
type Times struct {
	Stages []Span
	Busy   []Span
}

// Span is a stage and its seconds.
type Span struct {
	Name    string
	Seconds float64
}

// Curve is memory over the time of a run.
type Curve struct {
	Title   string
	Seconds float64 // of the whole run
	Samples []Sample
	Lines   []Line // such as the plan's peak
}

// Sample is bytes at a time.
type Sample struct {
	Seconds float64
	Bytes   int64
}

// Line is a number of bytes to compare a curve with.
type Line struct {
	Name  string
	Bytes int64
}

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

// page is parsed by processes that write one.
var page = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"css":   func() template.CSS { return template.CSS(pageCSS) },
		"js":    func() template.JS { return template.JS(pageJS) },
		"add":   func(a, b int) int { return a + b },
		"long":  func(text string) bool { return len(text) > 60 },
		"chart": func(c Curve) *curveChart { return newCurveChart(c) },
		"times": newTimesChart,
	}).Parse(pageHTML))
})

// Write writes the page.
func (p *Page) Write(w io.Writer) error { return page().Execute(w, p) }

// Several reports whether the page has an index.
func (p *Page) Several() bool { return len(p.Photos) > 1 }

// Detailed reports whether a photo has more to show than its card in the index.
func (p *Photo) Detailed() bool { return p.Pictures != nil && p.Pictures.After != nil }

// Thumbnail is the picture of the index, nil if there is none.
func (p *Photo) Thumbnail() *Picture {
	if p.Pictures == nil {
		return nil
	}
	return p.Pictures.Thumbnail
}
