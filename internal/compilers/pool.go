package compilers

import (
	"fmt"
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
// process is started. For a GPU it leaves all to the others once there are any: what they have made cannot be
// loaded while it compiles. Each takes a program at a time from one queue, in the order in
// which they were asked for, so that unequal ones are shared out evenly. It is safe
// for use by many goroutines. It needs no closing after [Pool.Rest].
type Pool struct {
	opt Options

	mu      sync.Mutex
	changed sync.Cond // of what follows
	onCPU   *int      // see ShareCPU; nil: no such bound
	busy    bool      // the calling process compiles
	queue   []*job    // in the order in which they were asked for
	own     []*job    // that only the calling process can do
	groups  map[*clrt.Device]*group
	lost    map[*clrt.Device]int // processes, see maxLost
	ending  int                  // processes of groups that Rest closed
	stats   Stats
	told    Stats // of them
}

// group are the processes for a device from one Rest to the next.
type group struct {
	device    *clrt.Device
	id        clrt.Identity
	most      int // processes that there may be
	expected  int // programs that Expect foresees
	processes int // that there are
	opening   int // of them that do not have the device yet
	idle      int // of them that wait for a program, or will when they have the device
	closed    bool
	// leave says that the calling process leaves programs to processes, if there are any.
	leave bool
}

// maxOpening is how many processes open a device at a time: one gets ready while another's context is made.
// NVIDIA's driver makes contexts one after the other, on an H200 one in 0.12 s, and slower if many
// wait: of 13 none was ready before 3 s.
const maxOpening = 2

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
	p := &Pool{opt: o, groups: map[*clrt.Device]*group{}, lost: map[*clrt.Device]int{}}
	p.changed.L = &p.mu
	return p
}

// ShareCPU bounds the processes for CPUs beside the calling one, as others of the user compile on the same
// cores. Call it before the first program.
func (p *Pool) ShareCPU(most int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.onCPU = &most
}

// Stats returns what the pool did so far.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats
}

// Width is the number of processes that there may be, the calling one included.
func (p *Pool) Width(d *clrt.Device) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return 1 + p.group(d).most
}

// group is the device's, which a call after Rest makes anew.
func (p *Pool) group(d *clrt.Device) *group {
	g := p.groups[d]
	if g == nil {
		g = &group{device: d, leave: d.Info().Type != clrt.CPU}
		p.groups[d] = g
		var err error
		if g.id, err = d.Identity(); err == nil && p.lost[d] < maxLost {
			if g.most = mostNow(d.Info()); p.opt.Most >= 0 {
				g.most = min(g.most, p.opt.Most)
			}
			if p.onCPU != nil && d.Info().Type == clrt.CPU {
				g.most = min(g.most, *p.onCPU)
			}
		}
	}
	return g
}

// Compile implements [clrt.Compiler].
func (p *Pool) Compile(d *clrt.Device, source, options string) (binary []byte, done func()) {
	p.mu.Lock()
	if !p.busy && !p.left(d) {
		p.busy = true
		p.stats.Here++
		p.mu.Unlock()
		return nil, p.leave
	}
	j := &job{device: d, options: options, source: source, answer: make(chan []byte, 1)}
	p.queue = append(p.queue, j)
	p.grow(p.group(d))
	p.changed.Broadcast()
	p.mu.Unlock()
	if binary = <-j.answer; binary == nil {
		return nil, p.leave
	}
	return binary, func() {}
}

// Expect implements [clrt.Compiler]: it starts processes before there are programs.
func (p *Pool) Expect(d *clrt.Device) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := p.group(d)
	g.expected = g.most
	p.grow(g)
}

// leave lets the calling process take its next program.
func (p *Pool) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy = false
	p.here()
}

