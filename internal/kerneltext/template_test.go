package kerneltext

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestTemplate(t *testing.T) {
	tmpl := NewTemplate("sum", "{{range seq .}}+x{{.}}{{end}}", Funcs)
	for range 2 {
		if got := tmpl.Fill(3); got != "+x0+x1+x2" {
			t.Fatal(got)
		}
	}
	for name, bad := range map[string]*Template{"its text": NewTemplate("a", "{{", nil), "its values": NewTemplate("b", "{{.Missing}}", nil)} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a template with mistakes in %s was filled", name)
				}
			}()
			bad.Fill(struct{}{})
		}()
	}
}

func TestMacros(t *testing.T) {
	text := "#define B(x) x\n#define A\n #define NOT\n#ifdef A\n#define C_1 2\n#endif\n#define B 3\n#define\n#define ?\n#define LAST"
	got := Macros(text)
	if want := []string{"B", "A", "C_1", "B", "LAST"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := Undefine(got), "#undef A\n#undef B\n#undef C_1\n#undef LAST\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestFillKeeps: whatever is kept, and however many texts came before, a text is that of its values.
func TestFillKeeps(t *testing.T) {
	tmpl := NewTemplate("kept", "{{.A}} {{.B}}", nil)
	type values struct{ A, B int }
	for range 2 {
		for i := range 200 {
			if got, want := tmpl.Fill(values{i, -i}), fmt.Sprint(i, " ", -i); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
	}
	if got := tmpl.Fill(struct{ A, B string }{"5", "-5"}); got != "5 -5" {
		t.Errorf("values of another type: %q", got)
	}
	for _, want := range []string{"one 1", "two 1"} { // maps cannot be compared
		a, _, _ := strings.Cut(want, " ")
		if got := tmpl.Fill(map[string]any{"A": a, "B": 1}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
