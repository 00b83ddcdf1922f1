//go:build !amd64

package planar

const unit = 16

var converts = false

func halvesOf(*byte, *float32, int) {}
func floatsOf(*float32, *byte, int) {}
