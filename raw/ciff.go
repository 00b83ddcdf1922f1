package raw

import (
	"encoding/binary"
	"io"

	"enhance/raw/rawerr"
	"enhance/raw/tiff"
)

// checkCIFF reports how a Canon CRW file (Camera Image File Format) is damaged
// or cut short: its last four bytes say where the root directory lies, from the heap's
// start, which the header names; the directory counts its entries, and each names its bytes in the heap.
func checkCIFF(r io.ReaderAt, size int64) error {
	cut := func(what string) error {
		return rawerr.Formatf("crw", "%s: the file is damaged or cut short", what)
	}
	head, tail := make([]byte, 6), make([]byte, 4)
	if size < 32 {
		return cut("there is no header")
	}
	if err := tiff.ReadFull(r, head, 0); err != nil {
		return err
	}
	if err := tiff.ReadFull(r, tail, size-4); err != nil {
		return err
	}
	order := binary.ByteOrder(binary.LittleEndian)
	if head[0] == 'M' {
		order = binary.BigEndian
	}
	heap, end := int64(order.Uint32(head[2:])), size-4
	root := heap + int64(order.Uint32(tail))
	if root+2 > end {
		return cut("the directory is missing")
	}
	count := make([]byte, 2)
	if err := tiff.ReadFull(r, count, root); err != nil {
		return err
	}
	n := int64(order.Uint16(count))
	if n == 0 || root+2+10*n > end {
		return cut("the directory is missing")
	}
	entries := make([]byte, 10*n)
	if err := tiff.ReadFull(r, entries, root+2); err != nil {
		return err
	}
	const inEntry = 1 << 14 // of the tag: the value lies in the entry itself
	for ; len(entries) > 0; entries = entries[10:] {
		if order.Uint16(entries)&inEntry != 0 {
			continue
		}
		if heap+int64(order.Uint32(entries[6:]))+int64(order.Uint32(entries[2:])) > end {
			return cut("the directory names data beyond the file's end")
		}
	}
	return nil
}
