package pipeline

import (
	"context"
	"errors"
	"io"
	"sync"

	"enhance/internal/atomicfile"
	"enhance/internal/imgio"
)

// target is where the picture goes: a file that appears only when it is whole, or
// a stream. Once the context is done it takes no more, so that long encodings
// stop. All calls are serialised because an interrupt may abort from outside.
type target struct {
	ctx  context.Context
	mu   sync.Mutex
	w    io.Writer
	seek io.Seeker        // nil for a stream
	file *atomicfile.File // nil unless the run makes the file and names it
	over bool             // aborted
}

// openTarget makes the file, which must be none of keep, or takes the stream or the open file.
func openTarget(ctx context.Context, o *Output, keep []string) (*target, error) {
	switch {
	case o.Writer != nil:
		return &target{ctx: ctx, w: o.Writer}, nil
	case o.File != nil:
		return &target{ctx: ctx, w: o.File, seek: o.File}, nil
	}
	f, err := atomicfile.Create(o.Path, atomicfile.Options{Overwrite: o.Overwrite, Keep: keep})
	if err != nil {
		return nil, err
	}
	return &target{ctx: ctx, w: f, seek: f, file: f}, nil
}

// check reports what would keep openTarget from making the file, of an output that
// names one, and writes nothing.
func (o *Output) check(keep []string) error {
	if o.Writer != nil || o.File != nil || o.Path == "" || o.DirToCome {
		return nil
	}
	return atomicfile.Check(o.Path, atomicfile.Options{Overwrite: o.Overwrite, Keep: keep})
}

func (t *target) Write(p []byte) (int, error) {
	if err := t.ctx.Err(); err != nil {
		return 0, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over { // the encoder may still be at it
		return 0, errAborted
	}
	return t.w.Write(p)
}

// Seek works for files only.
func (t *target) Seek(offset int64, whence int) (int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seek.Seek(offset, whence)
}

func (t *target) commit() error {
	if err := t.ctx.Err(); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file == nil {
		return nil
	}
	return t.file.Commit()
}

var errAborted = errors.New("pipeline: the output was given up")

// abort drops what was written and takes no more. It does nothing after commit.
func (t *target) abort() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	if t.file == nil {
		return nil
	}
	return t.file.Abort()
}

// encoder opens the encoder of the output, whose stored rows have size w×h, with all that
// stands between the rows as they are developed and it.
func (r *run) encoder(t *target, w, h int) (imgio.RowWriter, error) {
	if r.job.Output.Format == DNG {
		return r.dngEncoder(t)
	}
	return r.resized(r.seeing(r.pictureEncoder(t, w, h)))
}

// abandonEncoder ends what an encoder does beside its caller, if the output was not
// completed.
func (r *run) abandonEncoder() {
	if r.abandonOutput != nil {
		r.abandonOutput()
	}
}

// pictureEncoder opens the encoder of a finished picture, which is turned upright by the
// photo's orientation.
func (r *run) pictureEncoder(t *target, w, h int) (imgio.RowWriter, error) {
	o := &r.job.Output
	uw, uh := imgio.OrientedSize(w, h, r.meta.Orientation)
	out, err := newEncoder(t, o, r.header(uw, uh))
	if err != nil {
		return nil, err
	}
	if r.decisions.compare != nil {
		out = &tapped{out, r.decisions.compare.row}
	}
	return imgio.Oriented(out, imgio.Header{Width: w, Height: h, Bits: o.Bits}, r.meta.Orientation)
}

func newEncoder(t *target, o *Output, head imgio.Header) (imgio.RowWriter, error) {
	switch o.Format {
	case JPEG:
		return imgio.NewJPEG(t, head, o.Quality, o.Subsampling.kind())
	case TIFF:
		if t.seek == nil {
			return imgio.NewTIFF(onlyWriter{t}, head, imgio.TIFFNone) // a stream cannot seek
		}
		return imgio.NewTIFF(t, head, imgio.TIFFDeflate)
	}
	return imgio.NewPNG(onlyWriter{t}, head)
}

// onlyWriter hides Seek.
type onlyWriter struct{ io.Writer }

// tapped shows every row to see before it is written.
type tapped struct {
	imgio.RowWriter
	see func(rgb []uint16) error
}

func (t *tapped) WriteRow(rgb []uint16) error {
	if err := t.see(rgb); err != nil {
		return err
	}
	return t.RowWriter.WriteRow(rgb)
}