// here has the calling process take the next program, if it compiles none: first
// those that nobody else can do.
func (p *Pool) here() {
	from, i := &p.own, 0
	if len(p.own) == 0 {
		from, i = &p.queue, slices.IndexFunc(p.queue, func(j *job) bool { return !p.left(j.device) })
	}
	if p.busy || i < 0 || len(*from) == 0 {
		return
	}
	j := (*from)[i]
	*from = slices.Delete(*from, i, i+1)
	p.busy = true
	p.stats.Here++
	j.answer <- nil
}

// left reports whether the calling process leaves a device's programs to the processes that there are.
func (p *Pool) left(d *clrt.Device) bool {
	g := p.groups[d]
	return g != nil && g.leave && g.processes > 0
}

// grow starts processes while a device has more programs waiting than processes that
// are free, or will be.
func (p *Pool) grow(g *group) {
	waiting, all := g.expected, 0
	for _, j := range p.queue {
		if j.device == g.device {
			waiting++
		}
	}
	for _, other := range p.groups {
		all += other.processes
	}
	for ; !g.closed && waiting > g.idle && all < g.most && g.opening < maxOpening; all++ {
		g.processes++
		g.opening++
		g.idle++
		go p.run(g)
	}
}

// run is a process's life, until Rest or a failure ends it.
func (p *Pool) run(g *group) {
	c, err := startChild(p.opt.Command)
	if err == nil {
		err = c.open(g.id, p.opt.Patience)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	g.opening--
	if err == nil {
		p.stats.Processes++
		p.grow(g) // the next
		err = p.work(g, c)
	} else {
		g.idle--
	}
	if c != nil {
		p.mu.Unlock()
		c.kill()
		p.mu.Lock()
	}
	if g.processes--; g.closed {
		p.ending--
	} else if err != nil {
		p.stats.Lost++
		if p.lost[g.device]++; p.lost[g.device] >= maxLost {
			g.most = 0
		}
		p.tell(fmt.Sprintf("a process to compile in is lost: %v", err))
	}
	p.changed.Broadcast()
	p.grow(g) // for what was asked for meanwhile
	p.here()  // what was left to the process
}

// work has the process compile until it is time to go, or it fails.
func (p *Pool) work(g *group, c *child) error {
	for {
		j := p.take(g)
		if j == nil {
			return nil
		}
		p.mu.Unlock()
		binary, err := c.compile(j.options, j.source, p.opt.Patience)
		p.mu.Lock()
		if err == nil {
			p.stats.There++
			j.answer <- binary
		} else {
			p.own = append(p.own, j)
			p.here()
		}
		if err != nil && err != errNotCompiled {
			return err
		}
		g.idle++
	}
}

// take waits for a program of a group's device; nil when it is time to go.
func (p *Pool) take(g *group) *job {
	defer func() { g.idle-- }()
	for {
		for i, j := range p.queue {
			if j.device == g.device {
				p.queue = slices.Delete(p.queue, i, i+1)
				return j
			}
		}
		if g.closed {
			return nil
		}
		p.changed.Wait()
	}
}

// Rest implements [clrt.Compiler]: it ends the processes, when they have done what
// was asked for by now.
func (p *Pool) Rest(wait bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for d, g := range p.groups {
		g.closed = true
		p.ending += g.processes
		delete(p.groups, d)
	}
	p.changed.Broadcast()
	for wait && p.ending > 0 {
		p.changed.Wait()
	}
	if s := p.stats; s.There > p.told.There {
		p.tell(fmt.Sprintf("compiled %s in %s and %d in this one", count(s.There-p.told.There, "program", "programs"),
			count(s.Processes-p.told.Processes, "process", "processes"), s.Here-p.told.Here))
		p.told = s
	}
}

// count is "1 program", "2 programs".
func count(n int, one, more string) string {
	if n == 1 {
		more = one
	}
	return fmt.Sprintf("%d %s", n, more)
}

func (p *Pool) tell(text string) {
	if p.opt.Debug != nil {
		p.opt.Debug(text)
	}
}
