package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"enhance/internal/boundtest"
)

// raw puts a header and data together.
func raw(header string, data []byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), data...)
}

func read(b []byte) (*File, error) { return Read(bytes.NewReader(b), int64(len(b))) }

func TestRoundTrip(t *testing.T) {
	for name, f := range map[string]*File{
		"empty": {Tensors: map[string]*Tensor{}},
		"all": {
			Tensors: map[string]*Tensor{
				"a":         {Shape: []int{2, 3}, Data: []float32{1, -2, 3.5, 0, float32(math.Inf(1)), 1e-40}},
				"scalar":    {Shape: nil, Data: []float32{7}},
				"zero":      {Shape: []int{0, 5}, Data: []float32{}},
				"zero-last": {Shape: []int{5, 0}, Data: []float32{}},
				`quo"te é`:  {Shape: []int{1}, Data: []float32{-1}},
			},
			Meta: map[string]string{"arch": "x", `"`: "\n"},
		},
	} {
		var b bytes.Buffer
		if err := Write(&b, f); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := read(b.Bytes())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(got, f) {
			t.Errorf("%s: read %+v, wrote %+v", name, got, f)
		}
		for n := range b.Len() {
			if _, err := read(b.Bytes()[:n]); err == nil {
				t.Errorf("%s: cut to %d of %d bytes is accepted", name, n, b.Len())
			}
		}
		if _, err := read(append(b.Bytes(), 0)); err == nil {
			t.Errorf("%s: a byte more is accepted", name)
		}
	}
}

func TestReadDTypes(t *testing.T) {
	le := binary.LittleEndian
	half := func(bits ...uint16) (b []byte) {
		for _, v := range bits {
			b = le.AppendUint16(b, v)
		}
		return b
	}
	for _, c := range []struct {
		dtype string
		data  []byte
		want  []float32
	}{
		{"F16", half(0x3c00, 0xc000, 0x0001, 0x83ff, 0x7bff, 0x7c00, 0x8000), []float32{1, -2, 1.0 / (1 << 24), -1023.0 / (1 << 24), 65504, float32(math.Inf(1)), float32(math.Copysign(0, -1))}},
		{"BF16", half(0x3f80, 0xc000, 0x0001, 0xff80), []float32{1, -2, math.Float32frombits(0x10000), float32(math.Inf(-1))}},
		{"F64", le.AppendUint64(le.AppendUint64(nil, math.Float64bits(0.1)), math.Float64bits(-3)), []float32{0.1, -3}},
		{"F32", le.AppendUint32(nil, math.Float32bits(0.1)), []float32{0.1}},
	} {
		header := `{"x":{"dtype":"` + c.dtype + `","shape":[` + strconv.Itoa(len(c.want)) + `],"data_offsets":[0,` + strconv.Itoa(len(c.data)) + `]}}  `
		f, err := read(raw(header, c.data))
		if err != nil {
			t.Errorf("%s: %v", c.dtype, err)
			continue
		}
		for i, v := range f.Tensors["x"].Data {
			if math.Float32bits(v) != math.Float32bits(c.want[i]) {
				t.Errorf("%s: value %d is %g, want %g", c.dtype, i, v, c.want[i])
			}
		}
	}
}

