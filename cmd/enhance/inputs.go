package main

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"enhance/raw"
)

// input is a photo of an order.
type input struct {
	path string // to open, and for messages; "-" is standard input
	// name is the photo's under the output directory, with its own extension: its last
	// element, or its path under the folder that was searched, or under all of them.
	name  string
	top   string // of name: the path of the folder that was searched under all of them
	found bool   // in a folder
	jpeg  bool   // found beside photos: it is none, but may belong to one
	err   error  // why it cannot be opened; nil: try
}

// inputs collects the photos of an order, each once, in the order of the command line.
// Folders are searched in the order of names.
type inputs struct {
	*order
	photos []input
	known  map[string]bool // paths
	twice  int             // photos that were named again
	others int             // files in folders that are no photos
}

// collectInputs finds what the command line and the list of --from name, and prints what
// is left out.
func (o *order) collectInputs() ([]input, error) {
	names := append(slices.Clone(o.options.inputs), o.args...)
	if slices.Contains(names, "-") {
		return o.standardInput(names)
	}
	list, err := o.listed()
	if err != nil {
		return nil, err
	}
	all := &inputs{order: o, known: map[string]bool{}}
	if err := all.take(append(names, list...)); err != nil {
		return nil, err
	}
	pairs := all.dropPairs()
	if len(all.photos) == 0 {
		return nil, all.none(len(names) > 0)
	}
	o.say(pairs, "JPEG or HEIF file is left out", "JPEG or HEIF files are left out", "the RAW photo of the same name is developed")
	o.say(all.twice, "photo is named more than once", "photos are named more than once", "each is developed once")
	o.say(all.others, "file is passed over", "files are passed over", "not RAW photos")
	return all.photos, nil
}

// say prints a note about n things, unless there are none or -q.
func (o *order) say(n int, one, several, more string) {
	if n == 0 {
		return
	}
	if n > 1 {
		one = several
	}
	o.note("%d %s: %s", n, one, more)
}

// none is the error of an order without photos.
func (all *inputs) none(named bool) error {
	switch {
	case all.from != "" && !named && all.others == 0:
		return usagef("--from %s names no photo", all.from)
	case all.recursive && (named || all.from != ""):
		return usagef("no RAW photo was found: %d files of other kinds are in the folders", all.others)
	}
	return usagef("no photo given: try enhance photo.dng -o photo.png, or enhance --help")
}

// take takes names as they were given.
func (all *inputs) take(names []string) error {
	folders := map[string]string{}
	for _, name := range names {
		if name == "" {
			return usagef("a photo's name is empty")
		}
		if all.recursive && isDir(name) {
			folders[name] = ""
		}
	}
	if err := relate(folders); err != nil {
		return err
	}
	for _, name := range names {
		if place, ok := folders[name]; ok {
			before := len(all.photos)
			all.search(name, place)
			for i := range all.photos[before:] {
				all.photos[before+i].top = place
			}
			continue
		}
		all.add(input{path: name, name: filepath.Base(name)})
	}
	return nil
}

// relate gives each folder its path under the deepest folder that holds all of them, or is
// one of them: photos of the same name in two folders become two pictures.
func relate(folders map[string]string) error {
	var common []string
	for name := range folders {
		path, err := filepath.Abs(name)
		if err != nil {
			return err
		}
		folders[name] = path
		parts := strings.Split(path, string(filepath.Separator))
		if common == nil {
			common = parts
		}
		n := 0
		for n < min(len(parts), len(common)) && parts[n] == common[n] {
			n++
		}
		common = common[:n]
	}
	top := strings.Join(common, string(filepath.Separator))
	for name, path := range folders {
		folders[name] = strings.TrimLeft(strings.TrimPrefix(path, top), string(filepath.Separator))
	}
	return nil
}

// add takes a photo unless it is there already.
func (all *inputs) add(in input) {
	key := in.path
	for strings.HasPrefix(key, "./") {
		key = strings.TrimLeft(key[2:], "/")
	}
	if all.known[key] {
		all.twice++
		return
	}
	all.known[key] = true
	all.photos = append(all.photos, in)
}

// search takes the photos in a folder and in those below it. under is where their
// pictures go below the output directory. Hidden entries are left alone. A link to a file is
// followed, a link to a folder is not: it may lead back.
func (all *inputs) search(dir, under string) { all.folder(dir, under, all.search) }

// folder takes the photos in a folder, and calls descend for those in it.
func (all *inputs) folder(dir, under string, descend func(dir, under string)) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		all.add(input{path: dir, name: cmp.Or(under, filepath.Base(dir)), found: true, err: err})
	}
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, ".") {
			continue
		}
		path, below := dir+"/"+name, filepath.Join(under, name)
		if os.IsPathSeparator(dir[len(dir)-1]) {
			path = dir + name
		}
		if e.IsDir() {
			descend(path, below)
			continue
		}
		in := input{path: path, name: below, found: true, jpeg: isJPEG(name)}
		info, err := os.Stat(path)
		switch {
		case err != nil && raw.NamedRaw(name): // a link that leads nowhere: opening it says so
			all.add(in)
		case err != nil || !info.Mode().IsRegular():
		case in.jpeg || raw.Recognise(path, all.job.Raw):
			all.add(in)
		default:
			all.others++
		}
	}
}

// isJPEG reports whether a name is that of a picture that cameras store beside a RAW
// photo.
func isJPEG(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".jpg", ".jpeg", ".jpe", ".heic", ".heif", ".hif":
		return true
	}
	return false
}

// dropPairs leaves out pictures beside a RAW photo whose name differs in the extension
// only, and counts them. Other pictures stay if they were named themselves.
func (all *inputs) dropPairs() (pairs int) {
	stem := func(in input) string { return strings.ToLower(strings.TrimSuffix(in.path, filepath.Ext(in.path))) }
	raws := map[string]bool{}
	for _, in := range all.photos {
		if !isJPEG(in.path) {
			raws[stem(in)] = true
		}
	}
	all.photos = slices.DeleteFunc(all.photos, func(in input) bool {
		switch {
		case isJPEG(in.path) && raws[stem(in)]:
			pairs++
			return true
		case in.jpeg:
			all.others++
			return true
		}
		return false
	})
	return pairs
}

// standardInput is the order of the one photo that comes from standard input.
func (o *order) standardInput(names []string) ([]input, error) {
	switch {
	case len(names) > 1 || o.from != "":
		return nil, usagef("- is one photo from standard input: develop others in another run")
	case o.batch():
		return nil, usagef("- is one photo from standard input: leave out -r and --shard")
	case o.output == "":
		return nil, usagef("a photo from standard input needs -o: a picture, or - for standard output")
	}
	return []input{{path: "-", name: "-"}}, nil
}

// batch reports whether the order is for several photos, however many there are: reports
// and exit statuses are those of several.
func (o *order) batch() bool { return o.recursive || o.from != "" || o.shard != "" }

// shown is how messages name a photo.
func (in *input) shown() string {
	if in.path == "-" {
		return stdinName
	}
	return in.path
}

// place is where a photo is found among the files.
func (in *input) place() string {
	if in.path == "-" {
		return "/dev/stdin" // a file may have been redirected to it
	}
	return in.path
}
