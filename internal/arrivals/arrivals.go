// Package arrivals gives the files of a folder that fills, each when it is complete.
//
// [Open] a folder and call [Folder.Next] until its context ends. A file is complete when its
// size and time of change stay the same for a while: systems do not say when a copy ends. A
// file that changes after it was given is given again. Hidden files and names that programs
// give to unfinished ones are left alone.
//
// The folder is looked through when the system tells of a change, and now and then without;
// on network file systems, which tell of nothing that other machines do, only by [Options.Poll].
package arrivals

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Options say how a folder is watched.
type Options struct {
	Recursive bool // folders in it, too; links to folders are not followed
	// Poll is how often the folder is looked through; 0 relies on the system.
	Poll time.Duration
	// Settle is how long a file must stay the same; 0 is two seconds.
	Settle time.Duration
	// Ignore leaves folders out, by their path; nil leaves none out.
	Ignore func(dir string) bool
}

// File is a complete one.
type File struct {
	Path string // to open
	Name string // below the folder
}

// Folder is a watched folder. It is for one goroutine.
type Folder struct {
	dir     string
	opt     Options
	watcher *fsnotify.Watcher // nil: polled
	watched map[string]bool   // folders that the system tells of
	known   map[string]*seen  // by path
	scans   int
	ready   []File
}

// seen is what is known of a file.
type seen struct {
	size    int64
	changed time.Time
	since   time.Time // it has been like this
	given   bool
	scan    int // the last that saw it
}

const (
	defaultSettle = 2 * time.Second
	// longAgo makes a file complete at once that was there before and has not changed for so long.
	longAgo = time.Minute
	// unasked is how often a folder is looked through though nothing was told.
	unasked = 30 * time.Second
	// gather is how long further news is waited for.
	gather = 100 * time.Millisecond
)

// Open starts watching. The caller must Close the folder.
func Open(dir string, opt Options) (*Folder, error) {
	if opt.Settle == 0 {
		opt.Settle = defaultSettle
	}
	f := &Folder{dir: dir, opt: opt, watched: map[string]bool{}, known: map[string]*seen{}}
	if opt.Poll > 0 {
		_, err := os.ReadDir(dir)
		return f, err
	}
	var err error
	if f.watcher, err = fsnotify.NewWatcher(); err != nil {
		return nil, err
	}
	if err := f.watch(dir); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Close ends watching.
func (f *Folder) Close() error {
	if f.watcher == nil {
		return nil
	}
	return f.watcher.Close()
}

// watch has the system tell of changes in a folder.
func (f *Folder) watch(dir string) error {
	if f.watcher == nil || f.watched[dir] {
		return nil
	}
	if err := f.watcher.Add(dir); err != nil {
		return &fs.PathError{Op: "watch", Path: dir, Err: err}
	}
	f.watched[dir] = true
	return nil
}

// Next waits for a complete file. Those that are there at the same time come in the order of
// their names. Errors are of the folder, or the context's.
func (f *Folder) Next(ctx context.Context) (File, error) {
	for ctx.Err() == nil {
		if len(f.ready) > 0 {
			next := f.ready[0]
			f.ready = f.ready[1:]
			return next, nil
		}
		wait, err := f.look(time.Now())
		if err != nil {
			return File{}, err
		}
		if len(f.ready) == 0 {
			f.wait(ctx, wait)
		}
	}
	return File{}, ctx.Err()
}

// wait returns after so long, or soon after news.
func (f *Folder) wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	var news chan fsnotify.Event
	var trouble chan error
	if f.watcher != nil {
		news, trouble = f.watcher.Events, f.watcher.Errors
	}
	told := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			return
		case <-trouble: // news was lost: looking shows all that is new
		case e := <-news:
			if e.Op == fsnotify.Chmod {
				continue
			}
			if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
				delete(f.watched, e.Name) // a folder of that name may come again
			}
		}
		if !told {
			told = true
			t.Reset(min(gather, d))
		}
	}
}

// look goes through the folder once. It returns how long to wait for the next time.
func (f *Folder) look(now time.Time) (wait time.Duration, err error) {
	wait = unasked
	if f.opt.Poll > 0 {
		wait = f.opt.Poll
	}
	f.scans++
	if err := f.scan(f.dir, "", now, &wait); err != nil {
		return 0, err
	}
	for path, s := range f.known {
		if s.scan != f.scans {
			delete(f.known, path)
		}
	}
	return wait, nil
}

// scan goes through a folder, whose path below the first is under.
func (f *Folder) scan(dir, under string, now time.Time, wait *time.Duration) error {
	// Before its files are listed, so that none is missed. A folder below that the system will not
	// tell of is looked through now and then.
	if err := f.watch(dir); err != nil && under == "" {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if unfinished(e.Name()) {
			continue
		}
		path, name := filepath.Join(dir, e.Name()), filepath.Join(under, e.Name())
		if e.IsDir() {
			if f.opt.Recursive && (f.opt.Ignore == nil || !f.opt.Ignore(path)) {
				f.scan(path, name, now, wait) // one that is gone again, or cannot be read, keeps nobody waiting
			}
			continue
		}
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		f.note(path, name, info, now, wait)
	}
	return nil
}

// note compares a file with what is known of it.
func (f *Folder) note(path, name string, info fs.FileInfo, now time.Time, wait *time.Duration) {
	s := f.known[path]
	if s == nil || s.size != info.Size() || !s.changed.Equal(info.ModTime()) {
		s = &seen{size: info.Size(), changed: info.ModTime(), since: now}
		if f.opt.Poll == 0 && f.scans == 1 && now.Sub(s.changed) > longAgo { // clocks of other machines may be wrong
			s.since = now.Add(-f.opt.Settle)
		}
		f.known[path] = s
	}
	s.scan = f.scans
	if s.given || s.size == 0 {
		return
	}
	left := f.opt.Settle - now.Sub(s.since)
	if left > 0 {
		*wait = min(*wait, max(left, gather))
		return
	}
	s.given = true
	f.ready = append(f.ready, File{path, name})
}

// endings are of names that programs give to files which they still write.
var endings = []string{"~", ".part", ".partial", ".tmp", ".temp", ".crdownload", ".download", ".filepart", ".swp"}

// unfinished reports whether a name is that of a hidden or unfinished file.
func unfinished(name string) bool {
	lower := strings.ToLower(name)
	return strings.HasPrefix(name, ".") || slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(lower, e) })
}
