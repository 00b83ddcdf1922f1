package main

import (
	"os"
	"path/filepath"
	"strings"

	"enhance/internal/atomicfile"
	"enhance/pipeline"
)

// target is a photo and the file it becomes; out is "-" for standard output.
type target struct{ in, out string }

// targets decides the output of every photo, and whether they go to a directory.
func (o *order) targets() ([]target, error) {
	if o.output == "-" {
		return []target{{o.inputs[0], "-"}}, nil
	}
	dir, ext := "", o.job.Output.Format.Extension()
	if o.output != "" {
		isDir, err := o.outIsDir()
		switch {
		case err != nil:
			return nil, err
		case isDir:
			dir = o.output
		case len(o.inputs) > 1:
			return nil, usagef("%d photos need a directory: -o %s is none; the name of a new one ends in %c", len(o.inputs), o.output, filepath.Separator)
		default:
			return []target{{o.inputs[0], o.output}}, nil
		}
	}
	var ts []target
	from := map[string]string{}
	for _, in := range o.inputs {
		name := filepath.Base(in)
		out := filepath.Join(dir, strings.TrimSuffix(name, filepath.Ext(name))+ext)
		if other, ok := from[out]; ok {
			return nil, usagef("%s and %s would both become %s: develop them in two runs", other, in, out)
		}
		from[out] = in
		ts = append(ts, target{in, out})
	}
	return ts, nil
}

// outIsDir reports whether -o names a directory, and makes it if its name says so; a
// dry run only looks whether it could.
func (o *order) outIsDir() (bool, error) {
	if !os.IsPathSeparator(o.output[len(o.output)-1]) {
		info, err := os.Stat(o.output)
		return err == nil && info.IsDir(), nil
	}
	if err := atomicfile.MakeDir(o.output, o.dryRun); err != nil {
		return true, err
	}
	_, err := os.Stat(o.output)
	o.job.Output.DirToCome = err != nil
	return true, nil
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
	out.Path = t.out
	return out
}
