package pickle

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The pickles below are put together by hand from these pieces.

func str(s string) string {
	return "X" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(s)))) + s
}

func num(n int64) string {
	return "\x8a\x08" + string(binary.LittleEndian.AppendUint64(nil, uint64(n)))
}

func name(module, name string) string { return "c" + module + "\n" + name + "\n" }

func tup(items ...string) string { return "(" + strings.Join(items, "") + "t" }

func nums(n ...int64) string {
	var items []string
	for _, v := range n {
		items = append(items, num(v))
	}
	return tup(items...)
}

// stored is the persistent id of a storage in the zip format; legacyFile adds the sixth item.
func stored(class, key string, n int64) string {
	return "(" + str("storage") + name("torch", class) + str(key) + str("cpu") + num(n) + viewHere + "tQ"
}

// viewHere stands where the old format has a view and the new one nothing.
const viewHere = "\x00view\x00"

func rebuild(storage string, offset int64, shape, stride []int64) string {
	return name("torch._utils", "_rebuild_tensor_v2") +
		tup(storage, num(offset), nums(shape...), nums(stride...), "\x89", "N") + "R"
}

func dictOf(items ...string) string { return "}(" + strings.Join(items, "") + "u" }

// data gives storages of n float32 zeros.
func data(sizes ...int) map[string][]byte {
	out := make(map[string][]byte)
	for i, n := range sizes {
		out[strconv.Itoa(i)] = make([]byte, 4*n)
	}
	return out
}

// zipFile makes a file of the new format.
func zipFile(t testing.TB, pickle string, storages map[string][]byte) []byte {
	t.Helper()
	files := map[string][]byte{"m/data.pkl": []byte("\x80\x02" + strings.ReplaceAll(pickle, viewHere, "") + ".")}
	for key, b := range storages {
		files["m/data/"+key] = b
	}
	return zipOf(t, files, zip.Store)
}

