package drivers

import (
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"enhance/internal/workers"
)

// damaged lists the files below a folder that were cut short, or are empty: shared
// libraries (.so) and LLVM's bitcode (.bc). Those that PoCL is writing are not among them: it renames
// them when they are whole.
func damaged(dir string) (bad []string) {
	var mu sync.Mutex
	top, _ := os.ReadDir(dir)
	top = slices.DeleteFunc(top, beingWritten)
	workers.Each(runtime.GOMAXPROCS(0), len(top), func(_, i int) {
		_ = filepath.WalkDir(filepath.Join(dir, top[i].Name()), func(name string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return nil // what cannot be read is PoCL's to report
			}
			check := map[string]func(*os.File, int64) bool{".so": wholeELF, ".bc": wholeBitcode}[filepath.Ext(name)]
			if check != nil && !whole(name, check) {
				mu.Lock()
				bad = append(bad, name)
				mu.Unlock()
			}
			return nil
		})
	})
	slices.Sort(bad)
	return bad
}

func whole(name string, check func(*os.File, int64) bool) bool {
	f, err := os.Open(name)
	if err != nil {
		return true // as above
	}
	defer f.Close()
	i, err := f.Stat()
	return err != nil || check(f, i.Size())
}

// wholeELF reports whether a file of 64 bits reaches as far as its header says: the table
// of sections is what linkers write last (System V ABI, chapter 4: e_shoff at byte 40,
// e_shentsize at 58, e_shnum at 60). Files of other machines pass.
func wholeELF(f *os.File, size int64) bool {
	var h [64]byte
	if _, err := f.ReadAt(h[:], 0); err != nil || string(h[:4]) != "\x7fELF" {
		return false
	}
	if h[4] != 2 || h[5] != 1 { // 64 bits, little-endian
		return true
	}
	table := binary.LittleEndian.Uint64(h[40:])
	bytes := uint64(binary.LittleEndian.Uint16(h[58:])) * uint64(binary.LittleEndian.Uint16(h[60:]))
	return table <= uint64(size) && bytes <= uint64(size)-table
}

// wholeBitcode reports whether a file is a sequence of whole blocks (LLVM Bitcode File
// Format, "Blocks"): after the magic number each begins with a word of its identifier and
// another of its length in words. The table of strings is written last (since LLVM 5).
func wholeBitcode(f *os.File, size int64) bool {
	var h [8]byte
	if _, err := f.ReadAt(h[:4], 0); err != nil || string(h[:4]) != "BC\xc0\xde" {
		return false
	}
	const strings = 23 // STRTAB_BLOCK_ID
	at, last := int64(4), uint32(0)
	for at < size {
		if _, err := f.ReadAt(h[:], at); err != nil {
			return false
		}
		last = binary.LittleEndian.Uint32(h[:]) >> 2 & 0xff // behind 2 bits that enter a block
		at += 8 + 4*int64(binary.LittleEndian.Uint32(h[4:]))
	}
	return at == size && last == strings
}
