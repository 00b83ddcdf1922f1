package clrt

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"
)

// A cache entry is a file named by the key of a program:
//
//	bytes  0..7   "ENHCLPRG"
//	bytes  8..11  version of the format, little-endian as all numbers
//	bytes 12..43  key: SHA-256 of all that the binary depends on
//	bytes 44..51  length of the binary
//	bytes 52..83  SHA-256 of the binary
//	bytes 84..    the binary
//
// The key within catches entries under a wrong name, the checksum those that
// were cut or damaged. Nothing about the cache is an error to the caller: what
// cannot be read is compiled, what cannot be written is not kept.
const (
	cacheMagic   = "ENHCLPRG"
	cacheVersion = 1
	cacheHeader  = 8 + 4 + 32 + 8 + 32
)

// cacheDirEnv overrides the folder of the cache; "off" disables it.
const cacheDirEnv = "ENHANCE_CACHE_DIR"

// CacheDir returns the program's folder for what it keeps under that name, or ""
// for none.
func CacheDir(name string) string {
	switch dir := os.Getenv(cacheDirEnv); dir {
	case "off":
		return ""
	case "":
		base, err := os.UserCacheDir()
		if err != nil {
			return ""
		}
		return filepath.Join(base, "enhance", name)
	default:
		return filepath.Join(dir, name)
	}
}

// cacheEntry is the place of one program in the cache; the zero value is that
// of a disabled cache.
type cacheEntry struct {
	path string
	key  [32]byte
}

// Cached reports whether a program is in the cache, so that [Context.Build] need not compile
// it. It does not read the entry.
func (d *Device) Cached(source, options string) bool {
	e := d.openCache(source, fullOptions(options))
	if !e.enabled() {
		return false
	}
	info, err := os.Stat(e.path)
	return err == nil && info.Mode().IsRegular()
}

// Preload begins to read programs from the cache into memory, where [Context.Build] finds them: while a context
// opens, drivers keep the process from getting memory, and reading takes long then. A program stays there until
// it is built.
func (d *Device) Preload(sources []string, options string) {
	full := fullOptions(options)
	for _, source := range sources {
		e := d.openCache(source, full)
		if !e.enabled() {
			return
		}
		load := sync.OnceValue(e.load)
		d.preloaded.Store(e.key, load)
		go load()
	}
}

// takePreloaded is a program's entry, from memory if it was preloaded.
func (d *Device) takePreloaded(e *cacheEntry) []byte {
	if load, ok := d.preloaded.LoadAndDelete(e.key); ok {
		if kept := load.(func() []byte)(); kept != nil {
			return kept
		}
	}
	return e.load()
}

func (d *Device) openCache(source, options string) cacheEntry {
	dir := CacheDir("programs")
	if dir == "" {
		return cacheEntry{}
	}
	i := &d.info
	h := sha256.New()
	var n [8]byte
	for _, s := range []string{cacheMagic, strconv.Itoa(cacheVersion), i.Platform, i.Name, i.DriverVersion, i.Version, source, options} {
		binary.LittleEndian.PutUint64(n[:], uint64(len(s))) // so that no two lists run together
		h.Write(n[:])
		h.Write([]byte(s))
	}
	e := cacheEntry{key: [32]byte(h.Sum(nil))}
	e.path = filepath.Join(dir, hex.EncodeToString(e.key[:])+".clbin")
	return e
}

func (e *cacheEntry) enabled() bool { return e.path != "" }

// load returns the binary, or nil where there is none that is whole. What is
// not is removed.
func (e *cacheEntry) load() []byte {
	if !e.enabled() {
		return nil
	}
	if info, err := os.Stat(e.path); err != nil || !info.Mode().IsRegular() || info.Size() > cacheLimit {
		return nil
	}
	data, err := os.ReadFile(e.path)
	if err != nil {
		return nil
	}
	payload := decodeEntry(data, e.key)
	if payload == nil {
		e.drop()
		return nil
	}
	now := time.Now()
	_ = os.Chtimes(e.path, now, now) // used: what is not goes first (see pruneCache)
	return payload
}

// decodeEntry returns the binary of an entry, or nil where the entry is
// damaged or not that of the key.
func decodeEntry(data []byte, key [32]byte) []byte {
	if len(data) <= cacheHeader {
		return nil
	}
	head, payload := data[:cacheHeader], data[cacheHeader:]
	if !bytes.Equal(head, entryHeader(key, payload)) {
		return nil
	}
	return payload
}

func entryHeader(key [32]byte, payload []byte) []byte {
	sum := sha256.Sum256(payload)
	h := make([]byte, 0, cacheHeader)
	h = append(h, cacheMagic...)
	h = binary.LittleEndian.AppendUint32(h, cacheVersion)
	h = append(h, key[:]...)
	h = binary.LittleEndian.AppendUint64(h, uint64(len(payload)))
	return append(h, sum[:]...)
}

func (e *cacheEntry) drop() { _ = os.Remove(e.path) }

// store writes beside the entry and renames, so that no reader, in this or
// another process, sees half of one.
func (e *cacheEntry) store(payload []byte) {
	if len(payload) == 0 || os.MkdirAll(filepath.Dir(e.path), 0o755) != nil {
		return
	}
	f, err := os.CreateTemp(filepath.Dir(e.path), ".new-*")
	if err != nil {
		return
	}
	_, err = f.Write(append(entryHeader(e.key, payload), payload...))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), e.path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return
	}
	pruneCache(filepath.Dir(e.path), cacheLimit)
}

// cacheLimit bounds the bytes of the cache: some hundred programs of GPUs and thousands of
// CPUs, those of drivers and versions that are gone among them.
const cacheLimit = 512 << 20

// pruneCache removes the entries that were not used for longest until the rest is within
// the limit. What another process removes meanwhile is removed.
func pruneCache(dir string, limit int64) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	var all []fs.FileInfo
	sum := int64(0)
	for _, f := range files {
		if i, err := f.Info(); err == nil && i.Mode().IsRegular() && filepath.Ext(i.Name()) == ".clbin" {
			all, sum = append(all, i), sum+i.Size()
		}
	}
	slices.SortFunc(all, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, i := range all {
		if sum <= limit {
			return
		}
		_ = os.Remove(filepath.Join(dir, i.Name()))
		sum -= i.Size()
	}
}
