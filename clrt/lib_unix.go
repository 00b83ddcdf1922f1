//go:build (linux || darwin) && !android && !ios && (amd64 || arm64 || loong64 || riscv64)

package clrt

import (
	"runtime"

	"github.com/ebitengine/purego"
)

// defaultLibraries lists where to look for OpenCL, best first. The name with
// the version is the one that a run-time installation has.
func defaultLibraries() []string {
	if runtime.GOOS == "darwin" {
		return []string{"/System/Library/Frameworks/OpenCL.framework/OpenCL"}
	}
	return []string{"libOpenCL.so.1", "libOpenCL.so"}
}

func openLibrary(path string) (uintptr, error) {
	return purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

func lookup(handle uintptr, name string) (uintptr, error) {
	return purego.Dlsym(handle, name)
}

func rawCall(fn uintptr, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(fn, args...)
	return r
}
