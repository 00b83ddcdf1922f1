package main

import (
	"slices"
	"strings"
)

// command is a subcommand: enhance NAME ARGUMENTS.
type command struct {
	name    string // also a file of that name can be developed, as ./NAME
	summary string // one line for --help
	run     func(e *env, args []string) int
}

var commands []*command

// register adds a subcommand; call it from init in the subcommand's file.
func register(c *command) {
	commands = append(commands, c)
	slices.SortFunc(commands, func(a, b *command) int { return strings.Compare(a.name, b.name) })
}

func lookup(name string) *command {
	for _, c := range commands {
		if c.name == name {
			return c
		}
	}
	return nil
}
