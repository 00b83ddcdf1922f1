package main

import "slices"

// serverFlags are the part of flagTable for a process that stays.
var serverFlags = []flag{
	{name: "socket", arg: "PATH", group: groupDevice, commands: []string{develop, "serve"}, files: true,
		help: "socket of enhance serve, in place of the default",
		more: "The default is enhance.sock in XDG_RUNTIME_DIR, else serve.sock in the cache directory.",
		to:   func(o *options) any { return &o.socket }},
	{name: "no-server", group: groupDevice, commands: []string{develop},
		help: "develop in this process even if enhance serve runs",
		to:   func(o *options) any { return &o.noServer }},
}

// serveTakes are flags of the main command that serve takes.
var serveTakes = []string{"device", "mem", "host-mem", "jobs", "quiet", "help"}

// withServer has serve take flags of the main command.
func withServer(table []flag) []flag {
	for i := range table {
		if f := &table[i]; f.takes(develop) && slices.Contains(serveTakes, f.name) {
			f.commands = append(slices.Clone(f.commands), "serve")
		}
	}
	return table
}
