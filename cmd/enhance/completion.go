package main

import (
	"fmt"
	"io"
	"strings"

	"enhance/internal/suggest"
)

var completionCommand = &command{name: "completion", minor: true, summary: "print completions for bash, zsh or fish", usage: []string{"completion bash|zsh|fish"},
	about: `Prints a script that completes commands, flags and their values:

  bash: source <(enhance completion bash)
  zsh:  source <(enhance completion zsh)
  fish: enhance completion fish | source`, run: runCompletion, words: shells}

func shells() []string { return []string{"bash", "zsh", "fish"} }

func runCompletion(c *call) error {
	if len(c.args) != 1 {
		return usagef("completion: want one of %s", alternatives(shells()))
	}
	script, ok := completionScripts[c.args[0]]
	if !ok {
		return usagef("completion: %q: want %s%s", c.args[0], alternatives(shells()), suggest.Question(c.args[0], shells()))
	}
	_, err := io.WriteString(c.stdout, script)
	return err
}

// completionScripts ask this program what a command line could go on with. It answers
// with a candidate a line, each with a tab and a description, and with ":files" where
// names of files could stand.
var completionScripts = map[string]string{
	"bash": `# Completion of enhance for bash.
_enhance() {
    local line cur=${COMP_WORDS[COMP_CWORD]}
    COMPREPLY=()
    [[ $cur == = ]] && cur=
    while IFS= read -r line; do
        if [[ $line == :files ]]; then
            compopt -o filenames 2>/dev/null
            while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$cur")
        else
            COMPREPLY+=("${line%%$'\t'*}")
        fi
    done < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _enhance enhance
`,
	"zsh": `#compdef enhance
# Completion of enhance for zsh.
_enhance() {
    local line files
    local -a found
    while IFS= read -r line; do
        if [[ $line == :files ]]; then
            files=1
        elif [[ $line == *$'\t'* ]]; then
            found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
        else
            found+=("${line//:/\\:}")
        fi
    done < <($words[1] __complete "${(@)words[2,CURRENT]}" 2>/dev/null)
    if (( $#found )); then _describe enhance found; fi
    if [[ -n $files ]]; then _files; fi
}
(( $+functions[compdef] )) && compdef _enhance enhance
`,
	"fish": `# Completion of enhance for fish.
function __enhance_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in ($words[1] __complete $words[2..-1] 2>/dev/null)
        if test "$line" = ":files"
            __fish_complete_path (commandline -ct)
        else
            echo $line
        end
    end
end
complete -c enhance -f -a '(__enhance_complete)'
`,
}

// completeCommand answers the scripts. It has no summary, so help leaves it out.
var completeCommand = &command{name: "__complete", run: func(c *call) error {
	for _, x := range complete(c.args) {
		if _, err := fmt.Fprintln(c.stdout, x); err != nil {
			return err
		}
	}
	return nil
}}

// complete lists what the last word, which may be empty, could become.
func complete(words []string) []string {
	words = joinEquals(words)
	if len(words) == 0 {
		words = []string{""}
	}
	current, before := words[len(words)-1], words[:len(words)-1]
	cmd, _ := lookup(before)
	if f := awaiting(cmd, before); f != nil {
		return valuesOf(f, "", current)
	}
	if name, value, ok := strings.Cut(current, "="); ok && strings.HasPrefix(name, "--") {
		for _, f := range flagsOf(cmd.name) {
			if "--"+f.name == name && f.arg != "" {
				return valuesOf(f, name+"=", value)
			}
		}
		return nil
	}
	a := answers{typed: current}
	if strings.HasPrefix(current, "-") {
		for _, f := range flagsOf(cmd.name) {
			a.add("--"+f.name, f.help)
		}
		return a.all
	}
	for _, m := range family(cmd.name) {
		a.add(strings.TrimPrefix(m.name, cmd.name+" "), m.summary)
	}
	if len(before) == 0 {
		for _, m := range commands {
			if m.name != develop && !m.hidden() && !strings.Contains(m.name, " ") {
				a.add(m.name, m.summary)
			}
		}
	}
	if cmd.words != nil {
		a.addAll(cmd.words())
	}
	if cmd.files {
		a.all = append(a.all, ":files")
	}
	return a.all
}

// valuesOf lists what the value of a flag could become behind a prefix.
func valuesOf(f *flag, prefix, typed string) []string {
	a := answers{prefix: prefix, typed: typed}
	if f.words != nil {
		a.addAll(f.words())
	}
	if f.files && prefix == "" {
		a.all = append(a.all, ":files")
	}
	return a.all
}

// answers are words that begin with what is typed, with a tab before what they mean.
type answers struct {
	prefix, typed string
	all           []string
}

func (a *answers) add(word, about string) {
	if strings.HasPrefix(word, a.typed) {
		a.all = append(a.all, strings.TrimSuffix(a.prefix+word+"\t"+about, "\t"))
	}
}

func (a *answers) addAll(words []string) {
	for _, w := range words {
		a.add(w, "")
	}
}

// awaiting is the flag whose value the next word is, nil if it is none.
func awaiting(cmd *command, before []string) *flag {
	if len(before) == 0 {
		return nil
	}
	last := before[len(before)-1]
	for _, f := range flagsOf(cmd.name) {
		if f.arg != "" && (last == "--"+f.name || f.short != "" && last == "-"+f.short) {
			return f
		}
	}
	return nil
}

// joinEquals undoes what bash does to --flag=value, three words of it: the flag and its
// value remain, as if written --flag value.
func joinEquals(words []string) (out []string) {
	for i, w := range words {
		if w != "=" {
			out = append(out, w)
		} else if i == len(words)-1 {
			out = append(out, "")
		}
	}
	return out
}
