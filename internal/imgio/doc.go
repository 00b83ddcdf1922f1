// Package imgio writes finished pictures row by row and reads reference pictures.
//
// Writers take interleaved RGB rows of 16-bit samples and implement
// [RowWriter]:
//
//   - [NewPNG]: 8 or 16 bits, streaming; png.go, filter.go
//   - [NewTIFF]: 8 or 16 bits or floats, plain (streaming) or deflate (needs a seeker); tiff.go
//   - [NewJPEG]: 8 bits, of any chroma subsampling, streaming; jpeg.go
//     (file), jpegencoder.go (pixels to units), jpegblocks.go (blocks to bits)
//   - [Oriented] wraps any of them and turns the picture upright; orient.go
//
// Every format says what its samples mean (Header.Encoding), sRGB unless told otherwise: by
// chunks in PNG (pngcolour.go), by a profile of package icc in TIFF and JPEG. Camera data travels as an EXIF block
// (exif.go), which readers of RAW files make.
//
// PNG rows, TIFF strips and bands of JPEGs are compressed in blocks of fixed size on all cores
// and written in order (blocks.go), so that the bytes do not depend on the number
// of cores.
//
// [ReadRGB16] reads PNG, TIFF and JPEG files to 16 bits; read.go.
package imgio
