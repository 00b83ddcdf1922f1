package main

import (
	"errors"
	"fmt"
	"strings"

	"enhance/atomicfile"
	"enhance/pipeline"
	"enhance/raw"
)

// Exit statuses. help.go prints them; scripts rely on them.
const (
	exitOK          = 0
	exitFailed      = 1 // one of several photos failed, or the result is not finite
	exitUsage       = 2
	exitInput       = 3 // unsupported or damaged photo, reference, weights or device profile
	exitIO          = 4
	exitDevice      = 5
	exitBudget      = 6
	exitExists      = 7
	exitQuality     = 8
	exitInterrupted = 130
)

var exitOf = map[pipeline.Class]int{
	pipeline.ClassNone:        exitOK,
	pipeline.ClassOther:       exitFailed,
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
	return exitOf[pipeline.Classify(err)]
}

// message is what is said about err: one line, with the photo first if the error
// does not name it, and with what to do on the command line.
func message(err error, photo string) string {
	var (
		budget *pipeline.BudgetError
		host   *pipeline.HostMemoryError
		file   *atomicfile.Error
		option *raw.OptionError
		usage  *usageError
		at     *pipeline.FileError
	)
	if status(err) == exitInterrupted {
		return "enhance: interrupted"
	}
	text := err.Error()
	named := errors.As(err, &at) || photo == ""
	switch {
	case errors.As(err, &budget) && budget.DeviceMem > 0: // no --mem helps
		text = budget.Error()
	case errors.As(err, &budget):
		text = fmt.Sprintf("%s: the smallest that works is --mem %d (%s)", budget.Problem(), budget.Minimum, pipeline.Bytes(budget.Minimum))
		if budget.Maps != "" {
			text += ", " + budget.Maps
		}
		if less := budget.Remedies(); less != "" {
			text += "; less would do with " + less
		}
	case errors.As(err, &host) && host.Available > 0:
		text += "; --host-mem 0 tries all the same"
	case errors.As(err, &host):
		text += fmt.Sprintf("; try --host-mem %dM", host.Enough()>>20)
	case errors.Is(err, atomicfile.ErrExists) && errors.As(err, &file):
		text, named = file.Path+": exists already: choose another name, or give -y to replace it", true
	case errors.As(err, &file):
		text = fmt.Sprintf("cannot %s %s: %v", file.Op, file.Path, file.Err)
		if file.Hint != "" {
			text += ": " + file.Hint
		}
		named = true
	case errors.As(err, &usage):
		text, named = usage.problem, true
	case errors.As(err, &option):
		text = option.Error()
	}
	if !named {
		text = photo + ": " + text
	}
	return "enhance: " + oneLine(text)
}

// oneLine joins the lines of a compiler's log or of joined errors.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}

// fail prints the message for err and returns its status.
func (e *env) fail(err error, photo string) int {
	fmt.Fprintln(e.stderr, message(err, photo))
	return status(err)
}