func zipOf(t testing.TB, files map[string][]byte, method uint16) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: method})
		if err == nil {
			_, err = w.Write(files[name])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// legacyFile makes a file of the old format, with storages of float32.
func legacyFile(pickle string, storages map[string][]byte) []byte {
	proto := "\x80\x02"
	b := proto + "\x8a\x0a" + string(legacyMagic) + "." + proto + num(1001) + "." +
		proto + dictOf(str("little_endian"), "\x88") + "." +
		proto + strings.ReplaceAll(pickle, viewHere, "N") + "."
	keys, values := "](", ""
	for _, key := range slices.Sorted(maps.Keys(storages)) {
		keys += str(key)
		values += string(binary.LittleEndian.AppendUint64(nil, uint64(len(storages[key])/4))) + string(storages[key])
	}
	return []byte(b + proto + keys + "e." + values)
}

var one = stored("FloatStorage", "0", 1)

// refused are pickles that must be refused in both formats.
var refused = map[string]struct {
	pickle   string
	storages map[string][]byte
	want     string
}{
	// Each of the last 2000 calls copies the 1000 pairs by six bytes.
	"CopiedPairs": {"](" + strings.Repeat("(X\x01\x00\x00\x00aK\x01t", 1000) + "eq\x00" + name("collections", "OrderedDict") + "q\x01" +
		strings.Repeat("h\x01h\x00\x85R0", 2000), nil, "more than the pickle has bytes"},
	"os.system":         {name("os", "system") + tup(str("true")) + "R", nil, `"os.system", which a state dict does not need: refused`},
	"builtins.eval":     {str("builtins") + str("eval") + "\x93" + tup(str("1")) + "R", nil, `"builtins.eval"`},
	"eval kept in dict": {dictOf(str("w"), name("builtins", "eval")), nil, `"builtins.eval"`},
	"call of a storage": {name("torch", "FloatStorage") + nums(1<<40) + "R", nil, "calls torch.FloatStorage: refused"},
	"call of a dict":    {"})R", nil, "calls a dict with a tuple: refused"},
	"call with a list":  {name("collections", "OrderedDict") + "]R", nil, "with a list: refused"},
	"OrderedDict of 1":  {name("collections", "OrderedDict") + nums(1) + "R", nil, "made of an int"},
	"state of a tensor": {rebuild(one, 0, nil, nil) + "}b", data(1), "the state of a tensor is set"},
	"state of a dict":   {"}}b", nil, "the state of a dict is set"},
	"INST":              {"(ios\nsystem\n", nil, "opcode 0x69"},
	"OBJ":               {"(o", nil, "opcode 0x6f"},
	"NEWOBJ":            {"})\x81", nil, "opcode 0x81"},
	"EXT1":              {"\x82\x01", nil, "opcode 0x82"},
	"PERSID":            {"P1\n", nil, "opcode 0x50"},
	"empty stack":       {"0", nil, "stack is empty"},
	"nothing":           {"", nil, "stack is empty"},
	"left over":         {"}}", nil, "1 values are left over"},
	"no mark":           {"}u", nil, "no mark"},
	"mark as value":     {"(", nil, "mark"},
	"mark in a tuple":   {"}(\x85", nil, "mark"},
	"append to a dict":  {"}Na", nil, "appended to a dict"},
	"set in a list":     {"]NNs", nil, "set in a list"},
	"odd items":         {"}(Nu", nil, "has no value"},
	"dict as key":       {"}(}Nu", nil, "used as a key"},
	"memo never put":    {"h\x05", nil, "never stored"},
	"long string":       {"X\xff\xff\xff\x7f", nil, "more bytes are wanted"},
	"bad utf-8":         {"X\x01\x00\x00\x00\xff", nil, "UTF-8"},
	"protocol 9":        {"\x80\x09", nil, "protocol 9"},
	"int as name":       {dictOf(num(1), rebuild(one, 0, nil, nil)), data(1), "an int is a key"},
	"none":              {"N", nil, "holds None"},
	"same name twice":   {dictOf(str("w"), rebuild(one, 0, nil, nil), str("w"), rebuild(one, 0, nil, nil)), data(1), `"w" is there twice`},
	"two state dicts":   {dictOf(str("state_dict"), "}", str("state_dict"), "}"), nil, `"state_dict" is there twice`},
	"storage is no id":  {str("0") + "Q", nil, "persistent id"},
	"id is no storage":  {tup(str("module"), "N", "N", "N", "N", "N") + "Q", nil, "persistent id"},
	"negative elements": {stored("FloatStorage", "0", -1), nil, "described by"},
	"path as key":       {stored("FloatStorage", "../0", 1), nil, "not a plain name"},
	"unknown dtype":     {stored("QInt8Storage", "0", 1), nil, `"torch.QInt8Storage"`},
	"two dtypes":        {tup(one, stored("HalfStorage", "0", 1)), data(1), "1 of float32 and as 1 of float16"},
	"tensor of ints":    {name("torch._utils", "_rebuild_tensor_v2") + nums(1, 2, 3, 4, 5, 6) + "R", nil, "a tensor is made of an int"},
	"three arguments":   {name("torch._utils", "_rebuild_tensor_v2") + nums(1, 2, 3) + "R", nil, "with 3 arguments"},
	"parameter of int":  {name("torch._utils", "_rebuild_parameter") + nums(1, 2, 3) + "R", nil, "a parameter is made of an int"},
	"negative size":     {rebuild(one, 0, []int64{-1}, []int64{1}), data(1), "not a number of 0 or more"},
	"negative stride":   {rebuild(one, 0, []int64{1}, []int64{-1}), data(1), "not a number of 0 or more"},
	"sizes and strides": {rebuild(one, 0, []int64{1, 1}, []int64{1}), data(1), "a tensor is made of"},
	"17 dimensions":     {rebuild(one, 0, make([]int64, 17), make([]int64, 17)), data(1), "a tensor is made of"},
	"offset beyond":     {dictOf(str("w"), rebuild(one, 1, []int64{1}, []int64{1})), data(1), `"w" of shape [1] from element 1 on reaches beyond the 1`},
	"negative offset":   {dictOf(str("w"), rebuild(one, -1, []int64{1}, []int64{1})), data(1), "reaches beyond"},
	"offset of empty":   {dictOf(str("w"), rebuild(one, 2, []int64{0}, []int64{1})), data(1), "reaches beyond"},
	"size beyond":       {dictOf(str("w"), rebuild(one, 0, []int64{2}, []int64{1})), data(1), "reaches beyond"},
	"stride beyond":     {dictOf(str("w"), rebuild(one, 0, []int64{2}, []int64{1 << 62})), data(1), "reaches beyond"},
	"sum overflows":     {dictOf(str("w"), rebuild(one, 0, []int64{3, 3}, []int64{1 << 62, 1 << 62})), data(1), "reaches beyond"},
	"expanded":          {dictOf(str("w"), rebuild(one, 0, []int64{1 << 40}, []int64{0})), data(1), `"w": the tensors together are larger`},
	"expanded, wraps":   {dictOf(str("w"), rebuild(one, 0, []int64{1 << 32, 1 << 32}, []int64{0, 0})), data(1), "together are larger"},
	"many views": {dictOf(
		str("a"), rebuild(stored("FloatStorage", "0", 200), 0, []int64{200}, []int64{1}),
		str("b"), rebuild(stored("FloatStorage", "0", 200), 0, []int64{900}, []int64{0})), data(200), `"b": the tensors together are larger`},
	"storage missing":   {dictOf(str("w"), rebuild(one, 0, []int64{1}, []int64{1})), nil, `storage "0"`},
	"storage too small": {dictOf(str("w"), rebuild(stored("FloatStorage", "0", 2), 0, []int64{2}, []int64{1})), data(1), `0" has`},
	"storage too large": {dictOf(str("w"), rebuild(one, 0, []int64{1}, []int64{1})), data(2), `0" has`},
	"storage of 2^62":   {dictOf(str("w"), rebuild(stored("FloatStorage", "0", 1<<62), 0, []int64{1}, []int64{1})), data(1), `storage "0"`},
}

func TestReadRefuses(t *testing.T) {
	for name, c := range refused {
		for format, file := range map[string][]byte{"zip": zipFile(t, c.pickle, c.storages), "legacy": legacyFile(c.pickle, c.storages)} {
			_, err := read(file)
			var e FormatError
			if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %s: error %v, want one with %s", name, format, err, c.want)
			}
		}
	}
}

