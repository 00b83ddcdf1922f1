package ncnn

import (
	"bufio"
	"bytes"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"enhance/internal/printable"
)

const (
	magic     = "7767517"
	maxLayers = 1 << 16
	// maxParam bounds a .param file: networks have some kilobytes.
	maxParam = 8 << 20
	maxArray = 1 << 12 // elements of a parameter
)

// layer is one line of a .param file.
type layer struct {
	kind, name string
	in, out    []string
	params     map[int]string   // numbers as they are written, by their key
	arrays     map[int][]string // parameters that are arrays
	read       map[int]bool     // parameters that were asked for
	err        error            // of reading them
}

func (l *layer) refuse(format string, args ...any) error {
	return formatError("layer %q (%s): "+format, append([]any{printable.Text(l.name), printable.Text(l.kind)}, args...)...)
}

// parseParam reads the text of a network.
func parseParam(b []byte) ([]*layer, error) {
	if len(b) > maxParam {
		return nil, formatError("the .param file has %d bytes: want at most %d", len(b), maxParam)
	}
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(make([]byte, 1<<16), maxParam+1)
	if !lines.Scan() || strings.TrimSpace(lines.Text()) != magic {
		return nil, formatError("the .param file does not begin with %s: it is none, or one in binary form or of an old version", magic)
	}
	if !lines.Scan() {
		return nil, formatError("the .param file ends before the number of its layers")
	}
	head := strings.Fields(lines.Text())
	if len(head) != 2 {
		return nil, formatError("the second line of the .param file is %q: want the numbers of layers and blobs", short(lines.Text()))
	}
	count, err := strconv.Atoi(head[0])
	if err != nil || count < 1 || count > maxLayers {
		return nil, formatError("%q layers: want 1..%d", short(head[0]), maxLayers)
	}
	var layers []*layer
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) == 0 {
			continue
		}
		l, err := parseLayer(words)
		if err != nil {
			return nil, err
		}
		if layers = append(layers, l); len(layers) > count {
			break
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(layers) != count {
		return nil, formatError("the .param file says %d layers and has %d or more", count, len(layers))
	}
	return layers, nil
}

func short(s string) string {
	const most = 40
	if s = printable.Text(s); len(s) > most {
		s = s[:most] + "..."
	}
	return s
}

// parseLayer reads type, name, numbers of inputs and outputs, their names, and parameters as key=value.
func parseLayer(words []string) (*layer, error) {
	bad := func() error {
		return formatError("a line of the .param file begins %q: want a type, a name, the numbers of inputs and outputs, and their names",
			short(strings.Join(words[:min(len(words), 4)], " ")))
	}
	if len(words) < 4 {
		return nil, bad()
	}
	l := &layer{kind: words[0], name: words[1], params: map[int]string{}, arrays: map[int][]string{}, read: map[int]bool{}}
	ins, err := strconv.Atoi(words[2])
	outs, err2 := strconv.Atoi(words[3])
	rest := words[4:]
	if err != nil || err2 != nil || ins < 0 || outs < 0 || ins > len(rest) || outs > len(rest)-ins {
		return nil, bad()
	}
	l.in, l.out, rest = rest[:ins], rest[ins:ins+outs], rest[ins+outs:]
	for _, word := range rest {
		key, value, ok := strings.Cut(word, "=")
		id, err := strconv.Atoi(key)
		if !ok || err != nil {
			return nil, l.refuse("its parameter is %q: want a number, =, and a value", short(word))
		}
		const arrays = -23300 // and less: the key of an array is -23300 minus its number
		if id > arrays {
			l.params[id] = value
			continue
		}
		list := strings.Split(value, ",")
		n, err := strconv.Atoi(list[0])
		if err != nil || n != len(list)-1 || n > maxArray {
			return nil, l.refuse("its array is %q: want the number of its elements, at most %d, and these", short(word), maxArray)
		}
		l.arrays[arrays-id] = list[1:]
	}
	return l, nil
}

// int is parameter key as an integer.
func (l *layer) int(key, absent int) int {
	l.read[key] = true
	s, given := l.params[key]
	if !given {
		return absent
	}
	v, err := strconv.ParseInt(s, 10, 32)
	if err != nil && l.err == nil {
		l.err = l.refuse("its parameter %d is %q: want an integer", key, short(s))
	}
	return int(v)
}

// float is parameter key as a fraction.
func (l *layer) float(key int, absent float32) float32 {
	l.read[key] = true
	s, given := l.params[key]
	if !given {
		return absent
	}
	return l.number(key, s)
}

func (l *layer) number(key int, s string) float32 {
	v, err := strconv.ParseFloat(s, 32)
	if (err != nil || math.IsNaN(v)) && l.err == nil {
		l.err = l.refuse("its parameter %d is %q: want a number", key, short(s))
	}
	return float32(v)
}

// floats is parameter key as an array of fractions; nil if it is not there.
func (l *layer) floats(key int) []float32 {
	l.read[key] = true
	var out []float32
	for _, s := range l.arrays[key] {
		out = append(out, l.number(key, s))
	}
	return out
}

// ints is parameter key as an array of integers; nil if it is not there.
func (l *layer) ints(key int) []int {
	l.read[key] = true
	var out []int
	for _, s := range l.arrays[key] {
		v, err := strconv.ParseInt(s, 10, 32)
		if err != nil && l.err == nil {
			l.err = l.refuse("its parameter %d holds %q: want integers", key, short(s))
		}
		out = append(out, int(v))
	}
	return out
}

// finish says whether a parameter was wrong, or is one that was not asked for and is not 0.
func (l *layer) finish() error {
	if l.err != nil {
		return l.err
	}
	for _, key := range slices.Sorted(maps.Keys(l.params)) {
		if s := l.params[key]; !l.read[key] && s != "0" {
			return l.refuse("its parameter %d=%s is not known", key, short(s))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(l.arrays)) {
		if !l.read[key] {
			return l.refuse("its array %d is not known", key)
		}
	}
	return nil
}
