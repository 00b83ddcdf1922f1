package model

import (
	"bytes"
	"embed"
	"slices"
	"strings"

	"enhance/model/safetensors"
)

// weights are the embedded models, so that the program works without any file.
//
//go:embed weights/*.safetensors
var weights embed.FS

// Builtin is a model that comes with the program.
type Builtin struct {
	Name  string // what -m takes
	About string
	file  string // in weights
}

// builtins lists the embedded models. To ship another, put its file into weights
// and a line here.
var builtins = []Builtin{
	{"any", "noise-aware, for X-Trans and quad-Bayer sensors, 1.98 M parameters", "weights/any.safetensors"},
	{"best", "noise-aware, 1.25 M parameters", "weights/best.safetensors"},
	{"fast", "noise-aware, 0.2 M parameters", "weights/fast.safetensors"},
	{"max", "noise-aware, 4.0 M parameters", "weights/max.safetensors"},
	{"pynet", "noise-aware, the paper's network at a quarter of its width, 3.0 M parameters", "weights/pynet.safetensors"},
	{"pynet-s", "the starter model, 1.1 M parameters", "weights/pynet-s.safetensors"},
}

// Default is the model that is used if none is named.
const Default = "fast"

// ForAnySensor is the model for photos of sensors that are not Bayer's, if it is built in.
const ForAnySensor = "any"

// HasBuiltin reports whether a model of that name comes with the program.
func HasBuiltin(name string) bool { return slices.Contains(builtinNames(), name) }

// Builtins lists the models that come with the program.
func Builtins() []Builtin { return append([]Builtin(nil), builtins...) }

// BuiltinNames joins their names for messages: "best, fast, max or pynet-s".
func BuiltinNames() string {
	names := builtinNames()
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

func builtinNames() (names []string) {
	for _, b := range builtins {
		names = append(names, b.Name)
	}
	return names
}

// embedded marks the source of weights that are no file.
const embedded = " (embedded)"

// loadBuiltin loads the embedded model of a name; ok is false if there is none.
func loadBuiltin(name string, level int) (m *Model, ok bool, err error) {
	for _, b := range builtins {
		if b.Name != name {
			continue
		}
		data, err := weights.ReadFile(b.file)
		if err != nil {
			return nil, true, &WeightsError{b.Name + embedded, err}
		}
		f, err := safetensors.Read(bytes.NewReader(data), int64(len(data)))
		m, err = assembleFrom(b.Name+embedded, f, err, level)
		return m, true, err
	}
	return nil, false, nil
}
