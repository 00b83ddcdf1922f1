package main

import "runtime/debug"

// What pages hold of a photo with details.
const (
	detailSide  = 1600 // pixels of the longer side
	detailCrops = 4
	cropSide    = 256
)

// programName is this program and its version, for pages.
func programName() string {
	info, _ := debug.ReadBuildInfo()
	return "enhance " + versionOf(info)
}
