package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"

	"enhance/clrt"
	"enhance/internal/atomicfile"
	"enhance/internal/bytesize"
	"enhance/internal/devices"
	"enhance/internal/imgio"
	"enhance/internal/profile"
	"enhance/memplan"
	"enhance/model"
	"enhance/raw"
)

// Class is what kind of thing went wrong, for exit statuses and the like.
type Class uint8

// The classes of errors.
const (
	ClassNone        Class = iota // no error
	ClassOther                    // none of the below: a defect of the program
	ClassOption                   // an option is missing, wrong or contradicts the photo
	ClassInput                    // the photo, reference or weights are damaged or of an unsupported kind
	ClassIO                       // a file cannot be read or written, or an answer did not come in time
	ClassDevice                   // no such device, or it failed
	ClassBudget                   // the memory budget or the device's memory is too small
	ClassExists                   // the output exists
	ClassResult                   // the result is not finite
	ClassQuality                  // the result is too far from the reference
	ClassInterrupted              // the context was cancelled
)

// Classify tells what kind of thing err is.
func Classify(err error) Class {
	as := func(target any) bool { return errors.As(err, target) }
	switch {
	case err == nil:
		return ClassNone
	case errors.Is(err, context.Canceled):
		return ClassInterrupted
	case as(new(*NonFiniteError)):
		return ClassResult
	case as(new(*QualityError)):
		return ClassQuality
	case errors.Is(err, atomicfile.ErrExists):
		return ClassExists
	case errors.Is(err, atomicfile.ErrKept):
		return ClassOption
	case as(new(*raw.OptionError)), as(new(*model.SpecError)), as(new(*profile.UnknownError)), as(new(*imgio.SizeError)):
		return ClassOption
	case as(new(*raw.FormatError)), as(new(*raw.UnsupportedError)), as(new(*model.WeightsError)), as(new(*profile.FormatError)),
		errors.Is(err, imgio.ErrTooLarge), errors.Is(err, imgio.ErrFormat), errors.Is(err, imgio.ErrCorrupt),
		errors.Is(err, imgio.ErrUnsupported), errors.Is(err, imgio.ErrHeader):
		return ClassInput
	case as(new(*memplan.BudgetError)), as(new(*memplan.AllocError)), as(new(*MemoryError)), as(new(*HostMemoryError)):
		return ClassBudget
	case as(new(*devices.Error)), errors.Is(err, clrt.ErrNoOpenCL), as(new(*clrt.Error)), as(new(*clrt.BuildError)), as(new(*clrt.AnswerError)):
		return ClassDevice
	case as(new(*atomicfile.Error)), as(new(*fs.PathError)), as(new(syscall.Errno)), errors.Is(err, fs.ErrNotExist),
		errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.ErrShortWrite), // a file that changed while it was read
		errors.Is(err, context.DeadlineExceeded): // nobody interrupted anything: time ran out
		return ClassIO
	}
	return ClassOther
}

// FileError is a failure to read or understand a file that was given: a photo, a
// reference or weights.
type FileError struct {
	Path string
	Err  error
}

func (e *FileError) Error() string { return e.Path + ": " + plain(e.Err, e.Path) }
func (e *FileError) Unwrap() error { return e.Err }

// plain is an error's text without the path that will stand before it.
func plain(err error, path string) string {
	var pe *fs.PathError
	if errors.As(err, &pe) && pe.Path == path {
		return fmt.Sprintf("cannot %s: %v", pe.Op, pe.Err)
	}
	return strings.TrimPrefix(strings.TrimPrefix(err.Error(), "read picture "), path+": ")
}

// PictureError is the error of reading a picture that was given, where reading it ended with err. It refuses RAW photos
// even if err is nil: many begin as a TIFF picture, which is their preview.
func PictureError(path string, err error) error {
	if Classify(err) != ClassIO && raw.Recognise(path, raw.Options{}) {
		err = &raw.UnsupportedError{Feature: "a RAW photo where a picture is wanted", Advice: "develop it first: enhance PHOTO -o PICTURE"}
	}
	if err == nil {
		return nil
	}
	return &FileError{Path: path, Err: err}
}

// MemoryError says that the device could not give what the plan needs although
// the budget allows it.
type MemoryError struct {
	Need    int64 // bytes of the plan
	Minimum int64 // of the plan that needs the least; 0 if unknown
	Err     error
}

func (e *MemoryError) Error() string {
	s := fmt.Sprintf("the device has no room for the %s planned", bytesize.Text(e.Need))
	if e.Minimum > 0 && e.Minimum < e.Need {
		s += fmt.Sprintf(": give a smaller budget; the smallest that works is --mem %d", e.Minimum)
	}
	return s + " (" + e.Err.Error() + ")"
}

func (e *MemoryError) Unwrap() error { return e.Err }
