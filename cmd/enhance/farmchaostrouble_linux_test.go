package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// trouble makes trouble until ctx ends.
func (c *chaos) trouble(ctx context.Context) {
	for round := 0; ; round++ {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(1000+rand.IntN(1500)) * time.Millisecond):
		}
		i := rand.IntN(chaosWorkers)
		switch round % 8 {
		case 2:
			c.log("the server is killed")
			c.killServer()
			time.Sleep(time.Second)
			c.serve()
		case 4:
			if c.signal(i, syscall.SIGSTOP) {
				c.log("worker %d is stopped for longer than its lease", i)
				time.AfterFunc(2*chaosLease*time.Second, func() { c.signal(i, syscall.SIGCONT) })
			}
		case 5:
			k := round / 8 % 2
			d := 4 * time.Second
			if k == 0 && c.cables[k].space != "" {
				d = 3 * chaosLease * time.Second
			}
			c.log("the network of workers %d, %d and %d is cut for %v", k, k+2, k+4, d)
			if err := c.cables[k].cut(d); err != nil {
				c.t.Error(err)
			}
		case 6:
			if round == 6 && c.small {
				c.fillDisk(ctx)
			}
		default:
			if c.signal(i, syscall.SIGKILL) {
				c.mu.Lock()
				c.kills++
				c.mu.Unlock()
				c.log("worker %d is killed", i)
			}
		}
	}
}

func (c *chaos) signal(i int, s syscall.Signal) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.workers[i] != nil && c.workers[i].Process.Signal(s) == nil
}

// fullTime is how long the disk is full.
func (c *chaos) fullTime() time.Duration {
	if c.long {
		return 30 * time.Second
	}
	return 8 * time.Second
}

// fillDisk leaves no room for results for a while.
func (c *chaos) fillDisk(ctx context.Context) {
	ballast := filepath.Join(c.out, ".ballast")
	f, err := os.Create(ballast)
	if err != nil {
		c.t.Error(err)
		return
	}
	block := make([]byte, 1<<12)
	n := 0
	for ; err == nil; n++ {
		_, err = f.Write(block)
	}
	f.Close()
	if !errors.Is(err, syscall.ENOSPC) {
		c.t.Error(err)
	}
	c.log("the disk is full: %d MB of ballast", n>>8)
	select {
	case <-ctx.Done():
	case <-time.After(c.fullTime()):
	}
	os.Remove(ballast)
	c.log("the disk has room again")
}
