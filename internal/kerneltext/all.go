package kerneltext

import (
	"io/fs"
	"strings"
)

// All joins the files of an embedded folder, names included, in order of their
// names: what a hash of kernel sources is made from.
func All(files fs.FS) string {
	var b strings.Builder
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, path)
		b.WriteString(path + "\x00")
		b.Write(text)
		b.WriteByte(0)
		return err
	})
	if err != nil {
		panic("kerneltext: " + err.Error()) // the files are part of the program
	}
	return b.String()
}
