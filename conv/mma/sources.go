package mma

import (
	"embed"

	"enhance/internal/kerneltext"
)

//go:embed *.cl
var kernelTexts embed.FS

// Sources is the text of all kernels of this package, as templates where they
// are: programs that differ in it may differ in speed and results.
func Sources() string { return kerneltext.All(kernelTexts) }
