package wgmma

import (
	"embed"

	"enhance/conv/kerneltext"
)

//go:embed wgmma.cl instructions.cl
var kernelTexts embed.FS

// Sources is the text of all kernels of this package: programs that differ in it
// may differ in speed and results.
func Sources() string { return kerneltext.All(kernelTexts) }
