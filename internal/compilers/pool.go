package compilers

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"enhance/clrt"
)

// Options of a [Pool].
type Options struct {
	// Command is the executable's path and then its arguments, the name that it is
	// called by first, with which it calls [Serve].
	Command []string
	// Most bounds the processes beside the calling one; below 0 the cores that the
	// process may use, the device's memory and the host's do.
	Most int
	// Patience is how long a process may take for one program; 0 for two minutes.
	Patience time.Duration
	// Debug, if set, is told what was done, from any goroutine.
	Debug func(text string)
}

// Pool compiles in several processes, of which the calling one is the first: it
// takes a program whenever it compiles none, so that where there is only one no
// process is started. Each takes a program at a time from one queue, in the order in
// which they were asked for, so that unequal ones are shared out evenly. It is safe
// for use by many goroutines. It needs no closing after [Pool.Rest].
type Pool struct {
	opt Options

	mu         sync.Mutex
	busy       bool   // the calling process compiles
	queue      []*job // in the order in which they were asked for
	own        []*job // that only the calling process can do
	devices    map[*clrt.Device]*deviceProcesses
	stats      Stats
	told       Stats       // of them
	generation int         // processes of earlier ones are to go
	working    map[int]int // processes by generation
	moved      sync.Cond
}

// deviceProcesses are the compilers of a device.
type deviceProcesses struct {
	id       clrt.Identity
	most     int // processes that there may be; below 0: not asked since Rest
	idle     int // that wait for a program, or will when they have the device
	lost     int
	expected int // programs that Expect foresees
	opening  int // that do not have the device yet
	starting map[*child]bool
}

// maxOpening is how many processes open a device at a time. NVIDIA's driver has them
// wait for each other: one alone takes 0.34 s on an H200, two 0.5, three 0.67, and of 15
// none is ready before 3 s.
const maxOpening = 3

// maxLost is how many processes of a device may be lost before no more are started.
const maxLost = 3

var _ clrt.Compiler = (*Pool)(nil)

// Stats say what a pool did since it was made.
type Stats struct {
	Processes int // that were started and had the device
	Lost      int // that could not be started, or ended by themselves
	There     int // programs that processes compiled
	Here      int // programs that the calling process compiled
}

// job is a program that waits for a compiler.
type job struct {
	device          *clrt.Device
	options, source string
	answer          chan []byte // nil: compile it here
}

// New returns a pool without processes.
func New(o Options) *Pool {
	if o.Patience == 0 {
		o.Patience = 2 * time.Minute
	}
	f := &Pool{opt: o, devices: map[*clrt.Device]*deviceProcesses{}, working: map[int]int{}}
	f.moved.L = &f.mu
	return f
}

// Stats returns what the pool did so far.
func (f *Pool) Stats() Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stats
}

// Width is the number of processes that there may be, the calling one included.
func (f *Pool) Width(d *clrt.Device) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return 1 + f.processes(d).most
}

// processes are the device's, with the number of processes that there may be by now.
func (f *Pool) processes(d *clrt.Device) *deviceProcesses {
	c := f.devices[d]
	if c == nil {
		c = &deviceProcesses{most: -1, starting: map[*child]bool{}}
		var err error
		if c.id, err = d.Identity(); err != nil {
			c.lost = maxLost
		}
		f.devices[d] = c
	}
	if c.most < 0 {
		c.most = mostNow(d.Info())
		if f.opt.Most >= 0 {
			c.most = min(c.most, f.opt.Most)
		}
	}
	if c.lost >= maxLost {
		c.most = 0
	}
	return c
}

// Compile implements [clrt.Compiler].
func (f *Pool) Compile(d *clrt.Device, source, options string) (binary []byte, done func()) {
	f.mu.Lock()
	if !f.busy {
		f.busy = true
		f.stats.Here++
		f.mu.Unlock()
		return nil, f.leave
	}
	j := &job{device: d, options: options, source: source, answer: make(chan []byte, 1)}
	f.queue = append(f.queue, j)
	f.startProcess(d)
	f.moved.Broadcast()
	f.mu.Unlock()
	if binary = <-j.answer; binary == nil {
		return nil, f.leave
	}
	return binary, func() {}
}

// Expect implements [clrt.Compiler]: it starts processes before there are programs.
func (f *Pool) Expect(d *clrt.Device) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.processes(d)
	c.expected = c.most
	f.startProcess(d)
}

// leave passes the turn in the calling process on.
func (f *Pool) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.busy = false
	f.here()
}

