package conv

import (
	"enhance/internal/planar"
)

// BuildOptions are those of all programs of [ProgramSource].
const BuildOptions = "-cl-std=CL1.2"

// ProgramSource is the text of a program with an implementation's kernels for
// samples stored as p, of shape s. Everyone compiles them as this text with [BuildOptions], so that a program that
// one has compiled another finds in the cache.
// Of the shape, padding, activation and the residual's place are part of the program.
func ProgramSource(impl Impl, p planar.Precision, s Shape) string {
	src, seen := planar.ActSource(s.Act, s.ResFirst)+planar.Source(p, s.Pad), map[string]bool{}
	for _, k := range impl.Kernels() {
		if !seen[k.Name] {
			seen[k.Name] = true
			src += k.Source
		}
	}
	return src
}
