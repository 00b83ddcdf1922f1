//go:build unix

package clrt

import "golang.org/x/sys/unix"

// systemMemory is size bytes that Go's collector does not count: it would otherwise let as
// much garbage grow beside them.
func systemMemory(size int64) ([]byte, error) {
	return unix.Mmap(-1, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
}

func freeSystemMemory(p []byte) error { return unix.Munmap(p) }
