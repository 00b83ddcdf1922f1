package atomicfile

import (
	"errors"
	"syscall"
)

// The errors of a file that cannot be replaced although files can be made beside it.
var (
	errImmutable = errors.New("the file cannot be changed (its immutable or append-only attribute is set)")
	errSticky    = errors.New("the file belongs to another user, and only owners replace files in this directory")
	errMount     = errors.New("something is mounted on the file")
)

// pathMax is how long a path may be, its final NUL included, where the system bounds it.
const pathMax = 4096

// checkReplace reports why the existing file target will not be replaced by a rename, as
// far as the system tells before it is tried: by then the contents have been computed.
func checkReplace(target string) error {
	if len(tempName(target)) >= pathMax { // a finished file has that name for an instant
		return syscall.ENAMETOOLONG
	}
	return replaceable(target, dirOf(target))
}

// replaceHint says what to do about an error of checkReplace.
func replaceHint(err error) string {
	switch {
	case errors.Is(err, errImmutable):
		return "chattr -ia removes the attribute; or choose another name"
	case errors.Is(err, errSticky), errors.Is(err, errMount), errors.Is(err, syscall.ENAMETOOLONG):
		return "choose another name"
	}
	return ""
}
