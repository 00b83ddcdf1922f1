//go:build !linux

package atomicfile

func replaceable(target, dir string) error { return nil }
