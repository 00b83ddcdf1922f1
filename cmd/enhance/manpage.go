package main

import (
	"fmt"
	"io"
	"strings"
)

var manCommand = &command{name: "man", minor: true, summary: "print the manual page", usage: []string{"man > enhance.1"},
	about: "Prints the manual page in roff, for man -l or a directory of manual pages.", run: func(c *call) error {
		if err := c.wantNoArguments(); err != nil {
			return err
		}
		_, err := io.WriteString(c.stdout, manPage())
		return err
	}}

// manPage is the manual page in the man macros of roff, from the tables that help is
// made of.
func manPage() string {
	var b strings.Builder
	b.WriteString(".TH ENHANCE 1 \"\" \"enhance\" \"User Commands\"\n.SH NAME\n")
	b.WriteString("enhance \\- develop camera RAW photos with a neural network\n.SH SYNOPSIS\n")
	for _, c := range commands {
		for _, line := range c.usage {
			fmt.Fprintf(&b, ".B enhance\n%s\n.br\n", roff(line))
		}
	}
	b.WriteString(".SH DESCRIPTION\n" + paragraphs(aboutProgram+"\n"+developAbout))
	b.WriteString(".SH OPTIONS\n" + manFlags(flagsOf(develop), "SS"))
	b.WriteString(".SH COMMANDS\n")
	for _, c := range commands {
		if c.name == develop || c.run == nil || c.hidden() {
			continue
		}
		fmt.Fprintf(&b, ".SS %s\n", roff(c.called()))
		b.WriteString(paragraphs(c.about))
		b.WriteString(manFlags(flagsOf(c.name), ""))
	}
	b.WriteString(".SH EXIT STATUS\n")
	for _, e := range exitTexts {
		fmt.Fprintf(&b, ".TP\n.B %d\n%s\n", e.code, roff(e.text))
	}
	b.WriteString(".SH ENVIRONMENT\n")
	for _, v := range variables {
		fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(v.name), roff(v.text))
	}
	b.WriteString(".SH EXAMPLES\n.nf\n")
	for _, line := range examples {
		b.WriteString(roff(line) + "\n")
	}
	b.WriteString(".fi\n")
	return b.String()
}

// manFlags lists flags by group, under headings of a macro if there is one.
func manFlags(flags []*flag, heading string) string {
	var b strings.Builder
	for g := range groups {
		titled := heading == ""
		for _, f := range flags {
			if f.group != g || heading == "" && f.name == "help" {
				continue
			}
			if !titled {
				fmt.Fprintf(&b, ".%s %s\n", heading, roff(groupTitles[g]))
				titled = true
			}
			names := `\fB` + roff("--"+f.name) + `\fR`
			if f.short != "" {
				names = `\fB` + roff("-"+f.short) + `\fR, ` + names
			}
			if f.arg != "" {
				names += ` \fI` + roff(f.arg) + `\fR`
			}
			fmt.Fprintf(&b, ".TP\n%s\n%s\n", names, roff(f.text(true)))
		}
	}
	return b.String()
}

// paragraphs sets texts that empty lines part, as they are if they are indented.
func paragraphs(text string) string {
	var b strings.Builder
	for _, p := range strings.Split(strings.TrimSpace(text), "\n\n") {
		b.WriteString(".PP\n")
		if !strings.HasPrefix(p, " ") {
			b.WriteString(roff(p) + "\n")
			continue
		}
		b.WriteString(".nf\n")
		for _, line := range strings.Split(p, "\n") {
			b.WriteString(roff(line) + "\n")
		}
		b.WriteString(".fi\n")
	}
	return b.String()
}

// roff escapes what roff would take for a command: backslashes, hyphens, and a dot or a
// quote at the beginning of a line.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ").Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
