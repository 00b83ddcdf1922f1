package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"enhance/internal/farm/queue"
)

// chaosEnv is how many photos the test of a farm has: from 600 on it is the long form, with
// a disk that is full for 30 s.
const chaosEnv = "ENHANCE_FARM_CHAOS"

// poison is in the names of photos that kill the process that opens them.
const poison = "poison"

func init() { programs["enhance-poisoned"] = dieOfPoison }

// dieOfPoison has a process of this program be killed by such photos.
func dieOfPoison() {
	beforePhoto = func(name string) {
		if strings.Contains(name, poison) {
			fmt.Fprintf(os.Stderr, "about to open %s\n", name)
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	main()
}

// TestFarmChaos runs a farm of real processes through what may happen: workers and the
// server are killed, a worker is stopped for longer than its lease, the network is cut,
// the disk is full for a while, photos kill whoever opens them or cannot be read, and
// everything is submitted twice. Then every result is there once, what failed is named,
// and the queue is empty. After that the queue is lost, some results too, and everything
// is submitted again: only what is missing is computed.
func TestFarmChaos(t *testing.T) {
	if testing.Short() {
		t.Skip("half a minute of killing")
	}
	n := 150
	if text := os.Getenv(chaosEnv); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	c := newChaos(t, n)
	if err := c.cables[0].pull(t); err != nil {
		c.log("no network namespace (%v): all cuts are those of a proxy", err)
	} else {
		c.log("workers 0, 2 and 4 are in a network namespace, on a cable that is pulled; the others reach the server by a proxy")
	}
	c.log("%d photos, %d of them a second name of another, %d that kill, %d that cannot be read; %d workers", n, n/10, c.poisoned, c.unreadable, chaosWorkers)
	c.serve()
	ctx, stop := context.WithCancel(t.Context())
	var trouble sync.WaitGroup
	for i := range chaosWorkers {
		trouble.Go(func() { c.keepWorker(ctx, i) })
	}
	c.submit()
	trouble.Go(func() { c.trouble(ctx) })
	c.submit()
	c.await()
	stop()
	trouble.Wait()
	c.check("after the trouble")

	c.log("the queue is wiped, and every 7th result removed")
	c.killServer()
	if err := os.RemoveAll(c.queueDir); err != nil {
		t.Fatal(err)
	}
	removed := c.removeResults(7)
	before := c.receipts()
	c.serve()
	c.submit()
	ctx, stop = context.WithCancel(t.Context())
	for i := range chaosWorkers {
		trouble.Go(func() { c.keepWorker(ctx, i) })
	}
	c.await()
	stop()
	trouble.Wait()
	c.check("after the second submission")
	made := 0
	for key, r := range c.receipts() {
		if old, there := before[key]; !there {
			made++
		} else if old.Worker != r.Worker || old.Made != r.Made {
			t.Errorf("the result of %s was made again", r.Source)
		}
	}
	if made != removed {
		t.Errorf("%d results were removed and %d made", removed, made)
	}
	c.log("%d results were removed and %d made", removed, made)
	if left, _ := filepath.Glob(c.temporary + "/*"); len(left) > 0 {
		t.Errorf("%d folders of killed processes are left: %v", len(left), left)
	}
}

const (
	chaosWorkers = 6
	chaosLease   = 3 // seconds
)

// chaos is a farm in trouble.
type chaos struct {
	t                    *testing.T
	program              string
	photos, out          string
	results              string // where workers put them: out, or a URL
	queueDir             string
	address              string    // of the server
	cables               [2]*cable // by which workers reach it: those of even numbers by the first
	long                 bool      // the long form
	temporary            string    // the folder for temporary files
	start                time.Time
	small                bool // the disk can be filled
	poisoned, unreadable int
	want                 map[string]bool // outputs
	flags                []string

	mu      sync.Mutex
	server  *exec.Cmd
	workers [chaosWorkers]*exec.Cmd
	kills   int
}

func newChaos(t *testing.T, n int) *chaos {
	program, err := exec.LookPath("enhance-poisoned")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c := &chaos{t: t, program: program, photos: filepath.Join(dir, "photos"), out: filepath.Join(dir, "out"), queueDir: filepath.Join(dir, "queue"), temporary: filepath.Join(dir, "tmp"), long: n >= 600, start: time.Now(), want: map[string]bool{},
		flags: []string{"-m", "pynet-m-random:1,size=tiny", "--raw-size", "256x192", "--cfa", "RGGB"}}
	c.results = c.out
	if err := errors.Join(os.MkdirAll(c.out, 0o755), os.MkdirAll(c.temporary, 0o755)); err != nil {
		t.Fatal(err)
	}
	if canMount(t) {
		size := fmt.Sprintf("size=%dm", 48+n/6)
		if err := syscall.Mount("tmpfs", c.out, "tmpfs", 0, size); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { syscall.Unmount(c.out, syscall.MNT_DETACH) })
		c.small = true
	}
	c.makePhotos(n)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c.address = l.Addr().String()
	l.Close()
	c.cables = [2]*cable{newCable(t, c.address), newCable(t, c.address)}
	t.Cleanup(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, p := range append(c.workers[:], c.server) {
			if p != nil {
				p.Process.Kill()
				p.Wait()
			}
		}
	})
	return c
}

