package wgmma

import (
	"embed"

	"enhance/internal/kerneltext"
)

//go:embed instructions.cl patch.cl products.cl sums.cl wgmma.cl
var kernelTexts embed.FS

// Sources is the text of all kernels of this package: programs that differ in it
// may differ in speed and results.
func Sources() string { return kerneltext.All(kernelTexts) }
