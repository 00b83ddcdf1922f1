package main

import "syscall"

// mount makes a file system of its own at dir.
func mount(dir, options string, readOnly bool) error {
	flags := uintptr(0)
	if readOnly {
		flags = syscall.MS_RDONLY
	}
	return syscall.Mount("tmpfs", dir, "tmpfs", flags, options)
}

func unmount(dir string) { _ = syscall.Unmount(dir, syscall.MNT_DETACH) }
