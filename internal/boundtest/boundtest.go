// Package boundtest bounds what a reader takes for an input that it does not trust: memory
// in proportion to the input, and an end. Tests and fuzz targets of parsers call [Run].
package boundtest

import (
	"fmt"
	"runtime"
	"testing"
	"time"
)

// Longest is how long a reader may take for an input of a fuzz target, a megabyte at most,
// on a machine that has much else to do.
const Longest = 30 * time.Second

// Run calls read, which reads an input of size bytes. All that it allocates together, what
// was freed meanwhile counted in, must be within fixed bytes and perByte for each of the
// input; the test fails otherwise. If read takes longer than Longest, the process ends with
// the stacks of all goroutines, as fuzzing needs to keep the input.
func Run(t testing.TB, size int, fixed, perByte uint64, read func()) {
	t.Helper()
	watch := time.AfterFunc(Longest, func() {
		panic(fmt.Sprintf("%s: an input of %d bytes is still being read after %v", t.Name(), size, Longest))
	})
	defer watch.Stop()
	before := allocated()
	read()
	if n := allocated() - before; n > fixed+perByte*uint64(size) {
		t.Fatalf("%d bytes were allocated for an input of %d bytes, at most %d and %d a byte are right", n, size, fixed, perByte)
	}
}

// allocated is what this process allocated so far.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
