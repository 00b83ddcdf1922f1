package clrt

// Hook lets f see every raw call of the library, below all bookkeeping, until
// restore is called. next makes the real call.
func Hook(d *Device, f func(name string, args []uintptr, next func() uintptr) uintptr) (restore func()) {
	h := hookFunc(func(s symbol, args []uintptr, next func() uintptr) uintptr { return f(s.String(), args, next) })
	d.lib.hook.Store(&h)
	return func() { d.lib.hook.Store(nil) }
}

// PendingTransfers returns how many transfers of q are pinned.
func PendingTransfers(q *Queue) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.pending)
}

// OpenEvents returns how many events of q are not closed.
func OpenEvents(q *Queue) int { return len(q.snapshotEvents()) }

// SymbolNames returns the names of all bound functions.
func SymbolNames() []string { return symbolNames[:] }

// Entry makes a cache entry; DecodeEntry reads one.
var DecodeEntry = decodeEntry

// PruneCache bounds a folder of entries.
var PruneCache = pruneCache

func Entry(key [32]byte, payload []byte) []byte {
	return append(entryHeader(key, payload), payload...)
}

// ShareAtMost bounds how many programs a context holds, until undone.
func ShareAtMost(n int) (undo func()) {
	before := mostShared
	mostShared = n
	return func() { mostShared = before }
}

// SharedPrograms is how many programs the context holds.
func (c *Context) SharedPrograms() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.programs)
}

// Preloaded waits for a program that is being preloaded, and reports whether there is one.
func (d *Device) Preloaded(source, options string) bool {
	e := d.openCache(source, fullOptions(options))
	load, ok := d.preloaded.Load(e.key)
	return ok && load.(func() []byte)() != nil
}
