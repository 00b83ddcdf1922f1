package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"enhance/internal/suggest"
)

const (
	helpWidth  = 80 // columns of a page of help
	helpColumn = 26 // where descriptions begin
)

const (
	aboutProgram = "enhance develops camera RAW photos with a neural network, on any OpenCL device,\nwithin a memory budget.\n"

	developAbout = `Photos are DNG files, camera makers' formats (through LibRaw), 16-bit gray PNG and TIFF
mosaics (with --cfa), and headerless files (with --raw-size and --cfa). A photo named -
comes from standard input. The budget (--mem) never changes the picture.

Of several photos those that fail are named, the others are developed, and the exit
status is 1. Photos whose names differ in the extension only keep it: a.dng.png.

Standard output carries the picture (-o -) or the report (--json, --dry-run, lists),
never both. Everything else goes to standard error. Sizes are WxH, columns x rows.`
)

// examples are command lines for help and the manual page.
var examples = []string{
	"enhance photo.dng -o photo.png",
	"enhance *.dng -o developed/ --exposure auto",
	"enhance -r card/ -o developed/ --skip-existing",
	"enhance photo.dng -o - -f tiff -b 16 | ...",
}

var helpCommand = &command{name: "help", summary: "print all flags (help all), or the help of a command", usage: []string{"help [all | COMMAND]"},
	about: "Prints the short help, all of it, or that of a command.", run: runHelp,
	words: func() []string { return append([]string{"all"}, commandNames()...) }}

func runHelp(c *call) error {
	switch {
	case len(c.args) == 0:
		return c.printHelp(commands[0])
	case len(c.args) == 1 && c.args[0] == "all":
		return c.printAllHelp()
	}
	if cmd, rest := lookup(c.args); cmd.name != develop && len(rest) == 0 {
		return c.printHelp(cmd)
	}
	name := strings.Join(c.args, " ")
	known := []string{"all"}
	for _, k := range commands {
		if !k.hidden() && k.name != develop {
			known = append(known, k.name)
		}
	}
	if near := suggest.Question(name, known); near != "" {
		return usagef("help %s: no such command%s", name, near)
	}
	return usagef("help %s: no such command: want %s", name, alternatives(append([]string{"all"}, commandNames()...)))
}

// printHelp prints the help of a command: of the main one, the flags that photos need.
func (c *call) printHelp(cmd *command) error {
	if len(c.args) == 1 && c.args[0] == "all" && cmd.name == develop { // enhance --help all
		return c.printAllHelp()
	}
	var b strings.Builder
	switch {
	case cmd.name == develop:
		b.WriteString(aboutProgram + "\n")
		for _, line := range examples {
			fmt.Fprintf(&b, "  %s\n", line)
		}
		writeFlags(&b, flagsOf(develop), true)
		writeCommands(&b, "Commands", slices.DeleteFunc(slices.Clone(commands), func(c *command) bool { return c.minor }))
		b.WriteString("\nenhance help all explains every flag; enhance help COMMAND explains a command.\nMore commands: " + strings.Join(minorCommands(), ", ") + ".\n")
	case cmd.run == nil:
		fmt.Fprintf(&b, "%s: %s.\n", cmd.called(), cmd.summary)
		writeCommands(&b, "Commands", family(cmd.name))
		fmt.Fprintf(&b, "\n%s COMMAND --help explains a command.\n", cmd.called())
	default:
		for _, line := range cmd.usage {
			fmt.Fprintf(&b, "enhance %s\n", line)
		}
		writeParagraphs(&b, cmd.about)
		writeFlags(&b, flagsOf(cmd.name), false)
	}
	_, err := io.WriteString(c.stdout, b.String())
	return err
}

// minorCommands are those whose names alone are in the short help.
func minorCommands() (names []string) {
	for _, c := range commands {
		if c.minor && !c.hidden() {
			names = append(names, c.name)
		}
	}
	return names
}

