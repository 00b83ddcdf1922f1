package main

import (
	"fmt"
	"path/filepath"
	"runtime/debug"
	"strings"

	"enhance/internal/atomicfile"
	"enhance/internal/htmlreport"
	"enhance/internal/printable"
	"enhance/pipeline"
)

// A page shows the first photos with details, more of them as thumbnails, and the names of
// the rest. A page of any number of photos stays below some 100 MB.
const (
	detailSide   = 1600 // pixels of the longer side, where one photo has the page for itself
	manySide     = 1024
	detailCrops  = 4
	cropSide     = 256
	mostDetailed = 20
	mostPictured = 2000
)

// page is what --report asks for, and what comes of it.
type page struct {
	path   string // "" for none
	file   *atomicfile.File
	photos []*htmlreport.Photo
	folder string // that all photos are in
	err    error  // the first of making pictures for it
}

// open makes the page's file before the work, so that a bad name costs no work.
func (p *page) open(o *order, ts []target) (err error) {
	if p.path == "" {
		return nil
	}
	p.photos, p.folder = make([]*htmlreport.Photo, len(ts)), folderOf(ts)
	p.file, err = atomicfile.Create(p.path, atomicfile.Options{Overwrite: o.overwrite})
	return err
}

// folderOf is the folder, with its separator, that all photos are in; "" if there is none.
func folderOf(ts []target) string {
	folder, _ := filepath.Split(ts[0].shown())
	for i := range ts {
		for !strings.HasPrefix(ts[i].shown(), folder) {
			folder, _ = filepath.Split(strings.TrimSuffix(folder, string(filepath.Separator)))
		}
	}
	return folder
}

// show is what is wanted of photo i.
func (p *page) show(i int) (s pipeline.Show) {
	n := len(p.photos)
	switch {
	case p.path == "" || i >= mostPictured:
		return s
	case i >= mostDetailed:
		s.Side = htmlreport.ThumbnailSide
	default:
		s = pipeline.Show{Side: detailSide, Before: true, Crops: detailCrops, CropSide: cropSide}
		if n > 1 {
			s.Side = manySide
		}
	}
	s.Kept = int64(min(n, mostDetailed))*htmlreport.DetailBytes + int64(min(n, mostPictured))*htmlreport.ThumbnailBytes
	return s
}

// add takes what became of photo i. Pictures of the report are dropped.
func (p *page) add(i int, t *target, r *result) {
	if p.path == "" {
		return
	}
	why := strings.TrimPrefix(r.Error, t.shown()+": ")
	photo := &htmlreport.Photo{Name: printable.Text(strings.TrimPrefix(t.shown(), p.folder)), Failure: printable.Line(why), Skipped: r.Skip}
	p.photos[i] = photo
	if r.Report == nil {
		return
	}
	describePhoto(photo, r.Report)
	if seen := r.Report.Seen; seen != nil {
		pictures, err := htmlreport.Encode(seen.Pictures, i < mostDetailed)
		if err != nil && p.err == nil {
			p.err = err
		}
		photo.Pictures = pictures
		if i < mostDetailed {
			photo.Memory = memoryCurves(r.Report)
		}
		r.Report.Seen = nil
	}
}

// finish writes the page; s sums the photos up. Photos that were not begun are named, too.
func (p *page) finish(b *batch) error {
	if p.path == "" {
		return nil
	}
	defer p.file.Abort() // nothing after Commit
	if p.err != nil {
		return p.err
	}
	for i := range p.photos {
		if p.photos[i] == nil {
			p.add(i, &b.targets[i], &b.outcomes.results[i])
		}
	}
	whole := htmlreport.Page{Program: programName(), Photos: p.photos}
	if len(p.photos) == 1 {
		whole.Title, whole.Summary = p.photos[0].Name, p.photos[0].Subtitle
	} else {
		whole.Title, whole.Summary = photos(len(p.photos)), strings.TrimPrefix(summarize(b.outcomes.results).text(false), "enhance: ")+b.rate()
		if n := len(p.photos); n > mostDetailed {
			whole.Summary += fmt.Sprintf(". The first %d are shown with details", mostDetailed)
		}
	}
	if err := whole.Write(p.file); err != nil {
		return err
	}
	if err := p.file.Commit(); err != nil {
		return err
	}
	b.wrote(b.stderr, p.path, "the page")
	return nil
}

// close drops a page that was not finished.
func (p *page) close() {
	if p.file != nil {
		p.file.Abort()
	}
}

// programName is this program and its version, for pages.
func programName() string {
	info, _ := debug.ReadBuildInfo()
	return "enhance " + versionOf(info)
}
