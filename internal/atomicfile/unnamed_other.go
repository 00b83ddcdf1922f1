//go:build !linux

package atomicfile

import (
	"errors"
	"os"
)

// openUnnamed is for Linux; elsewhere temporary files have names.
func openUnnamed(string) *os.File { return nil }

func linkOpen(*os.File, string) error { return errors.ErrUnsupported }

func renameNoReplace(old, new string) error { return errors.ErrUnsupported }