// here has the calling process take the next program, if it compiles none: first
// those that nobody else can do.
func (f *Pool) here() {
	if f.busy {
		return
	}
	from := &f.own
	if len(f.own) == 0 {
		from = &f.queue
	}
	if len(*from) == 0 {
		return
	}
	j := (*from)[0]
	*from = (*from)[1:]
	f.busy = true
	f.stats.Here++
	j.answer <- nil
}

// startProcess starts a process if a device has more programs waiting than processes that
// are free, or will be.
func (f *Pool) startProcess(d *clrt.Device) {
	c, waiting, all := f.processes(d), 0, 0
	for _, j := range f.queue {
		if j.device == d {
			waiting++
		}
	}
	for _, n := range f.working {
		all += n
	}
	if waiting+c.expected > c.idle && all < c.most && c.opening < maxOpening {
		c.idle++
		c.opening++
		f.working[f.generation]++
		go f.runProcess(d, c, f.generation)
	}
}

// runProcess is a process's life, until Rest or a failure ends it. The goroutine keeps
// its thread, see dieWithParent.
func (f *Pool) runProcess(d *clrt.Device, c *deviceProcesses, generation int) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p, err := f.start(d, c, generation)
	if err == nil {
		err = f.work(d, c, p, generation)
		p.kill()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil && generation == f.generation {
		c.lost++
		f.stats.Lost++
		f.tell(fmt.Sprintf("a process to compile in is lost: %v", err))
	}
	if f.working[generation]--; f.working[generation] == 0 {
		delete(f.working, generation)
	}
	f.moved.Broadcast()
	f.startProcess(d) // for what was asked for meanwhile
}

// start starts a process that has the device.
func (f *Pool) start(d *clrt.Device, c *deviceProcesses, generation int) (*child, error) {
	p, err := startChild(f.opt.Command)
	if err == nil {
		f.mu.Lock()
		c.starting[p] = true
		late := f.generation != generation
		f.mu.Unlock()
		if late { // Rest did not see it
			_ = p.cmd.Process.Kill()
		}
		err = p.open(c.id, f.opt.Patience)
	}
	f.mu.Lock()
	delete(c.starting, p)
	c.opening--
	if err == nil {
		f.stats.Processes++
		f.startProcess(d) // the next
	} else {
		c.idle--
	}
	f.mu.Unlock()
	if err != nil && p != nil {
		p.kill()
	}
	return p, err
}

// work has the process compile until it is time to go, or it fails.
func (f *Pool) work(d *clrt.Device, c *deviceProcesses, p *child, generation int) error {
	for {
		j := f.take(d, c, generation)
		if j == nil {
			return nil
		}
		binary, err := p.compile(j.options, j.source, f.opt.Patience)
		f.mu.Lock()
		if err == nil {
			f.stats.There++
			j.answer <- binary
		} else {
			f.own = append(f.own, j)
			f.here()
		}
		if err == nil || err == errNotCompiled {
			c.idle++
			err = nil
		}
		f.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// take waits for a program of a device; nil when it is time to go.
func (f *Pool) take(d *clrt.Device, c *deviceProcesses, generation int) *job {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer func() { c.idle-- }()
	for {
		for i, j := range f.queue {
			if j.device == d {
				f.queue = slices.Delete(f.queue, i, i+1)
				return j
			}
		}
		if f.generation != generation {
			return nil
		}
		f.moved.Wait()
	}
}

// Rest implements [clrt.Compiler]: it ends the processes, when they have done what
// was asked for by now.
func (f *Pool) Rest(wait bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.generation
	f.generation++
	for _, c := range f.devices {
		c.most, c.expected = -1, 0
		for p := range c.starting {
			_ = p.cmd.Process.Kill()
		}
	}
	f.moved.Broadcast()
	for wait && f.workingUpTo(now) {
		f.moved.Wait()
	}
	if s := f.stats; s.There > f.told.There {
		f.tell(fmt.Sprintf("compiled %s in %s and %d in this one", count(s.There-f.told.There, "program", "programs"),
			count(s.Processes-f.told.Processes, "process", "processes"), s.Here-f.told.Here))
		f.told = s
	}
}

// count is "1 program", "2 programs".
func count(n int, one, more string) string {
	if n == 1 {
		more = one
	}
	return fmt.Sprintf("%d %s", n, more)
}

func (f *Pool) workingUpTo(generation int) bool {
	for s := range f.working {
		if s <= generation {
			return true
		}
	}
	return false
}

func (f *Pool) tell(text string) {
	if f.opt.Debug != nil {
		f.opt.Debug(text)
	}
}
