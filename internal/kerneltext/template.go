package kerneltext

import (
	"reflect"
	"slices"
	"strings"
	"sync"
	"text/template"
)

// Template is a kernel's text with places to fill. It is parsed when it is first filled: a process needs few of them.
type Template struct {
	name  string
	parse func() (*template.Template, error)

	mu     sync.Mutex
	filled map[any]string // by values, at most mostFilled
}

// mostFilled is how many texts a template keeps: a network has fewer kernels of a kind.
const mostFilled = 64

// NewTemplate makes a template out of the text of NAME.cl.tmpl, which may call funcs.
func NewTemplate(name, text string, funcs template.FuncMap) *Template {
	return &Template{name: name, filled: map[any]string{},
		parse: sync.OnceValues(func() (*template.Template, error) { return template.New(name).Funcs(funcs).Parse(text) })}
}

// Fill is the text with values in its places. It panics if they do not fit: texts are part of the program.
// Texts for values that can be compared, which must not hold pointers, are kept: filling takes
// milliseconds, and every layer of a network asks for its kernel's.
func (t *Template) Fill(values any) string {
	kept := reflect.TypeOf(values).Comparable()
	if kept {
		t.mu.Lock()
		text, ok := t.filled[values]
		t.mu.Unlock()
		if ok {
			return text
		}
	}
	parsed, err := t.parse()
	var b strings.Builder
	if err == nil {
		err = parsed.Execute(&b, values)
	}
	if err != nil {
		panic("kerneltext: " + t.name + ".cl.tmpl: " + err.Error())
	}
	if kept {
		t.mu.Lock()
		defer t.mu.Unlock()
		if len(t.filled) == mostFilled {
			clear(t.filled)
		}
		t.filled[values] = b.String()
	}
	return b.String()
}

// Macros lists the names that a text defines by lines that begin with "#define ", in order and as often as it does.
func Macros(text string) (names []string) {
	const define = "#define "
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, define); ok {
			end := strings.IndexFunc(rest, func(r rune) bool { return !isWord(r) })
			if end < 0 {
				end = len(rest)
			}
			if end > 0 {
				names = append(names, rest[:end])
			}
		}
	}
	return names
}

func isWord(r rune) bool {
	return r == '_' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z'
}

// Undefine is lines that remove macros, in alphabetical order and each once.
func Undefine(names []string) string {
	var b strings.Builder
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		b.WriteString("#undef " + name + "\n")
	}
	return b.String()
}
