package safetensors

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sort"
	"strconv"
	"unicode/utf8"
)

const (
	// maxHeader is the format's own limit on the header, 100 MB.
	maxHeader = 100_000_000
	// maxDims bounds the rank of a tensor.
	maxDims = 16
)

// entry is one tensor of a header; its bytes are begin..end of the data part.
type entry struct {
	name       string
	dtype      string
	shape      []int
	elems      int64
	begin, end int64
}

// dtypeSize is the bytes of an element of the types that can be read.
var dtypeSize = map[string]int64{"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I8": 1}

// parseHeader reads a header and checks that its tensors fill dataSize bytes
// exactly, without overlap or gap. Entries come in the order of their bytes.
func parseHeader(header []byte, dataSize int64) ([]entry, map[string]string, error) {
	if len(header) == 0 || header[0] != '{' {
		return nil, nil, formatError("header does not begin with {")
	}
	if !utf8.Valid(header) {
		return nil, nil, formatError("header is not valid UTF-8")
	}
	p := &parser{dec: json.NewDecoder(bytes.NewReader(header))}
	p.dec.UseNumber()
	entries, meta, err := p.top()
	if err != nil {
		return nil, nil, err
	}
	if _, err := p.dec.Token(); err != io.EOF {
		return nil, nil, formatError("header goes on after its last }")
	}
	if err := checkPlaces(entries, dataSize); err != nil {
		return nil, nil, err
	}
	return entries, meta, nil
}

func checkPlaces(entries []entry, dataSize int64) error {
	// Empty tensors share a begin with their successor and must come before it.
	sort.SliceStable(entries, func(i, j int) bool {
		a, b := &entries[i], &entries[j]
		return a.begin < b.begin || a.begin == b.begin && a.end < b.end
	})
	at := int64(0)
	for i := range entries {
		e := &entries[i]
		if e.begin < at {
			return formatError("tensor %q at byte %d overlaps the one before it, which ends at %d", e.name, e.begin, at)
		}
		if e.begin > at {
			return formatError("%d bytes before tensor %q belong to no tensor", e.begin-at, e.name)
		}
		if e.end > dataSize {
			return formatError("tensor %q ends at byte %d of %d: the file is cut short", e.name, e.end, dataSize)
		}
		at = e.end
	}
	if at != dataSize {
		return formatError("%d bytes after the last tensor belong to no tensor", dataSize-at)
	}
	return nil
}

// parser walks the header token by token, because decoding into maps would
// accept duplicate names.
type parser struct{ dec *json.Decoder }

func (p *parser) token() (json.Token, error) {
	t, err := p.dec.Token()
	if err != nil {
		return nil, formatError("header is not valid JSON: %v", err)
	}
	return t, nil
}

// object calls field for each name of an object, refusing duplicates.
func (p *parser) object(what string, field func(name string) error) error {
	t, err := p.token()
	if err != nil {
		return err
	}
	if t != json.Delim('{') {
		return formatError("%s is not an object", what)
	}
	return p.fields(what, field)
}

func (p *parser) fields(what string, field func(name string) error) error {
	seen := make(map[string]bool)
	for {
		t, err := p.token()
		if err != nil {
			return err
		}
		if t == json.Delim('}') {
			return nil
		}
		name, ok := t.(string)
		if !ok {
			return formatError("%s is malformed", what)
		}
		if seen[name] {
			return formatError("%s names %q twice", what, name)
		}
		seen[name] = true
		if err := field(name); err != nil {
			return err
		}
	}
}

func (p *parser) top() (entries []entry, meta map[string]string, err error) {
	err = p.object("header", func(name string) error {
		if name == "__metadata__" {
			meta = make(map[string]string)
			return p.object("__metadata__", func(key string) error {
				t, err := p.token()
				if err != nil {
					return err
				}
				value, ok := t.(string)
				if !ok {
					return formatError("metadata %q is not a string", key)
				}
				meta[key] = value
				return nil
			})
		}
		e, err := p.entry(name)
		entries = append(entries, e)
		return err
	})
	return entries, meta, err
}

func (p *parser) entry(name string) (entry, error) {
	e := entry{name: name}
	what := fmt.Sprintf("tensor %q", name)
	var shape, offsets []int64
	var fields int
	err := p.object(what, func(field string) (err error) {
		fields++
		switch field {
		case "dtype":
			t, err := p.token()
			if err != nil {
				return err
			}
			var ok bool
			if e.dtype, ok = t.(string); !ok {
				return formatError("%s: dtype is not a string", what)
			}
		case "shape":
			shape, err = p.integers(what+": shape", maxDims)
		case "data_offsets":
			offsets, err = p.integers(what+": data_offsets", 2)
		default:
			err = formatError("%s: unknown field %q", what, field)
		}
		return err
	})
	if err != nil {
		return e, err
	}
	if fields != 3 || len(offsets) != 2 {
		return e, formatError("%s: wants dtype, shape and two data_offsets", what)
	}
	e.begin, e.end = offsets[0], offsets[1]
	return e, e.setShape(what, shape)
}

// setShape checks that dtype, shape and place agree.
func (e *entry) setShape(what string, shape []int64) error {
	size, ok := dtypeSize[e.dtype]
	if !ok {
		return formatError("%s: dtype %q cannot be read: want F32, F16, BF16 or F64", what, e.dtype)
	}
	if e.begin > e.end {
		return formatError("%s: begins at byte %d after its end %d", what, e.begin, e.end)
	}
	limit := (e.end - e.begin) / size
	for _, d := range shape {
		if int64(int(d)) != d {
			return formatError("%s: dimension %d is too large", what, d)
		}
		e.shape = append(e.shape, int(d))
	}
	e.elems = elements(e.shape, limit)
	if e.elems != limit || (e.end-e.begin)%size != 0 {
		return formatError("%s: shape %v does not fit its %d bytes of %s", what, shape, e.end-e.begin, e.dtype)
	}
	return nil
}

// elements is the number of elements of a shape without negative dimensions, or
// -1 if it is above limit, which it is compared with before it can overflow.
func elements(shape []int, limit int64) int64 {
	if slices.Contains(shape, 0) {
		return 0
	}
	n := int64(1)
	for _, d := range shape {
		if n > limit/int64(d) {
			return -1
		}
		n *= int64(d)
	}
	return n
}

// integers reads an array of at most limit integers of 0..2^63-1.
func (p *parser) integers(what string, limit int) ([]int64, error) {
	t, err := p.token()
	if err != nil {
		return nil, err
	}
	if t != json.Delim('[') {
		return nil, formatError("%s is not an array", what)
	}
	var out []int64
	for {
		t, err := p.token()
		if err != nil {
			return nil, err
		}
		if t == json.Delim(']') {
			return out, nil
		}
		number, ok := t.(json.Number)
		if !ok {
			return nil, formatError("%s holds something that is not a number", what)
		}
		v, err := strconv.ParseUint(number.String(), 10, 63)
		if err != nil {
			return nil, formatError("%s holds %s: want an integer of 0..2^63-1", what, number)
		}
		if len(out) == limit {
			return nil, formatError("%s has more than %d numbers", what, limit)
		}
		out = append(out, int64(v))
	}
}
