package winograd

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files of testdata")

// emit is the function that applies m.
func emit(name string, m Matrix, vectorType string) (string, error) {
	p, err := Compile(m)
	if err != nil {
		return "", err
	}
	return p.EmitOpenCL(name, vectorType)
}

// TestEmitGolden pins the text of two functions. Regenerate with
// go test ./winograd -run EmitGolden -update and read the difference.
func TestEmitGolden(t *testing.T) {
	tr := F4x3()
	in, err := emit("wino_f4x3_input", tr.BT, "float4")
	if err != nil {
		t.Fatal(err)
	}
	out, err := emit("wino_f4x3_output", tr.AT, "float4")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "f4x3.cl")
	got := []byte(in + "\n" + out)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the code changed; got:\n%s", got)
	}
}

func TestEmitRefusesNames(t *testing.T) {
	for _, c := range [][2]string{{"a b", "float"}, {"", "float"}, {"f", "float 4"}, {"f", "4"}, {"f(", "float"}} {
		if _, err := emit(c[0], identity(1), c[1]); err == nil {
			t.Errorf("name %q, type %q: no error", c[0], c[1])
		}
	}
	if _, err := emit("f", Matrix{}, "float"); err == nil {
		t.Error("empty matrix: no error")
	}
}

func TestLiteral(t *testing.T) {
	for f, want := range map[float32]string{1: "1.0f", -2.5: "-2.5f", 1e-10: "1e-10f", 3e20: "3e+20f", 0.70710677: "0.70710677f"} {
		if got := literal(f); got != want {
			t.Errorf("literal(%g) = %s, want %s", f, got, want)
		}
	}
}

// TestEmittedCodeAsC compiles the printed text as C with T = float and compares
// it with Eval32 on random vectors: equal but for the last bit, because Eval32
// rounds multiply-adds through float64.
func TestEmittedCodeAsC(t *testing.T) {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no gcc in PATH: the printed code is not compiled by this run")
	}
	all := programs(t)
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	sort.Strings(names)
	const vectors = 20
	var src, calls strings.Builder
	src.WriteString("#include <stdio.h>\n#define fma __builtin_fmaf\n#define __private\ntypedef float T;\n")
	var input bytes.Buffer
	rng := rand.New(rand.NewPCG(11, 12))
	var want []float32
	for i, name := range names {
		p := all[name].p
		text, err := p.EmitOpenCL(fmt.Sprintf("f%d", i), "T")
		if err != nil {
			t.Fatal(err)
		}
		src.WriteString(text)
		var args []string
		for v := range p.In {
			args = append(args, fmt.Sprintf("x[%d]", v))
		}
		for v := range p.Out {
			args = append(args, fmt.Sprintf("&y[%d]", v))
		}
		fmt.Fprintf(&calls, "    for (int n = 0; n < %d; n++) {\n        if (fread(x, 4, %d, stdin) != %d) return 1;\n        f%d(%s);\n        fwrite(y, 4, %d, stdout);\n    }\n",
			vectors, p.In, p.In, i, strings.Join(args, ", "), len(p.Out))
		for range vectors {
			x, y := normal(rng, p.In), make([]float32, len(p.Out))
			p.Eval32(y, x)
			want = append(want, y...)
			if err := binary.Write(&input, binary.LittleEndian, x); err != nil {
				t.Fatal(err)
			}
		}
	}
	fmt.Fprintf(&src, "int main(void)\n{\n    float x[64], y[64];\n%s    return 0;\n}\n", calls.String())
	got := compileAndRun(t, gcc, src.String(), &input)
	if len(got) != len(want) {
		t.Fatalf("the C program wrote %d numbers, want %d", len(got), len(want))
	}
	for i := range got {
		if d := math.Abs(float64(got[i] - want[i])); d > 1e-6*math.Max(1, math.Abs(float64(want[i]))) {
			t.Fatalf("number %d: C gives %g, Go %g", i, got[i], want[i])
		}
	}
}

func compileAndRun(t *testing.T, gcc, source string, input *bytes.Buffer) []float32 {
	dir := t.TempDir()
	c, exe := filepath.Join(dir, "emitted.c"), filepath.Join(dir, "emitted")
	if err := os.WriteFile(c, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	// -ffp-contract=off: only the fma that are written may be fused.
	if out, err := exec.Command(gcc, "-std=c99", "-O1", "-Wall", "-Werror", "-ffp-contract=off", "-o", exe, c, "-lm").CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	cmd := exec.Command(exe)
	cmd.Stdin = input
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	f := make([]float32, len(out)/4)
	for i := range f {
		f[i] = math.Float32frombits(binary.LittleEndian.Uint32(out[4*i:]))
	}
	return f
}
