package main

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"runtime"

	"enhance/internal/farm"
	"enhance/internal/farm/queue"
	"enhance/raw"
)

// tasks are those of the photos that names name, folder by folder: no more than the
// entries of a folder are held.
func (f *submission) tasks(names []string) iter.Seq[*farm.Task] {
	return func(yield func(*farm.Task) bool) {
		var single []input
		for _, name := range names {
			under, err := f.below(name)
			switch {
			case err != nil:
				f.refuse("%v", err)
			case isDir(name):
				if !f.folder(name, under, yield) {
					return
				}
			default:
				single = append(single, input{path: name, name: under})
			}
		}
		f.give(single, yield)
	}
}

// below is a file's path below the root of photos.
func (f *submission) below(name string) (string, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	under, err := filepath.Rel(f.path, abs)
	if err != nil || !filepath.IsLocal(under) {
		return "", usagef("%s is not below %s (--photos)", name, f.path)
	}
	if under == "." {
		under = ""
	}
	return under, nil
}

// folder gives the photos in a folder and in those below it. It reports whether more are
// wanted.
func (f *submission) folder(dir, under string, yield func(*farm.Task) bool) bool {
	type folder struct{ dir, under string }
	var below []folder
	all := &inputs{order: f.order, known: map[string]bool{}}
	all.folder(dir, under, func(dir, under string) { below = append(below, folder{dir, under}) })
	all.dropPairs()
	if !f.give(all.photos, yield) {
		return false
	}
	for _, b := range below {
		if !f.folder(b.dir, b.under, yield) {
			return false
		}
	}
	return true
}

// give makes tasks of photos that share their folders.
func (f *submission) give(photos []input, yield func(*farm.Task) bool) bool {
	targets, err := nameOutputs(photos, "", f.farmOrder.Extension)
	if err != nil {
		f.refuse("%v", err)
		return true
	}
	for _, t := range targets {
		if t.err != nil {
			f.refuse("%s: %v", t.path, t.err)
			continue
		}
		task, err := farm.NewTask(f.result.Order, filepath.ToSlash(t.name), filepath.ToSlash(t.out))
		if err != nil {
			f.refuse("%s: %v: rename it", t.path, err)
			continue
		}
		if o := f.listing[t.path]; o != nil {
			task.Bytes, task.Modified = o.Bytes, o.Modified.UnixNano()
		} else if info, err := os.Stat(t.path); f.bucket == nil && err == nil {
			task.Bytes, task.Modified = info.Size(), info.ModTime().UnixNano()
		}
		f.result.Photos++
		if f.done(task) {
			f.result.Skipped++
		} else if !yield(task) {
			return false
		}
	}
	return true
}

func (f *submission) refuse(format string, args ...any) {
	f.result.Refused++
	f.note(format, args...)
}

// done reports whether the store of results has the task's picture, as far as names,
// sizes and times tell.
func (f *submission) done(t *farm.Task) bool {
	if f.store == nil || !f.skipExisting {
		return false
	}
	n, err := f.store.Named(context.Background(), t.Output)
	return err == nil && n != nil && n.Of(t, f.farmOrder)
}

// sized finds the size classes of photos, several at a time, in the order of tasks.
func (f *submission) sized(ctx context.Context, tasks iter.Seq[*farm.Task]) iter.Seq[queue.Sized] {
	return func(yield func(queue.Sized) bool) {
		type found struct {
			task  *farm.Task
			class chan int
		}
		var ahead []found
		give := func() bool {
			first := ahead[0]
			ahead = ahead[1:]
			class := <-first.class
			f.mu.Lock()
			failed := f.failed != nil
			f.mu.Unlock()
			return !failed && yield(queue.Sized{Task: first.task, Class: class})
		}
		for t := range tasks {
			next := found{t, make(chan int, 1)}
			ahead = append(ahead, next)
			go func() {
				f.send(ctx, t)
				next.class <- f.classOf(t)
			}()
			if len(ahead) > f.ahead() && !give() {
				return
			}
		}
		for len(ahead) > 0 {
			if !give() {
				return
			}
		}
	}
}

// classOf opens a photo for its sides. Any worker can say what is wrong with one that
// cannot be opened.
func (f *submission) classOf(t *farm.Task) int {
	opt := f.job.Raw
	opt.Linear = true
	if f.bucket != nil {
		return f.objectClass(t, opt)
	}
	p, err := raw.Open(filepath.Join(f.path, filepath.FromSlash(t.Photo)), opt)
	if err != nil {
		return 0
	}
	defer p.Close()
	m := p.Meta()
	return farm.SizeClass(m.Width, m.Height)
}

// ahead is how many photos are opened or sent at a time.
func (f *submission) ahead() int {
	if f.bucket != nil {
		return 32 // answers take their time
	}
	return runtime.GOMAXPROCS(0)
}

// send sends the photo itself, if workers do not share its folder. A photo that cannot be
// read is submitted anyway: a worker names it.
func (f *submission) send(ctx context.Context, t *farm.Task) {
	if f.sender == nil {
		return
	}
	sum, err := f.sender.PutPhoto(ctx, filepath.Join(f.path, filepath.FromSlash(t.Photo)))
	if t.Content = sum; err != nil && sum != "" {
		f.fail(err)
	}
}

// fail ends the submission.
func (f *submission) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed == nil {
		f.failed = err
	}
}
