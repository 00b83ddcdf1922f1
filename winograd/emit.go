package winograd

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// EmitOpenCL prints the program as an OpenCL C 1.2 function without loops, arrays
// or macros, so that compilers keep all values in registers:
//
//	static inline void NAME(const T d0, ..., const T dn, __private T *t0, ..., __private T *tm)
//
// It takes the In inputs by value and writes the outputs through pointers, each
// once, after the last read of an input: a caller may pass addresses of the
// variables that it passes as inputs. __private is written out because OpenCL C
// 2.0 would otherwise make the pointers generic. Constants are splatted to T as
// fma requires. A caller in a 2-D transform applies it to rows, then to columns.
func (p *Program) EmitOpenCL(name, vectorType string) (string, error) {
	for _, s := range []string{name, vectorType} {
		if !identifier.MatchString(s) {
			return "", fmt.Errorf("winograd emit: %q is not an identifier", s)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "// %d values from %d: %v.\n", len(p.Out), p.In, p.Counts())
	fmt.Fprintf(&b, "static inline void %s(", name)
	for v := range p.In {
		fmt.Fprintf(&b, "const %s d%d, ", vectorType, v)
	}
	for i := range p.Out {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "__private %s *t%d", vectorType, i)
	}
	b.WriteString(")\n{\n")
	for i := range p.Code {
		fmt.Fprintf(&b, "    const %s v%d = %s;\n", vectorType, i, p.expr(&p.Code[i], vectorType))
	}
	for i, o := range p.Out {
		fmt.Fprintf(&b, "    *t%d = %s;\n", i, p.operand(o))
	}
	b.WriteString("}\n")
	return b.String(), nil
}

func (p *Program) expr(in *Instr, vectorType string) string {
	switch in.Op {
	case OpMul:
		return fmt.Sprintf("(%s)(%s) * %s", vectorType, literal(in.c32), p.operand(in.A))
	case OpFMA:
		return fmt.Sprintf("fma((%s)(%s), %s, %s)", vectorType, literal(in.c32), p.operand(in.A), p.operand(in.B))
	}
	if in.B.Neg {
		return p.operand(in.A) + " - " + p.operand(in.B.flip())
	}
	return p.operand(in.A) + " + " + p.operand(in.B)
}

func (p *Program) operand(o Operand) string {
	s := "d" + strconv.Itoa(o.V)
	if o.V >= p.In {
		s = "v" + strconv.Itoa(o.V-p.In)
	}
	if o.Neg {
		return "-" + s
	}
	return s
}

// literal is the shortest float32 constant of C that reads back as f.
func literal(f float32) string {
	s := strconv.FormatFloat(float64(f), 'g', -1, 32)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s + "f"
}
