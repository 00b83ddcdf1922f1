package atomicfile

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Place is what a name leads to, for telling whether two names are those of one file.
type Place struct {
	path string
	info fs.FileInfo // nil: no file is there
	dir  fs.FileInfo // where it would be made; nil: no such directory
}

// Locate looks where a name leads to now.
func Locate(path string) Place {
	p := Place{path: path}
	if info, err := os.Stat(path); err == nil {
		p.info = info
	}
	if info, err := os.Stat(dirOf(path)); err == nil {
		p.dir = info
	}
	return p
}

// Exists reports whether a file is there.
func (p Place) Exists() bool { return p.info != nil }

// Same reports whether both lead to one file, by whatever spelling or link; a file
// that is not there yet is known by its directory and its name there.
func (p Place) Same(q Place) bool {
	switch {
	case p.info != nil && q.info != nil:
		return os.SameFile(p.info, q.info)
	case p.info != nil || q.info != nil:
		return false
	case p.dir != nil && q.dir != nil:
		return os.SameFile(p.dir, q.dir) && filepath.Base(p.path) == filepath.Base(q.path)
	}
	return filepath.Clean(p.path) == filepath.Clean(q.path)
}

// PlaceHash is equal for places that are the same, so that many can be looked up in a map.
type PlaceHash struct {
	name       string // of a file that is not there
	size, time int64  // of one that is
}

// Hash is the place's.
func (p Place) Hash() PlaceHash {
	if p.info != nil {
		return PlaceHash{size: p.info.Size(), time: p.info.ModTime().UnixNano()}
	}
	return PlaceHash{name: filepath.Base(p.path)}
}
