package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

var versionCommand = &command{name: "version", minor: true, summary: "print the version", usage: []string{"version"},
	about: "Prints the module's version or the commit of the build, the Go version and the platform.", run: func(c *call) error {
		if err := c.wantNoArguments(); !c.version && err != nil {
			return err
		}
		info, _ := debug.ReadBuildInfo()
		_, err := fmt.Fprintf(c.stdout, "enhance %s, %s, %s/%s\n", versionOf(info), runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return err
	}}

// versionOf names a build: the module's version if it has one, and the commit, its time
// and whether the working tree differed from it, if the build recorded them.
func versionOf(info *debug.BuildInfo) string {
	if info == nil {
		return "unknown"
	}
	version := info.Main.Version
	if version == "" || version == "(devel)" {
		version = "development"
	}
	vcs := map[string]string{}
	for _, s := range info.Settings {
		vcs[s.Key] = s.Value
	}
	var parts []string
	if r := vcs["vcs.revision"]; r != "" {
		parts = append(parts, "commit "+r[:min(12, len(r))])
	}
	if t := vcs["vcs.time"]; t != "" {
		parts = append(parts, t)
	}
	if vcs["vcs.modified"] == "true" {
		parts = append(parts, "modified")
	}
	if len(parts) > 0 {
		version += " (" + strings.Join(parts, ", ") + ")"
	}
	return version
}
