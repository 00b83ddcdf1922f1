package main

// reportFlags are the part of flagTable for pages to look at.
var reportFlags = []flag{
	{name: "report", arg: "FILE.html", group: groupReport, commands: []string{develop}, files: true,
		help: "write a page to look at: before and after, crops, settings, time, memory",
		more: "Before is the photo developed once more, by plain bilinear interpolation, which takes time and host memory. Of several photos the first 20 have details, all of them an entry. The pictures stay the same.",
		to:   func(o *options) any { return &o.pageFile }},
	{name: "output", short: "o", arg: "FILE", group: groupOutput, commands: []string{"compare"}, files: true,
		help: "page (.html) or picture of differences (.png) to write",
		to:   func(o *options) any { return &o.output }},
	{name: "min-psnr", arg: "DB", group: groupMeasure, commands: []string{"compare"},
		help: "exit with status 8 below this CPSNR",
		to:   func(o *options) any { return &o.minPSNR }},
}
