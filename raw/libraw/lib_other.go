//go:build !((linux || darwin) && !android && !ios && (amd64 || arm64 || loong64 || riscv64))

package libraw

// Serve says that LibRaw is not bound here: Windows has its own way to hand a process a
// descriptor and to load a library, and 32-bit processors other layouts.
func Serve() int { return 1 }

const supported = false
