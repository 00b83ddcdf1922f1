package main

// reportFlags are the part of flagTable for pages to look at.
var reportFlags = []flag{
	{name: "output", short: "o", arg: "FILE", group: groupOutput, commands: []string{"compare"}, files: true,
		help: "page (.html) or picture of differences (.png) to write",
		to:   func(o *options) any { return &o.output }},
	{name: "min-psnr", arg: "DB", group: groupMeasure, commands: []string{"compare"},
		help: "exit with status 8 below this CPSNR",
		to:   func(o *options) any { return &o.minPSNR }},
}
