package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"enhance/internal/atomicfile"
	"enhance/internal/printable"
	"enhance/pipeline"
	"enhance/raw"
)

// Exit statuses. Scripts rely on them.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInput       = 3
	exitIO          = 4
	exitDevice      = 5
	exitBudget      = 6
	exitExists      = 7
	exitQuality     = 8
	exitDefect      = 9
	exitInterrupted = 130
	exitPipe        = 141 // by the system, not by this program
)

// exitTexts are what help and the manual page say of them.
var exitTexts = []struct {
	code int
	text string
}{
	{exitOK, "success"},
	{exitFailed, "one of several photos failed, or the result is not finite"},
	{exitUsage, "the command line makes no sense"},
	{exitInput, "the photo, the weights or the device profile is damaged or unsupported"},
	{exitIO, "a file cannot be read or written"},
	{exitDevice, "there is no such device, or it failed"},
	{exitBudget, "the memory budget is too small (the message names the smallest that works), or the host has too little memory"},
	{exitExists, "the output exists"},
	{exitQuality, "the result is below --min-psnr"},
	{exitDefect, "an error of no known kind: a defect of the program, please report it"},
	{exitInterrupted, "interrupted"},
	{exitPipe, "the reader of standard output went away (SIGPIPE)"},
}

var exitOf = map[pipeline.Class]int{
	pipeline.ClassNone:        exitOK,
	pipeline.ClassOther:       exitDefect,
	pipeline.ClassOption:      exitUsage,
	pipeline.ClassInput:       exitInput,
	pipeline.ClassIO:          exitIO,
	pipeline.ClassDevice:      exitDevice,
	pipeline.ClassBudget:      exitBudget,
	pipeline.ClassExists:      exitExists,
	pipeline.ClassResult:      exitFailed,
	pipeline.ClassQuality:     exitQuality,
	pipeline.ClassInterrupted: exitInterrupted,
}

// usageError is a command line that makes no sense.
type usageError struct{ problem string }

func (e *usageError) Error() string { return e.problem }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// status is the exit status for err.
func status(err error) int {
	var u *usageError
	if errors.As(err, &u) {
		return exitUsage
	}
	var served *servedError
	if errors.As(err, &served) {
		return served.status
	}
	if errors.As(err, new(*addressError)) {
		return exitBudget
	}
	if code := farmStatus(err); code != exitOK {
		return code
	}
	return exitOf[pipeline.Classify(err)]
}

// existsAdvice is what to do about an output that exists.
const existsAdvice = ": choose another name, or give -y to replace it"

// folderError is the error of a folder on the command line that os.Stat gave.
func folderError(path string, err error) error {
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		err = &fs.PathError{Op: "open", Path: path, Err: at.Err}
	}
	return &pipeline.FileError{Path: path, Err: err}
}

// message is what is said about err: one line, with the photo first if the error
// does not name it, and with what to do on the command line.
func message(err error, photo string) string {
	if status(err) == exitInterrupted {
		return "enhance: interrupted"
	}
	var about *photoError
	if errors.As(err, &about) && photo == "" {
		photo = about.photo
	}
	text, named := textOf(err)
	if !named && photo != "" {
		text = photo + ": " + text
	}
	names := []string{photo} // a line break in a name is no end of a line
	if at := (*pipeline.FileError)(nil); errors.As(err, &at) {
		names = append(names, at.Path)
	}
	if file := (*atomicfile.Error)(nil); errors.As(err, &file) {
		names = append(names, file.Path)
	}
	for _, name := range names {
		if name != "" {
			text = strings.ReplaceAll(text, name, printable.Text(name))
		}
	}
	return "enhance: " + printable.Line(text)
}

// textOf is the text of an error, and whether it needs no photo's name before it.
func textOf(err error) (text string, named bool) {
	var (
		file   *atomicfile.Error
		option *raw.OptionError
		usage  *usageError
		at     *pipeline.FileError
	)
	named = errors.As(err, &at)
	switch {
	case errors.As(err, new(*servedError)):
		return err.Error(), true
	case errors.Is(err, atomicfile.ErrExists) && errors.As(err, &file):
		return file.Path + ": exists already" + existsAdvice, true
	case errors.As(err, &file):
		return file.Error(), true
	case errors.As(err, &usage):
		return usage.problem, true
	case errors.As(err, &option) && named:
		return at.Path + ": " + option.Error(), true
	case errors.As(err, &option): // some are about all photos
		return option.Error(), slices.Contains([]string{"output", "format", "bits", "quality", "precision"}, option.Option)
	}
	return err.Error(), named
}

// photoError names the photo that an error is about.
type photoError struct {
	photo string
	err   error
}

func (e *photoError) Error() string { return e.err.Error() }
func (e *photoError) Unwrap() error { return e.err }

// ofPhoto says that an error is about a photo, "" for none.
func ofPhoto(photo string, err error) error {
	if err == nil || photo == "" {
		return err
	}
	return &photoError{photo, err}
}

// ended is the exit status of a command that has printed what went wrong.
type ended int

func (e ended) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// exit prints the message for err, if there is one, and returns the exit status.
func (e *env) exit(err error) int {
	var done ended
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &done):
		return int(done)
	}
	fmt.Fprintln(e.stderr, message(err, ""))
	return status(err)
}

// outcome is what became of a command. It ends the object that --json prints.
type outcome struct {
	Status int    `json:"status"`
	Error  string `json:"error,omitempty"`
}

// tell prints an error, if there is one, and gives what a report says of it.
func (c *call) tell(err error) outcome {
	if err == nil {
		return outcome{}
	}
	text := message(err, "")
	fmt.Fprintln(c.stderr, text)
	return outcome{status(err), strings.TrimPrefix(text, "enhance: ")}
}

// finish writes a report, if one is asked for, and ends with its status.
func (c *call) finish(report any, code int) error {
	if c.json {
		if err := c.writeJSON(report); err != nil {
			return err
		}
	}
	if code != exitOK {
		return ended(code)
	}
	return nil
}

// report prints a command's result: one JSON object with --json, or text.
func (c *call) report(v any, text func(io.Writer) error) error {
	if !c.json {
		return text(c.text())
	}
	return c.writeJSON(v)
}

// writeJSON prints a value on standard output.
func (e *env) writeJSON(v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = e.stdout.Write(append(printable.JSON(text), '\n'))
	return err
}
