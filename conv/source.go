package conv

import (
	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/model"
)

// BuildOptions are those of all programs of [ProgramSource].
const BuildOptions = "-cl-std=CL1.2"

// ProgramSource is the text of a program with an implementation's kernels for
// samples stored as p and padded as pad. Everyone compiles them as this text with [BuildOptions], so that a program that
// one has compiled another finds in the cache.
// act is the activation of the shape.
func ProgramSource(impl Impl, p planar.Precision, pad model.PadMode, act fuse.Act) string {
	src, seen := planar.ActSource(act)+planar.Source(p, pad), map[string]bool{}
	for _, k := range impl.Kernels() {
		if !seen[k.Name] {
			seen[k.Name] = true
			src += k.Source
		}
	}
	return src
}
