package octets

import (
	"embed"

	"enhance/internal/kerneltext"
)

//go:embed instructions.cl octets.cl store.cl copies.cl patch.cl stream.cl moments.cl codesinstructions.cl codes.cl codesstore.cl
var kernelTexts embed.FS

// Sources is the text of all kernels of this package: programs that differ in it
// may differ in speed and results.
func Sources() string { return kerneltext.All(kernelTexts) }