// printAllHelp prints all about the main command, and the exit statuses.
func (c *call) printAllHelp() error {
	var b strings.Builder
	b.WriteString(aboutProgram + "\n")
	for _, line := range examples {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	writeParagraphs(&b, developAbout)
	writeFlags(&b, flagsOf(develop), false)
	writeCommands(&b, "Commands", commands)
	b.WriteString("\nExit status\n")
	for _, e := range exitTexts {
		writeEntry(&b, fmt.Sprintf("  %3d", e.code), e.text, 7)
	}
	b.WriteString("\nEnvironment\n")
	for _, v := range variables {
		writeEntry(&b, "  "+v.name, v.text, helpColumn)
	}
	_, err := io.WriteString(c.stdout, b.String())
	return err
}

// variables are the environment variables that enhance reads.
var variables = []struct{ name, text string }{
	{"ENHANCE_CACHE_DIR", "directory for compiled programs and measurements, or off; by default the user's cache directory"},
	{"ENHANCE_OPENCL_LIB", "path of the OpenCL library"},
	{"ENHANCE_LIBRAW_LIB", "path of the LibRaw library"},
	{compilersEnv, "number of processes that compile kernels beside enhance, 0 for none"},
}

// writeFlags lists flags by group; only the basic ones, in short, if asked.
func writeFlags(b *strings.Builder, flags []*flag, basic bool) {
	for g := range groups {
		titled := false
		for _, f := range flags {
			if f.group != g || basic && !f.basic {
				continue
			}
			if !titled {
				fmt.Fprintf(b, "\n%s\n", groupTitles[g])
				titled = true
			}
			short := "    "
			if f.short != "" {
				short = "-" + f.short + ", "
			}
			writeEntry(b, "  "+short+f.usage(), f.text(!basic), helpColumn)
		}
	}
}

// usage is the flag with its argument.
func (f *flag) usage() string { return strings.TrimSuffix("--"+f.name+" "+f.arg, " ") }

// text describes the flag: in a phrase, or in full.
func (f *flag) text(full bool) string {
	s := f.help
	if f.def != "" {
		s += " (default " + f.def + ")"
	}
	if full && f.repeats() {
		s += "; can be repeated"
	}
	if full && f.more != "" {
		s += ". " + f.more
	}
	return s
}

// writeCommands lists commands with their summaries.
func writeCommands(b *strings.Builder, title string, list []*command) {
	fmt.Fprintf(b, "\n%s\n", title)
	for _, c := range list {
		if c.name == develop || c.hidden() || strings.Contains(c.name, " ") && list[0].name == develop {
			continue
		}
		writeEntry(b, "  "+c.name, c.summary, 16)
	}
}

// writeParagraphs writes texts that empty lines part, wrapped unless they are indented.
func writeParagraphs(b *strings.Builder, text string) {
	for _, p := range strings.Split(text, "\n\n") {
		b.WriteString("\n")
		if strings.HasPrefix(p, " ") {
			b.WriteString(p + "\n")
			continue
		}
		for _, line := range wrap(p, helpWidth) {
			b.WriteString(line + "\n")
		}
	}
}

// writeEntry writes a name and, from a column on, what it means.
func writeEntry(b *strings.Builder, name, text string, column int) {
	lines := wrap(text, helpWidth-column)
	if utf8.RuneCountInString(name) > column-2 {
		fmt.Fprintln(b, name)
		name = ""
	}
	for _, line := range lines {
		fmt.Fprintf(b, "%-*s%s\n", column, name, line)
		name = ""
	}
}

// wrap breaks a text between words into lines of at most so many characters.
func wrap(text string, width int) (lines []string) {
	line, n := "", 0
	for _, word := range strings.Fields(text) {
		size := utf8.RuneCountInString(word)
		if n > 0 && n+1+size > width {
			lines, line, n = append(lines, line), "", 0
		}
		if n > 0 {
			line, n = line+" ", n+1
		}
		line, n = line+word, n+size
	}
	return append(lines, line)
}
