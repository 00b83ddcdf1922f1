package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"enhance/internal/compilers"
	"enhance/internal/drivers"
	"enhance/internal/suggest"
	"enhance/pipeline"
)

// command is something that enhance does.
type command struct {
	name    string   // as on the command line, "model info"; develop for the main one
	summary string   // a phrase for lists of commands
	usage   []string // command lines, without the program's name
	about   string   // paragraphs for help
	run     func(c *call) error
	words   func() []string // that its arguments may be, for completion
	files   bool            // its arguments are files
	minor   bool            // only its name is in the short help
}

// develop is the name of the main command, which has none on the command line.
const develop = "enhance"

// commands are all of them, in the order of help. A name with two words belongs to a
// family, whose first word alone is a command without run.
var commands []*command

func init() {
	commands = []*command{
		{name: develop, summary: "develop photos", usage: []string{"PHOTO... [-o PATH] [FLAGS]"}, about: developAbout, run: runDevelop, files: true},
		applyCommand, classifyCommand, compareCommand, watchCommand, serveCommand, inspectCommand, explainCommand, planTableCommand, tuneCommand, selftestCommand,
		{name: "model", summary: "convert weights, describe a network, run one on a tensor"},
		modelInfoCommand, modelImportCommand, modelQuantizeCommand, modelRunCommand,
		{name: "bench", minor: true, summary: "time networks, convolutions and matrix products"},
		benchNetCommand, benchConvCommand, benchGEMMCommand, benchLadderCommand,
		evalCommand,
		{name: "farm", summary: "develop an archive on many machines"},
		farmRunCommand, farmServeCommand, farmSubmitCommand, farmWorkCommand, farmStatusCommand, farmRetryCommand, farmCancelCommand, farmFetchCommand, farmVerifyCommand, farmKeysCommand, farmMakeCommand,
		helpCommand, versionCommand, completionCommand, manCommand, completeCommand,
	}
}

// called is the command as it is typed.
func (c *command) called() string {
	if c.name == develop {
		return develop
	}
	return develop + " " + c.name
}

// hidden reports whether a command is for scripts of shells only.
func (c *command) hidden() bool { return c.summary == "" }

// has reports whether the command takes a flag.
func (c *command) has(flagName string) bool {
	return slices.ContainsFunc(flagTable, func(f flag) bool { return f.name == flagName && f.takes(c.name) })
}

// family lists the commands whose first word is name.
func family(name string) (all []*command) {
	for _, c := range commands {
		if strings.HasPrefix(c.name, name+" ") {
			all = append(all, c)
		}
	}
	return all
}

// lookup finds the command that arguments begin with, and the arguments after its name.
// It is the main command if they begin with none.
func lookup(args []string) (*command, []string) {
	for words := min(2, len(args)); words > 0; words-- {
		name := strings.Join(args[:words], " ")
		for _, c := range commands {
			if c.name == name && name != develop {
				return c, args[words:]
			}
		}
	}
	return commands[0], args
}

// call is one run of a command: the outside world, the arguments, and what they say of
// how the network runs.
type call struct {
	*env
	options
	cmd   *command
	args  []string        // that are no flags
	given map[string]bool // flags on the command line, by name
	set   pipeline.Settings
	// passedOver are the drivers that are not used, once OpenCL is loaded; see drivers.go.
	passedOver    func() []drivers.Failure
	compilers     *compilers.Pool // nil: kernels are compiled in this process
	mostCompilers int             // processes besides this one; below 0: what there is room for
	// firstUse, if set, is called where no process has tried the drivers yet.
	firstUse func()
}

// dispatch runs the command that args name. It returns the exit status.
func (e *env) dispatch(args []string) int {
	cmd, rest := lookup(args)
	c := &call{env: e, cmd: cmd, passedOver: func() []drivers.Failure { return nil }}
	if cmd.run == nil {
		return e.exit(c.runFamily(rest))
	}
	if cmd == completeCommand { // whose arguments are another command line
		c.args = rest
		return e.exit(cmd.run(c))
	}
	if err := c.parseFlags(rest); err != nil {
		return e.exit(err)
	}
	switch {
	case c.help:
		return e.exit(c.printHelp(cmd))
	case c.version:
		return e.exit(versionCommand.run(c))
	}
	if err := c.settings(); err != nil {
		return e.exit(err)
	}
	if err := c.checkAddresses(); err != nil {
		return e.exit(err)
	}
	c.tryDrivers()
	return e.exit(cmd.run(c))
}

// wants is the error of a command line without the arguments of its command.
func (c *call) wants(what string) error {
	return usagef("%s: want %s: %s", c.cmd.name, what, "enhance "+c.cmd.usage[0])
}

// runFamily is for the first word of a family alone: it helps, or says what is missing.
func (c *call) runFamily(args []string) error {
	var known []string
	for _, m := range family(c.cmd.name) {
		known = append(known, strings.TrimPrefix(m.name, c.cmd.name+" "))
	}
	want := fmt.Sprintf("want %s: see %s --help", alternatives(known), c.cmd.called())
	switch {
	case len(args) == 0:
		return usagef("%s: %s", c.cmd.name, want)
	case args[0] == "-h" || args[0] == "--help":
		return c.printHelp(c.cmd)
	}
	if near := suggest.Question(args[0], known); near != "" {
		want = near[2:] + " See " + c.cmd.called() + " --help"
	}
	return usagef("%s %s: no such command: %s", c.cmd.name, args[0], want)
}

// alternatives joins words by commas and "or".
func alternatives(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// commandNames are the words that a command line may begin with.
func commandNames() (names []string) {
	for _, c := range commands {
		if c.name != develop && !c.hidden() && !strings.Contains(c.name, " ") {
			names = append(names, c.name)
		}
	}
	return names
}

// mistyped returns an error for a first photo that is not there and looks like the name
// of a command, nil for others.
func mistyped(photo string) error {
	if filepath.Ext(photo) != "" || strings.ContainsRune(photo, filepath.Separator) {
		return nil
	}
	if _, err := os.Lstat(photo); err == nil {
		return nil
	}
	switch photo {
	case "devices", "device", "list-devices":
		return usagef("%s: no such file and no such command: did you mean enhance --list-devices?", photo)
	}
	near := suggest.Nearest(photo, commandNames())
	switch near {
	case "":
		return nil
	case photo:
		return usagef("%s: no such file; a command comes before its flags: enhance %s ...", photo, photo)
	}
	return usagef("%s: no such file and no such command: did you mean enhance %s?", photo, near)
}
