// Package profile describes devices that are not here: their memory and limits
// as data, so that a plan for a phone can be studied on any machine, and its
// limits enforced on whatever device there is.
//
// [Load] finds a profile by name ([Names] lists those that come with the program,
// data/*.json) or reads one from a file. [Profile.Info] is the device itself, for
// plans that will not be run; [Profile.Limit] is a device that is here, as far as
// the profile's limits allow.
//
// The figures are what public documents say; each file names them under
// "sources", and under "estimated" those of its fields that no document gave:
// what a driver reports depends on its version and on the machine's memory.
package profile

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"reflect"
	"slices"
	"strings"

	"enhance/clrt"
	"enhance/internal/regularfile"
	"enhance/internal/suggest"
)

//go:embed data/*.json
var data embed.FS

// Profile is what plans depend on in a device. Sizes are bytes.
type Profile struct {
	Name          string          `json:"name"`
	Device        string          `json:"device,omitempty"` // in words
	Type          clrt.DeviceType `json:"type"`
	GlobalMem     int64           `json:"global_mem"`
	MaxAlloc      int64           `json:"max_alloc"`
	LocalMem      int64           `json:"local_mem"`
	LocalIsGlobal bool            `json:"local_is_global,omitempty"`
	MaxWorkGroup  int             `json:"max_work_group"` // work-items
	ComputeUnits  int             `json:"compute_units"`
	BaseAlign     int             `json:"base_align"`
	Unified       bool            `json:"unified"` // host and device share their memory
	// HostMem is the host's memory of a device that shares it and lends only GlobalMem of it:
	// what waits may wait in the rest. 0: the device lends all there is.
	HostMem           int64 `json:"host_mem,omitempty"`
	NativeVectorFloat int   `json:"native_vector_float"`
	ClockMHz          int   `json:"clock_mhz"`
	// Matrix says that the device has matrix units that enhance can use.
	Matrix bool `json:"matrix,omitempty"`
	// Warpgroups says that those are Hopper's, which 128 work-items use together.
	Warpgroups bool `json:"warpgroups,omitempty"`

	Sources   []string `json:"sources,omitempty"`
	Estimated []string `json:"estimated,omitempty"` // fields above that no source gives
}

// Names lists the profiles that come with the program.
func Names() []string {
	files, err := data.ReadDir("data")
	if err != nil {
		panic(err) // embedded
	}
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".json"))
	}
	return names
}

// UnknownError says that there is no profile of a name.
type UnknownError struct{ Name string }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("device profile %q is not known: there are %s, or give the path of a .json file%s", e.Name,
		strings.Join(Names(), ", "), suggest.Question(e.Name, Names()))
}

// FormatError says what is wrong with a profile's file, and where. Line and
// Column count from 1; 0 if the problem is the file's as a whole.
type FormatError struct {
	Path         string
	Line, Column int
	Problem      string
}

func (e *FormatError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("device profile %s: %s", e.Path, e.Problem)
	}
	return fmt.Sprintf("device profile %s, line %d, column %d: %s", e.Path, e.Line, e.Column, e.Problem)
}

// maxFile bounds a profile's file.
const maxFile = 1 << 20

