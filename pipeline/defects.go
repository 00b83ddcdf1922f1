package pipeline

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"

	"enhance/internal/regularfile"
	"enhance/pipeline/facts"
	"enhance/pipeline/look"
	"enhance/raw/defects"
	"enhance/raw/rawerr"
)

// ReadDefects reads "auto", "off" or the file of that name: a list of defects
// ([defects.ReadList]).
func ReadDefects(spec string) (look.Defects, error) {
	switch spec {
	case "auto":
		return look.Defects{}, nil
	case "off":
		return look.Defects{Mode: look.DefectsOff}, nil
	case "":
		return look.Defects{}, optionErrorf("defects", "want auto, off or the name of a list")
	}
	text, err := regularfile.Read(spec, defects.MaxFile)
	// A bare name without a file was probably meant as a word, as "none" is.
	if errors.Is(err, fs.ErrNotExist) && filepath.Base(spec) == spec && filepath.Ext(spec) == "" {
		return look.Defects{}, optionErrorf("defects", "%q: no such file: want auto, off or the name of a list", spec)
	}
	if errors.Is(err, regularfile.ErrTooLarge) {
		err = rawerr.Formatf("list of defects", "larger than %d bytes", defects.MaxFile)
	}
	if err != nil {
		return look.Defects{}, &FileError{Path: spec, Err: err}
	}
	list, err := defects.ReadList(bytes.NewReader(text))
	if err != nil {
		return look.Defects{}, &FileError{Path: spec, Err: err}
	}
	return look.Defects{Mode: look.DefectsListed, List: list}, nil
}

// repairDefects puts the repair between the photo and all that reads it.
func (r *run) repairDefects() {
	d := &r.job.Defects
	if r.meta.Linear {
		if d.Mode == look.DefectsListed {
			r.report.Warn("the photo is demosaiced already: the list of defects is not used")
		}
		return
	}
	mode := d.Mode
	if mode == look.DefectsAuto && !defects.Searched(r.meta.CFA) {
		mode = look.DefectsOff
	}
	r.report.Defects = &facts.Defects{Mode: mode.String()}
	if mode != look.DefectsOff {
		r.found = r.photo.RepairDefects(d.List)
	}
	if mode == look.DefectsListed && r.found.Outside() > 0 {
		r.report.Warn("the list of defects has %d of %d places outside the photo's %dx%d samples: is it another camera's?", r.found.Outside(), d.List.Len(), r.meta.Width, r.meta.Height)
	}
}

// noteDefects completes the report when all rows were read.
func (r *run) noteDefects() {
	if r.found != nil {
		y0, y1 := r.geo.region.Y0, r.geo.region.Y1
		d := r.report.Defects
		d.Count, d.Places = r.found.Count(y0, y1), r.found.List(y0, y1)
		if listed := r.found.Listed(y0, y1); listed > 0 {
			d.Left = listed - d.Count
		}
	}
}

// repairBytes is what the repair holds.
func (r *run) repairBytes() int64 {
	if r.meta.Linear || r.job.Defects.Mode == look.DefectsOff {
		return 0
	}
	return defects.Bytes(min(r.together()*blockRows, r.geo.region.Height()), r.meta.Width)
}
