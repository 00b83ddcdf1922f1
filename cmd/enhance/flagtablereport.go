package main

import "slices"

// reportFlags are the part of flagTable for pages to look at.
var reportFlags = []flag{
	{name: "report", arg: "FILE.html", group: groupReport, commands: []string{develop}, files: true,
		help: "write a page to look at: before and after, crops, settings, time, memory",
		more: "Before is the photo developed once more, by plain bilinear interpolation, which takes time and host memory. Of several photos the first 20 have details, all of them an entry. The pictures stay the same.",
		to:   func(o *options) any { return &o.pageFile }},
	{name: "output", short: "o", arg: "DIR", group: groupOutput, commands: []string{"watch"}, files: true,
		help: "directory for the pictures; it is made",
		to:   func(o *options) any { return &o.output }},
	{name: "poll", arg: "SECONDS", group: groupPhoto, commands: []string{"watch"},
		help: "look through the folder so often, for network file systems",
		more: "Without it the system tells of new files, which it does not for those that another machine writes.",
		to:   func(o *options) any { return &o.poll }},
	{name: "output", short: "o", arg: "FILE", group: groupOutput, commands: []string{"compare"}, files: true,
		help: "page (.html) or picture of differences (.png) to write",
		to:   func(o *options) any { return &o.output }},
	{name: "min-psnr", arg: "DB", group: groupMeasure, commands: []string{"compare"},
		help: "exit with status 8 below this CPSNR",
		to:   func(o *options) any { return &o.minPSNR }},
}

// watchTakes are flags of the main command that watch takes beside the settings of pictures.
var watchTakes = []string{"recursive", "quiet", "help", "device", "mem", "host-mem", "jobs", "no-tune"}

// withWatch has watch take flags of the main command.
func withWatch(table []flag) []flag {
	for i := range table {
		if f := &table[i]; f.takes(develop) && (isSetting(f) || slices.Contains(watchTakes, f.name)) {
			f.commands = append(slices.Clone(f.commands), "watch")
		}
	}
	return table
}