// TestPiecesAreRead makes sure that the pieces above make good files otherwise.
func TestPiecesAreRead(t *testing.T) {
	pickle := dictOf(str("w"), rebuild(stored("FloatStorage", "0", 6), 1, []int64{2, 2}, []int64{3, 1}))
	storages := map[string][]byte{"0": nil}
	for i := range 6 {
		storages["0"] = binary.LittleEndian.AppendUint32(storages["0"], uint32(0x3f800000+i))
	}
	for format, file := range map[string][]byte{"zip": zipFile(t, pickle, storages), "legacy": legacyFile(pickle, storages)} {
		got, err := read(file)
		if err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		eps := float32(1) / (1 << 23)
		checkTensor(t, format, "w", got["w"], []int{2, 2}, []float32{1 + eps, 1 + 2*eps, 1 + 4*eps, 1 + 5*eps}, 0)
	}
}

func TestReadRefusesZips(t *testing.T) {
	pickle := []byte("\x80\x02}.")
	duplicate := bytes.ReplaceAll(zipOf(t, map[string][]byte{"m/data.pkl": pickle, "m/data.pk2": pickle}, zip.Store), []byte("pk2"), []byte("pkl"))
	wrongSum := zipOf(t, map[string][]byte{"m/data.pkl": pickle}, zip.Store)
	wrongSum[bytes.Index(wrongSum, pickle)+2] = ']'
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"compressed":   {zipOf(t, map[string][]byte{"m/data.pkl": pickle, "m/data/0": make([]byte, 1<<20)}, zip.Deflate), "is compressed"},
		"no pickle":    {zipOf(t, map[string][]byte{"photo.txt": pickle}, zip.Store), "not made by torch.save"},
		"at the root":  {zipOf(t, map[string][]byte{"data.pkl": pickle}, zip.Store), "not made by torch.save"},
		"two pickles":  {zipOf(t, map[string][]byte{"a/data.pkl": pickle, "b/data.pkl": pickle}, zip.Store), "holds both"},
		"same twice":   {duplicate, "is there twice"},
		"checksum":     {wrongSum, "damaged"},
		"big-endian":   {zipOf(t, map[string][]byte{"m/data.pkl": pickle, "m/byteorder": []byte("big")}, zip.Store), "byte order"},
		"no directory": {[]byte("PK\x03\x04 and then nothing of the kind"), "damaged"},
		"long pickle":  {zipOf(t, map[string][]byte{"m/data.pkl": make([]byte, maxPickle+1)}, zip.Store), "want at most"},
	} {
		_, err := read(c.file)
		var e FormatError
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}

func TestReadRefusesOthers(t *testing.T) {
	legacy := string(legacyFile("}", nil))
	for name, c := range map[string]struct{ file, want string }{
		"empty":          {"", "too few"},
		"text":           {"hello, world", "neither"},
		"another pickle": {"\x80\x02}.", "not one made by torch.save"},
		"protocol 2 cut": {"\x80\x02\x8a\x0a", "more bytes are wanted"},
		"version":        {strings.Replace(legacy, num(1001), num(1002), 1), "version other than 1001"},
		"big-endian":     {strings.Replace(legacy, "little_endian\x88", "little_endian\x89", 1), "little-endian"},
		"keys a dict":    {strings.TrimSuffix(legacy, "](e.") + "}.", "want a list"},
		"unused storage": {string(legacyFile("}", data(1))), "nothing uses"},
		"endless pickle": {"\x80\x02" + strings.Repeat("N0", maxPickle), "a pickle may have"},
	} {
		_, err := read([]byte(c.file))
		var e FormatError
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}
