package onnxtest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Outcome is what a test is known to do: "pass", "skip" or "fail", and why if it does not pass.
type Outcome struct{ State, Why string }

// Expectations are the outcomes of tests by name. Their file is TOML: a table for each state, a key for each test.
type Expectations map[string]Outcome

// OutcomeOf is the outcome of a run that returned err.
func OutcomeOf(err error) Outcome {
	switch e := err.(type) {
	case nil:
		return Outcome{State: "pass"}
	case *Refusal:
		return Outcome{"skip", strings.TrimPrefix(e.Error(), "onnx: ")}
	}
	return Outcome{"fail", err.Error()}
}

// ReadExpectations reads the file, of which it understands what WriteExpectations writes.
func ReadExpectations(b []byte) (Expectations, error) {
	e := Expectations{}
	state := ""
	lines := bufio.NewScanner(bytes.NewReader(b))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] == '[' {
			state = strings.Trim(line, "[]")
			continue
		}
		var name, why string
		if _, err := fmt.Sscanf(line, "%q = %q", &name, &why); err != nil || state == "" {
			return nil, fmt.Errorf("line %d: %q: want \"group/test\" = \"why\"", n, line)
		}
		if _, twice := e[name]; twice {
			return nil, fmt.Errorf("line %d: %s stands twice", n, name)
		}
		e[name] = Outcome{state, why}
	}
	return e, lines.Err()
}

// WriteExpectations writes the file.
func WriteExpectations(w io.Writer, e Expectations) error {
	b := &bytes.Buffer{}
	fmt.Fprintln(b, "# What each of the ONNX project's backend tests (v1.20.0) does here. Written by:\n# go test ./internal/onnxtest -run Conformance -update")
	for _, state := range [...]string{"fail", "skip", "pass"} {
		fmt.Fprintf(b, "\n[%s]\n", state)
		for _, name := range slices.Sorted(maps.Keys(e)) {
			if o := e[name]; o.State == state {
				fmt.Fprintf(b, "%q = %q\n", name, o.Why)
			}
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}
