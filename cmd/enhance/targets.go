package main

import (
	"os"
	"path/filepath"
	"strings"

	"enhance/internal/atomicfile"
	"enhance/pipeline"
)

// target is a photo and the file it becomes; out is "-" for standard output.
type target struct {
	input
	out       string
	dirToCome bool // out's directory is not there: a dry run makes none
}

// targets decides the output of every photo and makes the directories for them; a dry
// run only looks whether it could.
func (o *order) targets() ([]target, error) {
	several := len(o.inputs) > 1 || o.batch()
	if o.output == "-" || o.output != "" && !several {
		isDir, err := o.outIsDir()
		if err != nil {
			return nil, err
		}
		in := o.inputs[0]
		switch {
		case !isDir:
			return []target{{input: in, out: o.output}}, o.checkExtension()
		case in.path == "-":
			return nil, usagef("-o %s is a directory: a photo from standard input has no name, so name the picture", o.output)
		}
	}
	dir := ""
	if o.output != "" {
		isDir, err := o.outIsDir()
		switch {
		case err != nil:
			return nil, err
		case !isDir:
			return nil, usagef("-o %s is no directory, and several photos need one: give -o %s%c to make it, or one that exists",
				o.output, strings.TrimSuffix(o.output, filepath.Ext(o.output)), filepath.Separator)
		}
		dir = o.output
	}
	ts, err := nameOutputs(o.inputs, dir, o.job.Output.Format.Extension())
	if err != nil {
		return nil, err
	}
	if ts, err = o.ofShard(ts); err != nil {
		return nil, err
	}
	return ts, o.makeDirs(ts, dir)
}

// checkExtension refuses a picture whose name says another format than -f does.
func (o *order) checkExtension() error {
	var named pipeline.Format
	ext := filepath.Ext(o.output)
	if ext == "" || o.format == "" || named.UnmarshalText([]byte(ext)) != nil || named == o.job.Output.Format {
		return nil
	}
	return usagef("-o %s and -f %s contradict each other: leave -f out, or name the picture otherwise", o.output, o.format)
}

// nameOutputs names pictures after photos. Photos whose names differ in the extension
// only keep it, all of them, so that a name depends on no order: a.dng.png, a.cr2.png.
func nameOutputs(photos []input, dir, ext string) ([]target, error) {
	stem := func(in *input) string { return strings.TrimSuffix(in.name, filepath.Ext(in.name)) }
	of := map[string]int{}
	for i := range photos {
		of[stem(&photos[i])]++
	}
	var ts []target
	from := map[string]*input{}
	for i := range photos {
		in := &photos[i]
		name := stem(in)
		if of[name] > 1 {
			name = in.name
		}
		out := filepath.Join(dir, name+ext)
		if other := from[out]; other != nil {
			return nil, usagef("%s and %s would both become %s: develop them in two runs, or give their folders with -r", other.path, in.path, out)
		}
		from[out] = in
		ts = append(ts, target{input: *in, out: out})
	}
	return ts, nil
}

// outIsDir reports whether -o names a directory, and makes it if its name says so; a
// dry run only looks whether it could.
func (o *order) outIsDir() (bool, error) {
	if !os.IsPathSeparator(o.output[len(o.output)-1]) {
		info, err := os.Stat(o.output)
		return o.output != "-" && err == nil && info.IsDir(), nil
	}
	return true, atomicfile.MakeDir(o.output, o.dryRun)
}

// makeDirs makes the directories of outputs below dir, which keep the names of the
// folders that photos were found in.
func (o *order) makeDirs(ts []target, dir string) error {
	for i := range ts {
		t := &ts[i]
		made := dir
		for _, part := range strings.Split(filepath.Dir(t.name), string(filepath.Separator)) {
			if part == "." || !isDir(filepath.Join(made, ".")) { // a dry run: the first that is missing was looked at
				break
			}
			made = filepath.Join(made, part)
			if err := atomicfile.MakeDir(made, o.dryRun); err != nil {
				return err
			}
		}
		t.dirToCome = !isDir(filepath.Dir(t.out))
	}
	return nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// exists reports whether something of that name is there.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// outputTo is the order's output with the target's path.
func (o *order) outputTo(t target) pipeline.Output {
	out := o.job.Output
	if t.out == "-" {
		out.Writer = o.stdout
		return out
	}
	out.Path, out.DirToCome = t.out, t.dirToCome
	return out
}

// failing is what is read of a photo, or a folder, that cannot be opened.
type failing struct{ err error }

func (f failing) ReadAt([]byte, int64) (int, error) { return 0, f.err }
