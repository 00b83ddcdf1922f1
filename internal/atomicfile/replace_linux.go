package atomicfile

import "golang.org/x/sys/unix"

// replaceable asks the system about the attributes, the owner and the mounts of a file and
// its directory (statx(2), unlink(2)). What cannot be asked is not refused.
func replaceable(target, dir string) error {
	var file, in unix.Statx_t
	const want = unix.STATX_UID | unix.STATX_MODE
	if unix.Statx(unix.AT_FDCWD, target, unix.AT_SYMLINK_NOFOLLOW, want, &file) != nil || unix.Statx(unix.AT_FDCWD, dir, 0, want, &in) != nil {
		return nil
	}
	has := func(attribute uint64) bool { return file.Attributes&file.Attributes_mask&attribute != 0 }
	user := uint32(unix.Geteuid())
	switch {
	case has(unix.STATX_ATTR_IMMUTABLE) || has(unix.STATX_ATTR_APPEND):
		return errImmutable
	case has(unix.STATX_ATTR_MOUNT_ROOT):
		return errMount
	case in.Mode&unix.S_ISVTX != 0 && file.Uid != user && in.Uid != user && !ownsAll():
		return errSticky
	}
	return nil
}

// ownsAll reports whether the process may do what owners may with all files
// (capabilities(7), CAP_FOWNER).
func ownsAll() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return unix.Capget(&header, &data[0]) == nil && data[0].Effective&(1<<unix.CAP_FOWNER) != 0
}
