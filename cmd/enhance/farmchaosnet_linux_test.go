package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// cable is a network that can be cut.
type cable struct {
	l  net.Listener
	to string
	mu sync.Mutex
	up map[net.Conn]bool
	no time.Time // until when it is cut

	space, link string // the network namespace at its other end, and its link on this side; "": none
}

// pull makes the cable one between network namespaces, which is cut by taking its link down:
// then packets vanish, and neither side is told.
func (c *cable) pull(t *testing.T) error {
	if os.Getuid() != 0 {
		return errors.New("that needs root")
	}
	n := os.Getpid()
	space, link, far := fmt.Sprintf("enhance-%d", n), fmt.Sprintf("en%da", n), fmt.Sprintf("en%db", n)
	near := fmt.Sprintf("10.%d.%d.", 64+n/250%64, n%250)
	t.Cleanup(func() {
		exec.Command("ip", "link", "del", link).Run()
		exec.Command("ip", "netns", "del", space).Run()
	})
	for _, command := range []string{
		"netns add " + space,
		"link add " + link + " type veth peer name " + far,
		"link set " + far + " netns " + space,
		"addr add " + near + "1/24 dev " + link,
		"link set " + link + " up",
		"-n " + space + " addr add " + near + "2/24 dev " + far,
		"-n " + space + " link set " + far + " up",
		"-n " + space + " link set lo up",
	} {
		if out, err := exec.Command("ip", strings.Fields(command)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", command, err, out)
		}
	}
	l, err := net.Listen("tcp", near+"1:0")
	if err != nil {
		return err
	}
	c.l.Close()
	c.l, c.space, c.link = l, space, link
	t.Cleanup(func() { l.Close() })
	go c.accept(l)
	return nil
}

func newCable(t *testing.T, to string) *cable {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{l: l, to: to, up: map[net.Conn]bool{}}
	t.Cleanup(func() { l.Close(); c.end() })
	go c.accept(l)
	return c
}

func (c *cable) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go c.join(conn)
	}
}

func (c *cable) address() string { return c.l.Addr().String() }

func (c *cable) join(a net.Conn) {
	defer a.Close()
	b, err := net.Dial("tcp", c.to)
	if err != nil {
		return
	}
	defer b.Close()
	c.mu.Lock()
	if time.Now().Before(c.no) {
		c.mu.Unlock()
		return
	}
	c.up[a], c.up[b] = true, true
	c.mu.Unlock()
	go func() { io.Copy(a, b); a.Close() }()
	io.Copy(b, a)
	c.mu.Lock()
	delete(c.up, a)
	delete(c.up, b)
	c.mu.Unlock()
}

// cut cuts the network for a while: it takes the link down, or ends all connections and
// refuses new ones.
func (c *cable) cut(d time.Duration) error {
	if c.space != "" {
		err := exec.Command("ip", "link", "set", c.link, "down").Run()
		time.AfterFunc(d, func() { exec.Command("ip", "link", "set", c.link, "up").Run() })
		return err
	}
	c.mu.Lock()
	c.no = time.Now().Add(d)
	c.mu.Unlock()
	c.end()
	return nil
}

// end ends all connections.
func (c *cable) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.up {
		conn.Close()
	}
}