var malformed = map[string]struct {
	header string
	data   int
	want   string
}{
	"not an object":     {`[]`, 0, "does not begin with {"},
	"leading space":     {` {}`, 0, "does not begin with {"},
	"empty":             {``, 0, "does not begin with {"},
	"unclosed":          {`{"a":`, 0, "not valid JSON"},
	"two objects":       {`{}{}`, 0, "goes on after"},
	"not utf-8":         {"{\"\xff\":1}", 0, "UTF-8"},
	"tensor a number":   {`{"a":1}`, 0, "not an object"},
	"duplicate tensor":  {`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, 8, `names "a" twice`},
	"escaped duplicate": {`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"\u0061":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, 8, `names "a" twice`},
	"duplicate field":   {`{"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 4, "twice"},
	"duplicate meta":    {`{"__metadata__":{"k":"1","k":"2"}}`, 0, "twice"},
	"meta a number":     {`{"__metadata__":{"k":1}}`, 0, "not a string"},
	"meta an array":     {`{"__metadata__":[]}`, 0, "not an object"},
	"missing dtype":     {`{"a":{"shape":[1],"data_offsets":[0,4]}}`, 4, "wants dtype"},
	"missing offsets":   {`{"a":{"dtype":"F32","shape":[1]}}`, 4, "wants dtype"},
	"unknown field":     {`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1}}`, 4, "unknown field"},
	"one offset":        {`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4]}}`, 4, "two data_offsets"},
	"three offsets":     {`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}}`, 4, "more than 2"},
	"integer dtype":     {`{"a":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}}`, 8, `"I64" cannot be read`},
	"dtype a number":    {`{"a":{"dtype":1,"shape":[1],"data_offsets":[0,8]}}`, 8, "not a string"},
	"negative dim":      {`{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}`, 4, "holds -1"},
	"leading zero":      {`{"a":{"dtype":"F32","shape":[01],"data_offsets":[0,4]}}`, 4, "not valid JSON"},
	"fraction":          {`{"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}}`, 4, "holds 1.0"},
	"shape a string":    {`{"a":{"dtype":"F32","shape":["1"],"data_offsets":[0,4]}}`, 4, "not a number"},
	"shape a number":    {`{"a":{"dtype":"F32","shape":1,"data_offsets":[0,4]}}`, 4, "not an array"},
	"overflow to 1":     {`{"a":{"dtype":"F32","shape":[4294967296,4294967296,1],"data_offsets":[0,4]}}`, 4, "does not fit"},
	"overflow to 0":     {`{"a":{"dtype":"F32","shape":[9223372036854775807,2],"data_offsets":[0,0]}}`, 0, "does not fit"},
	"beyond int64":      {`{"a":{"dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,4]}}`, 4, "want an integer"},
	"offset overflow":   {`{"a":{"dtype":"F32","shape":[1],"data_offsets":[9223372036854775804,9223372036854775807]}}`, 4, "does not fit"},
	"backwards":         {`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}}`, 4, "after its end"},
	"beyond the file":   {`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 4, "cut short"},
	"petabytes":         {`{"a":{"dtype":"F32","shape":[281474976710656],"data_offsets":[0,1125899906842624]}}`, 4, "cut short"},
	"overlap":           {`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, 8, "overlaps"},
	"gap":               {`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}}`, 12, "belong to no tensor"},
	"gap at the start":  {`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, 8, "belong to no tensor"},
	"data left over":    {`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 8, "after the last"},
	"too few bytes":     {`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}`, 4, "does not fit"},
	"odd bytes":         {`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,5]}}`, 5, "does not fit"},
	"17 dimensions":     {`{"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}}`, 4, "more than 16"},
	"deep":              {strings.Repeat(`{"a":`, 10000), 0, "a"},
}

func TestReadRefuses(t *testing.T) {
	for name, c := range malformed {
		_, err := read(raw(c.header, make([]byte, c.data)))
		var format FormatError
		if !errors.As(err, &format) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
	for _, n := range []uint64{3, 1 << 40, math.MaxUint64} {
		b := binary.LittleEndian.AppendUint64(nil, n)
		if _, err := read(append(b, "{}"...)); err == nil {
			t.Errorf("a header of %d bytes in a file of 10 is accepted", n)
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	for name, tensors := range map[string]map[string]*Tensor{
		"too few values": {"a": {Shape: []int{2}, Data: []float32{1}}},
		"negative":       {"a": {Shape: []int{-1, -1}, Data: []float32{1}}},
		"reserved name":  {"__metadata__": {Shape: nil, Data: []float32{1}}},
		"bad name":       {"\xff": {Shape: nil, Data: []float32{1}}},
		"rank":           {"a": {Shape: make([]int, 17), Data: nil}},
	} {
		if err := Write(&bytes.Buffer{}, &File{Tensors: tensors}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// FuzzSafetensors checks that no file makes the reader fail other than by an
// error, and that what it reads can be written and read again unchanged.
func FuzzSafetensors(f *testing.F) {
	for _, c := range malformed {
		f.Add(raw(c.header, make([]byte, c.data)))
	}
	f.Add(raw(`{"__metadata__":{"a":"b"},"a":{"dtype":"F16","shape":[2,1],"data_offsets":[0,4]},"b":{"dtype":"F64","shape":[],"data_offsets":[4,12]}}`, make([]byte, 12)))
	f.Fuzz(func(t *testing.T, b []byte) {
		var file *File
		var err error
		boundtest.Run(t, len(b), 1<<20, 200, func() { file, err = read(b) })
		if err != nil {
			return
		}
		values := 0
		for _, x := range file.Tensors {
			values += len(x.Data)
		}
		if 2*values > len(b) {
			t.Fatalf("%d values from %d bytes", values, len(b))
		}
		var out bytes.Buffer
		if err := Write(&out, file); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		again, err := read(out.Bytes())
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if len(again.Tensors) != len(file.Tensors) {
			t.Fatalf("%d tensors became %d", len(file.Tensors), len(again.Tensors))
		}
	})
}
