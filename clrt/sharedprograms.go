package clrt

import "errors"

// sharedPrograms are programs that a context holds until it is closed, by key of the cache:
// [Context.Build] gives out the same program again. They are those of drivers that keep
// programs themselves (see keptByDriver): to find what it kept, PoCL preprocesses the whole
// source, which takes 15 ms. A session opens an engine for every size of photo, and a network
// has up to 40 programs.
type sharedPrograms map[[32]byte]sharedProgram

type sharedProgram struct {
	id  uintptr // with a reference of the context's own
	log string
}

// mostShared bounds what a context holds while algorithms of all kinds are measured in it; tests lower it.
var mostShared = 128

// sharedProgram gives out a program that the context holds, or nil.
func (c *Context) sharedProgram(e *cacheEntry) *Program {
	if !e.enabled() {
		return nil
	}
	s, ok := c.retainShared(e.key)
	if !ok {
		return nil
	}
	p := &Program{ctx: c, log: s.log, fromCache: true}
	p.ref.id = s.id
	c.register(p)
	return p
}

func (c *Context) retainShared(key [32]byte) (sharedProgram, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.programs[key]
	return s, ok && check(symRetainProgram, c.lib.call(symRetainProgram, s.id), "") == nil
}

// share has the context hold a program that was just built, if that saves the driver work.
func (c *Context) share(e *cacheEntry, p *Program) {
	if !e.enabled() || c.dev.info.Platform != poclPlatform || p.use() != nil {
		return
	}
	defer p.done()
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.programs[e.key]; ok {
		return
	}
	if len(c.programs) == mostShared {
		for key, s := range c.programs { // any one makes room
			c.lib.call(symReleaseProgram, s.id)
			delete(c.programs, key)
			break
		}
	}
	if check(symRetainProgram, c.lib.call(symRetainProgram, p.ref.id), "") != nil {
		return
	}
	if c.programs == nil {
		c.programs = sharedPrograms{}
	}
	c.programs[e.key] = sharedProgram{p.ref.id, p.log}
}

// releaseShared releases the programs that the context holds.
func (c *Context) releaseShared() (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.programs {
		err = errors.Join(err, check(symReleaseProgram, c.lib.call(symReleaseProgram, s.id), ""))
	}
	c.programs = nil
	return err
}
