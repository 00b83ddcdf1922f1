package main

import (
	"path/filepath"

	"enhance/internal/atomicfile"
	"enhance/pipeline"
)

// fileUses are the files that a command line names: those that the work is made
// from, and those that it makes.
type fileUses struct{ read, made []fileUse }

type fileUse struct {
	path, role string // "the timeline (--profile)"
	place      atomicfile.Place
}

// reads notes a file that is read, makes one that is made; "" and "-" are no files.
func (all *fileUses) reads(path, role string) { add(&all.read, path, role) }
func (all *fileUses) makes(path, role string) { add(&all.made, path, role) }

func add(to *[]fileUse, path, role string) {
	if path != "" && path != "-" {
		*to = append(*to, fileUse{path, role, atomicfile.Locate(path)})
	}
}

// check refuses a file that is to be made and is read, or made twice in two roles:
// -y must not allow it.
func (all *fileUses) check() error {
	read, made := map[atomicfile.PlaceHash][]*fileUse{}, map[atomicfile.PlaceHash][]*fileUse{}
	for i := range all.read {
		r := &all.read[i]
		if h := r.place.Hash(); r.place.Exists() {
			read[h] = append(read[h], r)
		}
	}
	for i := range all.made {
		m := &all.made[i]
		h := m.place.Hash()
		for _, r := range read[h] {
			if m.place.Same(r.place) {
				return usagef("%s: %s would replace %s %s: choose another name", m.path, m.role, r.role, r.path)
			}
		}
		for _, o := range made[h] {
			if o.role != m.role && m.place.Same(o.place) {
				return usagef("%s would be both %s and %s: choose another name for one of them", m.path, o.role, m.role)
			}
		}
		made[h] = append(made[h], m)
	}
	return nil
}

// keepFiles refuses orders whose outputs would replace their inputs or each other, by
// whatever name or link: -y must not cost the only copy of a photo.
func (o *order) keepFiles(ts []target) error {
	var all fileUses
	for _, t := range ts {
		all.reads(t.place(), "the photo")
		if !o.skipExisting || !exists(t.out) { // what exists is not replaced then
			all.makes(t.out, "the picture (-o)")
		}
	}
	all.makes(o.times.path, "the timeline (--profile)")
	all.makes(o.pageFile, "the page (--report)")
	all.makes(o.job.PlanDrawing, "the drawing (--plan-svg)")
	all.reads(o.job.Reference, "the reference")
	all.reads(o.from, "the list (--from)")
	all.reads(o.dcp, "the camera profile")
	all.readsModel(&o.set)
	all.reads(o.deviceProfile, "the device profile")
	return all.check()
}

// readsModel notes the weights; the built-in ones are no files.
func (all *fileUses) readsModel(set *pipeline.Settings) {
	if filepath.Ext(set.Model) != "" {
		all.reads(set.Model, "the weights")
	}
}
