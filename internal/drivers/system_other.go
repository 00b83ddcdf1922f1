//go:build !linux

package drivers

import "io/fs"

// free is not known.
func free(string) (bytes int64, files, ok bool) { return 0, false, false }

// mine reports whether a folder is closed to others.
func mine(i fs.FileInfo) bool { return i.IsDir() && i.Mode().Perm()&0o077 == 0 }

// addressSpace is not known.
func addressSpace() string { return "unknown" }
