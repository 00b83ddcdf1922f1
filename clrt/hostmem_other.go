//go:build !unix

package clrt

// systemMemory is size bytes of Go's memory.
func systemMemory(size int64) ([]byte, error) { return make([]byte, size), nil }

func freeSystemMemory([]byte) error { return nil }
