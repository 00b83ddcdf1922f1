// Package metadata rewrites what a photo's file says about the photo for a file that is
// made of it:
//
//   - exif.go: [Exif] makes a block for PNG, TIFF and JPEG; [ParseExif] gives its
//     directories to writers of other TIFF-structured files;
//   - xmp.go: [XMP] checks an XMP packet and leaves out what is true of the source only.
//
// Both take bytes of files that may be damaged, and return an error for those: callers
// leave them out and say so. Nothing here knows pixels.
package metadata
