//go:build !((linux || darwin) && !android && !ios && (amd64 || arm64 || loong64 || riscv64))

package clrt

import "errors"

// The calls pass 64-bit flags in one machine word each, so 32-bit processors
// need a binding of their own; Windows needs its own way to load a library.

var errUnsupported = errors.New("OpenCL is not bound on this operating system or processor")

func defaultLibraries() []string { return nil }

func openLibrary(string) (uintptr, error) { return 0, errUnsupported }

func lookup(uintptr, string) (uintptr, error) { return 0, errUnsupported }

// rawCall is never reached: without a library there is nothing to call.
func rawCall(uintptr, ...uintptr) uintptr { panic("clrt: call without a library") }
