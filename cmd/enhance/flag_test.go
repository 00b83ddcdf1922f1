package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestFlagTable: every flag belongs to commands that exist, no command has two flags of
// one name or letter, and every command that runs has help.
func TestFlagTable(t *testing.T) {
	known := map[string]bool{}
	for _, c := range commands {
		known[c.name] = true
		names := map[string]bool{}
		for _, f := range flagsOf(c.name) {
			for _, n := range []string{"--" + f.name, "-" + f.short} {
				if n != "-" && names[n] {
					t.Errorf("%s has two flags %s", c.called(), n)
				}
				names[n] = true
			}
		}
		if c.run != nil && !c.hidden() && (!names["--help"] || c.about == "" || len(c.usage) == 0) {
			t.Errorf("%s lacks --help, a usage line or a description", c.called())
		}
	}
	for i := range flagTable {
		f := &flagTable[i]
		for _, c := range f.commands {
			if !known[c] {
				t.Errorf("--%s belongs to %q, which is no command", f.name, c)
			}
		}
		if len(f.commands) == 0 || f.help == "" || strings.HasSuffix(f.help, ".") || f.more != "" && !strings.HasSuffix(f.more, ".") {
			t.Errorf("--%s: commands %q, help %q, more %q", f.name, f.commands, f.help, f.more)
		}
		if _, isSwitch := f.to(&options{}).(*bool); isSwitch != (f.arg == "") {
			t.Errorf("--%s has the argument %q", f.name, f.arg)
		}
	}
}

// TestParseFlags: every flag of every command reaches its own field, from the defaults of
// the table.
func TestParseFlags(t *testing.T) {
	for _, cmd := range commands {
		if cmd.run == nil {
			continue
		}
		for _, f := range flagsOf(cmd.name) {
			if f.name == "help" || f.name == "version" {
				continue
			}
			c := &call{cmd: cmd}
			args := []string{"--" + f.name}
			if f.arg != "" {
				args[0] += "=7"
			}
			if err := c.parseFlags(args); err != nil {
				t.Errorf("%s %q: %v", cmd.called(), args, err)
				continue
			}
			ok := false
			switch p := f.to(&c.options).(type) {
			case *string:
				ok = *p == "7"
			case *bool:
				ok = *p
			case *int:
				ok = *p == 7
			case *uint64:
				ok = *p == 7
			case *float64:
				ok = *p == 7
			case *[]string:
				ok = slices.Equal(*p, []string{"7"})
			}
			if !ok || !c.given[f.name] {
				t.Errorf("%s %q does not reach its field", cmd.called(), args)
			}
		}
	}
	c := &call{cmd: commands[0]}
	if err := c.parseFlags(nil); err != nil || c.bits != 8 || c.quality != 92 || c.precision != "fp32" || len(c.given) > 0 {
		t.Errorf("defaults: %+v, %v", c.options, err)
	}
}

// TestRun: the program as a function of its arguments.
func TestRun(t *testing.T) {
	for _, c := range []struct {
		args           string
		code           int
		stdout, stderr string
	}{
		{"", exitUsage, "", "enhance: no photo given"},
		{"version", exitOK, "enhance ", ""},
		{"--help", exitOK, "enhance develops", ""},
		{"explain --help", exitOK, "enhance explain", ""},
		{"explain", exitUsage, "", "enhance: explain: want one photo, or --size WxH"},
		{"model", exitUsage, "", "enhance: model: want info, import, quantize or run"},
		{"completion zsh", exitOK, "#compdef", ""},
		{"--mem=x a.dng", exitUsage, "", `enhance: --mem: "x"`},
		{"missing.dng -g host", exitIO, "", "enhance: missing.dng: "},
	} {
		var stdout, stderr bytes.Buffer
		if code := run(strings.Fields(c.args), &stdout, &stderr); code != c.code {
			t.Errorf("%q: status %d, want %d", c.args, code, c.code)
		}
		for _, x := range []struct{ got, want string }{{stdout.String(), c.stdout}, {stderr.String(), c.stderr}} {
			if !strings.HasPrefix(x.got, x.want) || x.want == "" && x.got != "" {
				t.Errorf("%q printed %q, want %q", c.args, x.got, x.want)
			}
		}
	}
}

// TestHelpWidth: no line of any help is wider than a terminal.
func TestHelpWidth(t *testing.T) {
	for _, cmd := range commands {
		if cmd.hidden() {
			continue
		}
		var out bytes.Buffer
		c := &call{env: &env{stdout: &out}, cmd: cmd}
		if err := c.printHelp(cmd); err != nil {
			t.Fatal(err)
		}
		if cmd.name == develop {
			if err := c.printAllHelp(); err != nil {
				t.Fatal(err)
			}
		}
		for _, line := range strings.Split(out.String(), "\n") {
			if n := utf8.RuneCountInString(line); n > helpWidth {
				t.Errorf("%s: %d columns: %s", cmd.called(), n, line)
			}
		}
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  []string
	}{
		{"", 5, []string{""}},
		{"one two three", 7, []string{"one two", "three"}},
		{"one two three", 6, []string{"one", "two", "three"}},
		{"overlong x", 3, []string{"overlong", "x"}},
		{"é é é", 3, []string{"é é", "é"}},
	} {
		if got := wrap(c.text, c.width); !slices.Equal(got, c.want) {
			t.Errorf("%q in %d columns: %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

// TestElsewhere: names of other programs lead to flags that there are, and are none themselves.
func TestElsewhere(t *testing.T) {
	known := map[string]bool{}
	for _, f := range flagsOf(develop) {
		known[f.name] = true
	}
	for theirs, ours := range elsewhere {
		if !known[ours] || known[theirs] {
			t.Errorf("--%s: want a name that is no flag, for --%s, which is one", theirs, ours)
		}
	}
}
