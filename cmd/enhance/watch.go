package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"enhance/internal/arrivals"
	"enhance/internal/atomicfile"
	"enhance/internal/printable"
	"enhance/pipeline"
	"enhance/raw"
)

var watchCommand = &command{name: "watch", minor: true, summary: "develop the photos that come into a folder",
	usage: []string{"watch DIR -o DIR [FLAGS]"}, run: runWatch, files: true,
	about: `Develops the RAW photos in a folder, then those that come into it, each when its file has
not changed for two seconds. Photos whose picture exists are skipped; one that fails is named
and not tried again unless its file changes. Hidden files and those with names of unfinished
downloads (.part, .tmp and others) are left alone.

The first Ctrl-C or SIGTERM ends watching when the photos in hand are done, with status 0, or 1
if any photo failed; the second ends the program at once.`}

// watch is a folder that is developed.
type watch struct {
	*order
	dir    string
	folder *arrivals.Folder
	out    os.FileInfo // the directory for pictures
	lines  *photoLines

	mu      sync.Mutex // of the rest
	targets map[int]target
	counts  summary
	told    map[string]bool // notes, each once
	failed  error           // of the folder
}

// mostTold bounds the notes that are remembered.
const mostTold = 1000

func runWatch(c *call) error {
	w := &watch{order: &order{call: c}, targets: map[int]target{}, told: map[string]bool{}, lines: newPhotoLines()}
	if err := w.readOrder(); err != nil {
		return err
	}
	if err := w.open(); err != nil {
		return err
	}
	defer w.folder.Close()
	boundHeap(c.set.HostMemory)
	c.tellNotices(false)
	c.compileApart()
	makers, err := pipeline.NewBatch(c.set)
	if err != nil {
		return err
	}
	defer makers.Close()
	watching, working, stop := w.orderlyStop(makers.Abandon)
	defer stop()
	w.note("watching %s: Ctrl-C ends it when the photos in hand are done", printable.Text(w.dir))
	makers.Each(working, func(i int) (pipeline.Job, bool) { return w.next(watching, i) }, w.done)
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.quiet {
		fmt.Fprintln(w.stderr, w.counts.text(false))
	}
	switch {
	case working.Err() != nil:
		return ended(exitInterrupted)
	case w.failed != nil:
		return w.failed
	case w.counts.Failed > 0:
		return ended(exitFailed)
	}
	return nil
}

// readOrder reads the command line.
func (w *watch) readOrder() error {
	switch {
	case len(w.args) != 1:
		return w.wants(fmt.Sprintf("one folder, not %d", len(w.args)))
	case w.output == "" || w.output == "-":
		return usagef("watch: give the directory for pictures with -o DIR")
	case w.given["poll"] && !(w.poll >= 0.1 && w.poll <= 86400):
		return usagef("--poll: want 0.1 to 86400 seconds")
	}
	w.dir = w.args[0]
	if err := w.readJob(); err != nil {
		return err
	}
	if err := w.check(); err != nil {
		return err
	}
	if w.job.Output.Format == pipeline.AnyFormat {
		w.job.Output.Format = pipeline.PNG
	}
	return nil
}

// open makes the directory for pictures and starts watching.
func (w *watch) open() error {
	info, err := os.Stat(w.dir)
	if err != nil {
		return folderError(w.dir, err)
	}
	if !info.IsDir() {
		return usagef("watch: %s is no folder", w.dir)
	}
	if err == nil {
		err = atomicfile.MakeDir(w.output, false)
	}
	if err == nil {
		w.out, err = os.Stat(w.output)
	}
	switch {
	case err != nil:
		return err
	case os.SameFile(info, w.out):
		return usagef("watch: -o %s is the folder that is watched: choose another", w.output)
	}
	opt := arrivals.Options{Recursive: w.recursive, Poll: time.Duration(math.Round(w.poll * float64(time.Second))), Ignore: w.isOutput}
	w.folder, err = arrivals.Open(w.dir, opt)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EMFILE) {
		return &pipeline.FileError{Path: w.dir, Err: fmt.Errorf("the system watches no more folders: give --poll SECONDS (%w)", err)}
	}
	return err
}

// isOutput reports whether a folder is the one for pictures.
func (w *watch) isOutput(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && os.SameFile(info, w.out)
}

// next waits for photo i.
func (w *watch) next(ctx context.Context, i int) (pipeline.Job, bool) {
	for {
		file, err := w.folder.Next(ctx)
		if err != nil {
			w.mu.Lock()
			defer w.mu.Unlock()
			if ctx.Err() == nil {
				w.failed = err
			}
			return pipeline.Job{}, false
		}
		if !raw.Recognise(file.Path, w.job.Raw) {
			continue
		}
		t := target{input: input{path: file.Path, name: file.Name}, out: w.pictureOf(file)}
		if exists(t.out) {
			w.mu.Lock()
			w.counts.Skipped++
			w.mu.Unlock()
			continue
		}
		if err := w.makeFolders(t.out); err != nil {
			w.fail(t, err)
			continue
		}
		w.mu.Lock()
		w.targets[i] = t
		w.mu.Unlock()
		job := w.job
		job.Input, job.Output = t.path, w.outputTo(t)
		return job, true
	}
}

// pictureOf names a photo's picture as the main command would: of photos in a folder that
// differ in the extension only each keeps it.
func (w *watch) pictureOf(f arrivals.File) string {
	stem := strings.TrimSuffix(f.Name, filepath.Ext(f.Name))
	if entries, err := os.ReadDir(filepath.Dir(f.Path)); err == nil {
		for _, e := range entries {
			name := e.Name()
			if name == filepath.Base(f.Path) || strings.TrimSuffix(name, filepath.Ext(name)) != filepath.Base(stem) || isJPEG(name) {
				continue
			}
			if raw.Recognise(filepath.Join(filepath.Dir(f.Path), name), w.job.Raw) {
				stem = f.Name
				break
			}
		}
	}
	return filepath.Join(w.output, stem+w.job.Output.Format.Extension())
}

// makeFolders makes those of a picture below the directory for pictures.
func (w *watch) makeFolders(out string) error {
	under, err := filepath.Rel(w.output, filepath.Dir(out))
	if err != nil {
		return err
	}
	made := w.output
	for _, part := range strings.Split(under, string(filepath.Separator)) {
		if part == "." {
			break
		}
		made = filepath.Join(made, part)
		if err := atomicfile.MakeDir(made, false); err != nil {
			return err
		}
	}
	return nil
}

// fail tells of a photo that failed.
func (w *watch) fail(t target, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if status(err) == exitInterrupted {
		w.counts.Interrupted++
		return
	}
	w.counts.Failed++
	fmt.Fprintln(w.stderr, message(err, t.shown()))
}

// done tells of photo i.
func (w *watch) done(i int, rep *pipeline.Report, err error) {
	w.mu.Lock()
	t := w.targets[i]
	delete(w.targets, i)
	w.mu.Unlock()
	if err != nil {
		w.fail(t, err)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts.Done++
	if w.quiet {
		return
	}
	w.lines.done(w.stderr, rep)
	for _, text := range w.lines.order { // nobody waits for the end
		if !w.told[text] && len(w.told) < mostTold {
			w.told[text] = true
			item(w.stderr, "note", "%s: %s", printable.Text(rep.Input), text)
		}
	}
	w.lines.noted, w.lines.order = map[string][]string{}, nil
}