// makePhotos makes n photos: every tenth is another's copy, some kill and some are none.
func (c *chaos) makePhotos(n int) {
	data, err := os.ReadFile("../../testdata/raw/DSC_1339_768x512_rggb.raw")
	if err != nil {
		c.t.Fatal(err)
	}
	c.poisoned, c.unreadable = min(10, max(1, n/50)), min(10, max(1, n/50))
	put := func(name string, contents []byte, good bool) {
		path := filepath.Join(c.photos, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, contents, 0o644)); err != nil {
			c.t.Fatal(err)
		}
		if good {
			c.want[strings.TrimSuffix(name, ".raw")+".png"] = true
		}
	}
	const w, h = 256, 192
	var last []byte
	for i := range n {
		name := fmt.Sprintf("%02d/%d/p%05d.raw", i%7, i%3, i)
		photo := last
		if i%10 != 9 {
			photo = nil
			x, y := i*2%500, i*6%300
			for r := range h {
				photo = append(photo, data[2*((y+r)*768+x):][:2*w]...)
			}
			photo[0], photo[2] = byte(i), byte(i>>8) // no two alike
		}
		put(name, photo, true)
		last = photo
	}
	for i := range c.poisoned {
		put(fmt.Sprintf("%d/%s%d.raw", i%3, poison, i), append(bytes.Clone(last), 0, byte(i)), false)
	}
	for i := range c.unreadable {
		put(fmt.Sprintf("damaged%d.raw", i), []byte{1, 2, byte(i)}, false)
	}
}

func (c *chaos) log(format string, args ...any) {
	c.t.Logf("%6.1f s  %s", time.Since(c.start).Seconds(), fmt.Sprintf(format, args...))
}

// begin starts the program, in a network namespace if space is not empty.
func (c *chaos) begin(out io.Writer, space string, args ...string) *exec.Cmd {
	cmd := exec.Command(c.program, args...)
	if space != "" { // ip becomes the program, so that signals reach it
		cmd = exec.Command("ip", append([]string{"netns", "exec", space, c.program}, args...)...)
	}
	cmd.Env = append(os.Environ(), "TMPDIR="+c.temporary)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		c.t.Error(err)
		return nil
	}
	return cmd
}

func (c *chaos) serve() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.server = c.begin(io.Discard, "", "farm", "serve", "--listen", c.address, "--queue", c.queueDir, "--lease", strconv.Itoa(chaosLease))
	for range 200 {
		if conn, err := net.Dial("tcp", c.address); err == nil {
			conn.Close()
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	c.t.Fatal("the server does not start")
}

func (c *chaos) killServer() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.server.Process.Kill()
	c.server.Wait()
	c.server = nil
}

// submit submits everything; the server may be away for a while.
func (c *chaos) submit() {
	for range 20 {
		args := append([]string{"farm", "submit", c.photos, "--nats", "nats://" + c.address}, c.flags...)
		out, err := exec.Command(c.program, args...).CombinedOutput()
		if err == nil {
			c.log("submitted: %s", bytes.TrimSpace(out))
			return
		}
		c.log("a submission failed and is repeated: %s", bytes.TrimSpace(out))
		time.Sleep(time.Second)
	}
	c.t.Fatal("nothing can be submitted")
}

// keepWorker keeps a worker running.
func (c *chaos) keepWorker(ctx context.Context, i int) {
	for ctx.Err() == nil {
		var out bytes.Buffer
		args := []string{"farm", "work", "--photos", c.photos, "--results", c.results, "--nats", "nats://" + c.cables[i%2].address(), "-g", "host", "-j", "1"}
		w := c.begin(&out, c.cables[i%2].space, args...)
		if w == nil {
			return
		}
		c.mu.Lock()
		c.workers[i] = w
		c.mu.Unlock()
		ended := make(chan error, 1)
		go func() { ended <- w.Wait() }()
		select {
		case err := <-ended:
			if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				c.log("worker %d ended by itself (%v): %s", i, err, lastLine(out.String()))
			}
		case <-ctx.Done():
			w.Process.Signal(syscall.SIGCONT)
			w.Process.Signal(os.Interrupt)
			select {
			case <-ended:
			case <-time.After(20 * time.Second):
				c.t.Errorf("worker %d does not end: %s", i, out.String())
				w.Process.Kill()
				<-ended
			}
		}
		c.mu.Lock()
		c.workers[i] = nil
		c.mu.Unlock()
		time.Sleep(200 * time.Millisecond)
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// client joins the farm past the cable.
func (c *chaos) client() *queue.Queue {
	for {
		q, err := queue.Connect(c.t.Context(), queue.Options{URL: "nats://" + c.address})
		if err == nil {
			return q
		}
		if c.t.Context().Err() != nil {
			c.t.Fatal(err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// await waits until nothing waits or runs.
func (c *chaos) await() {
	q := c.client()
	defer q.Close()
	deadline := time.Now().Add(30 * time.Minute)
	last := time.Now()
	for time.Now().Before(deadline) {
		time.Sleep(500 * time.Millisecond)
		s, err := q.Status(c.t.Context())
		if err != nil || len(s.Orders) == 0 {
			continue
		}
		o := s.Orders[0]
		if time.Since(last) > 5*time.Second {
			last = time.Now()
			c.log("%d of %d done, %d wait, %d given up, %d in work, %d workers", o.Done, o.Photos, o.Waiting, o.Dead, s.Running, len(s.Workers))
		}
		if o.Waiting == 0 && s.Running == 0 && o.Photos > 0 {
			c.log("%d of %d done, %d given up", o.Done, o.Photos, o.Dead)
			return
		}
	}
	c.t.Fatal("the farm does not end")
}
