package farm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// formatVersion is that of orders, tasks and receipts.
const formatVersion = 1

// Order is what the photos of one submission have in common. It holds values of flags and
// no command: a worker parses them as its own command line's and takes no others than
// those that decide how a picture looks.
type Order struct {
	Version   int       `json:"version"`
	Settings  []Setting `json:"settings,omitempty"` // sorted by name, each once
	Extension string    `json:"extension"`          // of pictures, such as .png
	// Replace lets pictures replace files of their names that the farm did not make.
	Replace bool `json:"replace,omitempty"`
}

// Setting is the value of a flag, or the file that it names.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
	File  *File  `json:"file,omitempty"`
}

// File is a file that a setting names, such as weights. Its bytes travel through the farm
// by their hash, so that it matters to no worker where the submitter keeps it.
type File struct {
	SHA256    string `json:"sha256"`
	Bytes     int64  `json:"bytes"`
	Extension string `json:"extension,omitempty"`
	// Beside is the file of its name and ".json" that describes it, nil if there is none.
	Beside *File `json:"beside,omitempty"`
}

func (f *File) check() error {
	switch {
	case !IsHash(f.SHA256) || f.Bytes < 0:
		return fmt.Errorf("has no SHA-256 or no size")
	case f.Extension != "" && checkExtension(f.Extension, maxExtension) != nil:
		return fmt.Errorf("has the extension %q", f.Extension)
	case f.Beside != nil && f.Beside.Beside != nil:
		return fmt.Errorf("has a description that has one")
	case f.Beside != nil:
		return f.Beside.check()
	}
	return nil
}

// NewOrder makes an order of settings in any order.
func NewOrder(settings []Setting, extension string, replace bool) (*Order, error) {
	o := &Order{Version: formatVersion, Settings: slices.Clone(settings), Extension: extension, Replace: replace}
	slices.SortFunc(o.Settings, func(a, b Setting) int { return cmp.Compare(a.Name, b.Name) })
	return o, o.check()
}

// ParseOrder reads what Encode wrote.
func ParseOrder(data []byte) (*Order, error) {
	var o Order
	if err := parse("order", data, &o); err != nil {
		return nil, err
	}
	return &o, o.check()
}

func (o *Order) check() error {
	bad := func(format string, args ...any) error { return &FormatError{"order", fmt.Sprintf(format, args...)} }
	if o.Version != formatVersion {
		return bad("its version is %d, and this program reads %d", o.Version, formatVersion)
	}
	if err := checkExtension(o.Extension, maxPictureExtension); err != nil {
		return bad("%v", err)
	}
	last := ""
	for _, s := range o.Settings {
		switch {
		case s.Name <= last || strings.Trim(s.Name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || s.Name[0] == '-':
			return bad("the setting %q is no flag's name, or out of order", s.Name)
		case len(s.Value) > maxName || strings.ContainsRune(s.Value, 0):
			return bad("the value of %s is no value of a flag", s.Name)
		case s.File != nil && s.Value != "":
			return bad("%s has a value and a file", s.Name)
		case s.File != nil:
			if err := s.File.check(); err != nil {
				return bad("the file of %s %v", s.Name, err)
			}
		}
		last = s.Name
	}
	return nil
}

// Encode is the order as JSON; equal orders have equal bytes.
func (o *Order) Encode() []byte { return encode(o) }

// ID names the order by its contents.
func (o *Order) ID() string { return Hash("order", string(o.Encode()))[:idLength] }

// Look is what of the order decides a picture's bytes. The model is among it by name; what
// the name stands for is the worker's, and part of the key.
func (o *Order) Look() string {
	look := *o
	look.Replace = false
	return string(look.Encode())
}

// LookID names what of the order decides a picture's bytes.
func (o *Order) LookID() string { return Hash("look", o.Look())[:idLength] }

// idLength is that of IDs of orders and tasks: 128 bits in hexadecimal digits.
const idLength = 32

// IsID reports whether text may be the ID of an order or a task.
func IsID(text string) bool {
	return len(text) == idLength && strings.Trim(text, "0123456789abcdef") == ""
}

// Task is one photo of an order.
type Task struct {
	Version int    `json:"version"`
	Order   string `json:"order"`  // the order's ID
	Photo   string `json:"photo"`  // below the root of photos, with slashes
	Output  string `json:"output"` // below the root of results, with slashes
	// Bytes and Modified (nanoseconds since 1970, by the clock of the photo's file system) are
	// the photo's file when it was submitted. They go into the record of the name, by which
	// a later submission skips the photo without reading it.
	Bytes    int64 `json:"bytes,omitempty"`
	Modified int64 `json:"modified,omitempty"`
	// Content is the photo's SHA-256 where it is an object of a store; "" where it is a file.
	Content string `json:"content,omitempty"`
}

// ParseTask reads what Encode wrote.
func ParseTask(data []byte) (*Task, error) {
	var t Task
	if err := parse("task", data, &t); err != nil {
		return nil, err
	}
	return &t, t.check()
}

func (t *Task) check() error {
	bad := func(format string, args ...any) error { return &FormatError{"task", fmt.Sprintf(format, args...)} }
	switch {
	case t.Version != formatVersion:
		return bad("its version is %d, and this program reads %d", t.Version, formatVersion)
	case !IsID(t.Order):
		return bad("it names no order")
	case t.Bytes < 0:
		return bad("the photo has %d bytes", t.Bytes)
	case t.Content != "" && !IsHash(t.Content):
		return bad("the content's SHA-256 is %q", t.Content)
	}
	for _, name := range []string{t.Photo, t.Output} {
		if err := CheckName(name); err != nil {
			return bad("%v", err)
		}
	}
	return nil
}

// NewTask makes a task of an order.
func NewTask(order, photo, output string) (*Task, error) {
	t := &Task{Version: formatVersion, Order: order, Photo: photo, Output: output}
	return t, t.check()
}

// Encode is the task as JSON.
func (t *Task) Encode() []byte { return encode(t) }

// ID names the task: an order makes an output of a photo once, however often it is
// submitted.
func (t *Task) ID() string { return Hash("task", t.Order, t.Photo, t.Output)[:idLength] }