// Load returns the profile of a name, or reads the file if spec ends in .json or
// has a directory in it. The error is an *UnknownError, a *FormatError or that of
// reading the file.
func Load(spec string) (*Profile, error) {
	if !strings.HasSuffix(spec, ".json") && !strings.ContainsAny(spec, `/\`) {
		if !slices.Contains(Names(), spec) {
			return nil, &UnknownError{spec}
		}
		text, err := data.ReadFile(path.Join("data", spec+".json"))
		if err != nil {
			return nil, err
		}
		return Parse(text, spec)
	}
	text, err := regularfile.Read(spec, maxFile)
	if errors.Is(err, regularfile.ErrTooLarge) {
		return nil, &FormatError{Path: spec, Problem: fmt.Sprintf("more than %d bytes cannot be a profile", maxFile)}
	}
	if err != nil {
		return nil, err
	}
	return Parse(text, spec)
}

// Parse reads a profile's JSON; path names it in errors, which are *FormatError.
// Unknown fields are refused: a misspelt limit must not pass for none.
func Parse(text []byte, path string) (*Profile, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	p := &Profile{}
	if err := d.Decode(p); err != nil {
		return nil, place(text, path, d.InputOffset(), err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, place(text, path, d.InputOffset(), errors.New("something follows the object"))
	}
	if problem := p.problem(); problem != "" {
		return nil, &FormatError{Path: path, Problem: problem}
	}
	return p, nil
}

// place makes the error at a byte of the text.
func place(text []byte, path string, at int64, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		at = syntax.Offset
	case errors.As(err, &kind):
		at = kind.Offset
	}
	problem := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "json: "), "clrt: ")
	if kind != nil { // the decoder's own words are about Go's types
		problem = fmt.Sprintf("%s: want %s, not %s", orObject(kind.Field), wanted(kind.Type), found(kind.Value))
	}
	switch {
	case len(bytes.TrimSpace(text)) == 0:
		return &FormatError{Path: path, Problem: "the file is empty"}
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		at, problem = int64(len(text)), "the object is not complete"
	case syntax != nil:
		problem = "this is not JSON: " + problem
	}
	if i := strings.IndexByte(problem, '"'); i >= 0 && syntax == nil { // names the word that is wrong
		if j := bytes.Index(text, []byte(problem[i:])); j >= 0 {
			at = int64(j)
		}
	}
	if strings.HasPrefix(problem, "unknown device type") {
		problem += ": " + wantType
	}
	before := text[:min(max(at, 0), int64(len(text)))]
	line := bytes.Count(before, []byte("\n")) + 1
	return &FormatError{Path: path, Line: line, Column: len(before) - (bytes.LastIndexByte(before, '\n') + 1) + 1, Problem: problem}
}

const wantType = `want "CPU", "GPU" or "Accelerator"`

func orObject(field string) string {
	if field == "" {
		return "the file"
	}
	return field
}

// found names what JSON has by its decoder's word.
func found(value string) string {
	switch value {
	case "array", "object":
		return "an " + value
	case "bool":
		return "true or false"
	case "string", "number":
		return "a " + value
	}
	return value // a number: it is there itself
}

// wanted names what JSON has for a type of Go.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Slice:
		return "a list of strings"
	case reflect.Struct:
		return "an object"
	}
	return "a string"
}

// problem says what is wrong with the values, "" if nothing.
func (p *Profile) problem() string {
	const most = 1 << 50
	for _, v := range []struct {
		name        string
		value       int64
		least, most int64
	}{
		{"global_mem", p.GlobalMem, 1 << 20, most},
		{"max_alloc", p.MaxAlloc, 1 << 16, most},
		{"local_mem", p.LocalMem, 1, most},
		{"max_work_group", int64(p.MaxWorkGroup), 1, 1 << 20},
		{"compute_units", int64(p.ComputeUnits), 1, 1 << 20},
		{"base_align", int64(p.BaseAlign), 1, 1 << 20},
		{"native_vector_float", int64(p.NativeVectorFloat), 1, 16},
		{"clock_mhz", int64(p.ClockMHz), 1, 1 << 20},
	} {
		if v.value < v.least || v.value > v.most {
			return fmt.Sprintf("%s is %d: want %d to %d", v.name, v.value, v.least, v.most)
		}
	}
	switch {
	case p.Name == "":
		return "it has no name"
	case p.MaxAlloc > p.GlobalMem:
		return fmt.Sprintf("max_alloc is %d: want at most global_mem, which is %d", p.MaxAlloc, p.GlobalMem)
	case p.HostMem != 0 && !p.Unified:
		return "host_mem is for devices that share the host's memory: leave it out, or want unified true"
	case p.HostMem != 0 && (p.HostMem < p.GlobalMem || p.HostMem > most):
		return fmt.Sprintf("host_mem is %d: want global_mem, which is %d, to %d", p.HostMem, p.GlobalMem, int64(most))
	case p.Warpgroups && !p.Matrix:
		return "warpgroups are for devices with matrix units: leave it out, or want matrix true"
	case p.BaseAlign&(p.BaseAlign-1) != 0:
		return fmt.Sprintf("base_align is %d: want a power of two", p.BaseAlign)
	case p.NativeVectorFloat&(p.NativeVectorFloat-1) != 0: // OpenCL's vectors
		return fmt.Sprintf("native_vector_float is %d: want 1, 2, 4, 8 or 16", p.NativeVectorFloat)
	case p.Type != clrt.CPU && p.Type != clrt.GPU && p.Type != clrt.Accelerator:
		return "type: " + wantType
	}
	return ""
}

// Of is the profile of a device that is here, as far as it says; whether it has matrix
// units, which has to be tried out, is left open. It is nil for a device that no profile
// can describe: one of a type or with figures that [Parse] refuses.
func Of(i *clrt.DeviceInfo) *Profile {
	p := &Profile{
		Name: i.Name, Type: i.Type, GlobalMem: i.GlobalMem, MaxAlloc: min(i.MaxAlloc, i.GlobalMem), LocalMem: i.LocalMem,
		LocalIsGlobal: i.LocalIsGlobal, MaxWorkGroup: i.MaxWorkGroup, ComputeUnits: i.ComputeUnits, BaseAlign: i.BaseAlign,
		Unified: i.Unified, NativeVectorFloat: i.NativeVectorFloat, ClockMHz: i.MaxClockMHz,
	}
	if p.problem() != "" {
		return nil
	}
	return p
}

// Info is what the device would say of itself.
func (p *Profile) Info() *clrt.DeviceInfo {
	name := p.Name
	if p.Device != "" {
		name = p.Device
	}
	return &clrt.DeviceInfo{
		Platform: "profile", Name: name, Version: "profile " + p.Name, Type: p.Type,
		ComputeUnits: p.ComputeUnits, GlobalMem: p.GlobalMem, MaxAlloc: min(p.MaxAlloc, p.GlobalMem), LocalMem: p.LocalMem,
		LocalIsGlobal: p.LocalIsGlobal, BaseAlign: p.BaseAlign, Unified: p.Unified,
		MaxWorkGroup: p.MaxWorkGroup, MaxWorkItem: [3]int{p.MaxWorkGroup, p.MaxWorkGroup, p.MaxWorkGroup},
		NativeVectorFloat: p.NativeVectorFloat, MaxClockMHz: p.ClockMHz,
	}
}

// Limit is the device real with the profile's limits where they are narrower.
// Facts that kernels depend on (type, vectors, compute units) stay real's. The profile decides
// whether memory is shared: plans for real suppose the same.
func (p *Profile) Limit(real *clrt.DeviceInfo) *clrt.DeviceInfo {
	i := *real
	i.GlobalMem = min(real.GlobalMem, p.GlobalMem)
	i.MaxAlloc = min(real.MaxAlloc, p.MaxAlloc, i.GlobalMem)
	i.LocalMem = min(real.LocalMem, p.LocalMem)
	i.MaxWorkGroup = min(real.MaxWorkGroup, p.MaxWorkGroup)
	i.BaseAlign = max(real.BaseAlign, p.BaseAlign)
	i.Unified = p.Unified
	return &i
}
