package onnxtest

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"enhance/model/onnx"
)

// Case is one test.
type Case struct {
	Name    string // group/name, such as node/test_relu
	Model   []byte
	Inputs  [][]byte // tensors of the first set of data, in the order of the graph's inputs
	Outputs [][]byte
}

// groups are the folders of the archive that hold tests of operations.
var groups = []string{"node", "pytorch-converted", "pytorch-operator", "simple"}

// archive is where the whole suite lies beside the project; subset is the part of it that comes along.
var (
	archive = filepath.Join("shared", "onnx", "conformance-v1.20.0.tar.gz")
	subset  = filepath.Join("internal", "onnxtest", "testdata", "subset.tar.gz")
)

// Open reads the whole suite if it lies in shared/ beside the project, or else the part that comes with
// this package; whole says which.
func Open(t testing.TB) (cases []*Case, whole bool) {
	root := projectRoot(t)
	for _, p := range []string{filepath.Join(root, "..", archive), filepath.Join(root, archive)} {
		if _, err := os.Stat(p); err == nil {
			return read(t, p), true
		}
	}
	return read(t, filepath.Join(root, subset)), false
}

func projectRoot(t testing.TB) string {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			err = errors.New("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
	t.Fatal(err)
	return ""
}

func read(t testing.TB, name string) []*Case {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cases, err := readArchive(f)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if len(cases) == 0 {
		t.Fatalf("%s holds no tests", name)
	}
	return cases
}

func readArchive(r io.Reader) ([]*Case, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for in := tar.NewReader(z); ; {
		h, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		name := path.Clean(h.Name)
		if h.Typeflag != tar.TypeReg || !slices.Contains(groups, strings.SplitN(name, "/", 2)[0]) {
			continue
		}
		if files[name], err = io.ReadAll(in); err != nil {
			return nil, err
		}
	}
	var cases []*Case
	for name, b := range files {
		dir, ok := strings.CutSuffix(name, "/model.onnx")
		if !ok {
			continue
		}
		c := &Case{Name: dir, Model: b}
		for i := 0; files[fmt.Sprintf("%s/test_data_set_0/input_%d.pb", dir, i)] != nil; i++ {
			c.Inputs = append(c.Inputs, files[fmt.Sprintf("%s/test_data_set_0/input_%d.pb", dir, i)])
		}
		for i := 0; files[fmt.Sprintf("%s/test_data_set_0/output_%d.pb", dir, i)] != nil; i++ {
			c.Outputs = append(c.Outputs, files[fmt.Sprintf("%s/test_data_set_0/output_%d.pb", dir, i)])
		}
		cases = append(cases, c)
	}
	sort.Slice(cases, func(i, j int) bool { return cases[i].Name < cases[j].Name })
	return cases, nil
}

// Write writes cases as an archive that Open reads.
func Write(w io.Writer, cases []*Case) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	out := tar.NewWriter(z)
	put := func(name string, b []byte) {
		if err == nil {
			err = out.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(b)), Typeflag: tar.TypeReg})
		}
		if err == nil {
			_, err = out.Write(b)
		}
	}
	for _, c := range cases {
		put(c.Name+"/model.onnx", c.Model)
		for i, b := range c.Inputs {
			put(fmt.Sprintf("%s/test_data_set_0/input_%d.pb", c.Name, i), b)
		}
		for i, b := range c.Outputs {
			put(fmt.Sprintf("%s/test_data_set_0/output_%d.pb", c.Name, i), b)
		}
	}
	return errors.Join(err, out.Close(), z.Close())
}

// tensor reads a tensor's file.
func tensor(b []byte) (*onnx.Tensor, error) { return onnx.ParseTensor(b) }
