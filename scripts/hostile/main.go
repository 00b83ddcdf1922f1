// Command hostile runs the program, a process for each case, on damaged files and in
// surroundings that fail, and checks what must hold of every run:
//
//	a documented exit status, never 9 (an error of no known kind) and no signal;
//	one line that says what is wrong, all of it printable, no stack of goroutines;
//	memory in proportion to the files, or within --host-mem; an end within a minute;
//	a whole picture under its name, or none, and no other file left.
//
// A case is decided by the seed and its number alone, so that the line that is printed for
// a failure runs it again; what it left is kept.
//
//	main.go      flags, workers, figures by kind
//	attempt.go   one process, and what is checked of it
//	seeds.go     good files of every kind; mutate.go damages them
//	files.go     the kinds of cases that are files; bombs.go: small files that claim much
//	onnx.go      networks of other makers, and pictures for them
//	ncnn.go      the same in ncnn's two files
//	inputs.go    opcode lists, camera makers' photos, batches, pipes in place of files
//	networks.go  networks, noise and defects that do not go with the photo
//	cache.go     files of the program's cache, on an OpenCL device
//	faults.go    the kinds that are surroundings: kills, system calls, disks, limits
package main

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"syscall"
	"time"
)

// kind is one way to harm.
type kind struct {
	name   string
	weight int                      // cases of it in a round
	lacks  func(c *campaign) string // why it cannot be had here, "" if it can; nil: it can
	make   func(c *campaign, a *attempt) error
}

var kinds = slices.Concat(fileKinds, inputKinds, networkKinds, onnxKinds, ncnnKinds, bombKinds, faultKinds, cacheKinds)

// campaign is what the cases share.
type campaign struct {
	binary string
	work   string
	keep   string
	seed   uint64
	files  seeds
	rounds []*kind // by case number, again and again
	base   int64   // resident bytes of a run that does nothing

	noDevice string   // why there is no OpenCL device, "" if there is one
	cache    fs.FS    // of the program, filled; nil without a device
	cached   []string // its files
	kept     []byte   // the picture that was made meanwhile

	mu      sync.Mutex
	figures map[string]*figures
	failed  []string
}

// figures are of a kind.
type figures struct {
	cases, pictures, failed int
	statuses                map[int]int
	seconds                 float64
	rss                     int64
}

func main() {
	var (
		binary = flag.String("binary", "bin/enhance", "the program")
		cases  = flag.Int("cases", 0, "how many `cases`; 0: until the time is over")
		limit  = flag.Duration("time", 10*time.Minute, "how long")
		seed   = flag.Uint64("seed", uint64(time.Now().Unix()), "decides all cases")
		only   = flag.String("kind", "", "cases of this kind only")
		one    = flag.Int("case", -1, "this case alone")
		keep   = flag.String("keep", "out/hostile", "where failures are kept")
		jobs   = flag.Int("j", runtime.NumCPU(), "processes at a time")
	)
	flag.Parse()
	debug.SetMemoryLimit(48 << 20) // see checkMemory
	c, err := newCampaign(*binary, *keep, *seed, *only)
	if err != nil {
		fmt.Fprintln(os.Stderr, "hostile:", err)
		os.Exit(1)
	}
	fmt.Printf("seed %d\n", *seed)
	first, last := 0, *cases
	if *one >= 0 {
		first, last, *jobs = *one, *one+1, 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *limit)
	defer cancel()
	c.run(ctx, first, last, *jobs)
	os.RemoveAll(c.work)
	if !c.print() {
		os.Exit(1)
	}
}

func newCampaign(binary, keep string, seed uint64, only string) (*campaign, error) {
	c := &campaign{seed: seed, figures: map[string]*figures{}}
	var err error
	if c.binary, err = filepath.Abs(binary); err != nil {
		return nil, err
	}
	if c.keep, err = filepath.Abs(keep); err != nil {
		return nil, err
	}
	if c.work, err = os.MkdirTemp("", "hostile-"); err != nil {
		return nil, err
	}
	if c.files, err = makeSeeds(); err != nil {
		return nil, err
	}
	c.noDevice = c.fillCache()
	for i := range kinds {
		k := &kinds[i]
		if only != "" && k.name != only {
			continue
		}
		if k.lacks != nil {
			if why := k.lacks(c); why != "" {
				fmt.Printf("SKIPPED: %s: %s\n", k.name, why)
				continue
			}
		}
		for range k.weight {
			c.rounds = append(c.rounds, k)
		}
	}
	if len(c.rounds) == 0 {
		return nil, fmt.Errorf("no kind is called %q", only)
	}
	return c, c.measure()
}

// measure takes the memory of a run that does nothing.
func (c *campaign) measure() error {
	a := c.attempt(rand.New(rand.NewPCG(0, 0)), "base")
	defer os.RemoveAll(a.dir)
	a.args = []string{"version"}
	if err := a.run(); err != nil || a.status != 0 {
		return fmt.Errorf("%s version: %v, status %d: %s", c.binary, err, a.status, a.stderr)
	}
	c.base = a.rss
	return nil
}

// run does the cases from first to before last, 0 for no end, until ctx ends.
func (c *campaign) run(ctx context.Context, first, last, jobs int) {
	next := make(chan int)
	go func() {
		defer close(next)
		for i := first; (last == 0 || i < last) && ctx.Err() == nil; i++ {
			next <- i
		}
	}()
	var wg sync.WaitGroup
	for range jobs {
		wg.Go(func() {
			for i := range next {
				c.do(i)
			}
		})
	}
	wg.Wait()
}

// do runs case i.
func (c *campaign) do(i int) {
	k := c.rounds[i%len(c.rounds)]
	a := c.attempt(rand.New(rand.NewPCG(c.seed, uint64(i))), fmt.Sprintf("case-%d", i))
	err := k.make(c, a)
	if err == nil {
		err = a.run()
	}
	if err == nil {
		err = a.check()
	}
	for _, end := range slices.Backward(a.after) {
		end()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.figures[k.name]
	if f == nil {
		f = &figures{statuses: map[int]int{}}
		c.figures[k.name] = f
	}
	f.cases++
	f.statuses[a.status]++
	f.seconds = max(f.seconds, a.took.Seconds())
	f.rss = max(f.rss, a.rss)
	if a.made {
		f.pictures++
	}
	if err == nil {
		os.RemoveAll(a.dir)
		return
	}
	f.failed++
	kept := filepath.Join(c.keep, fmt.Sprintf("%d-%d", c.seed, i))
	text := fmt.Sprintf("FAILED %s: %v\n  %s\n  again: go run ./scripts/hostile -seed %d -case %d -kind '%s'\n  kept: %s", k.name, err, a.line(), c.seed, i, c.only(), kept)
	fmt.Println(text)
	c.failed = append(c.failed, text)
	c.save(a, kept, text)
}

// only is the -kind that this campaign was given, which decides the numbers of cases.
func (c *campaign) only() string {
	for _, k := range c.rounds {
		if k != c.rounds[0] {
			return ""
		}
	}
	return c.rounds[0].name
}

// save keeps a failed case.
func (c *campaign) save(a *attempt, to, text string) {
	os.RemoveAll(to)
	_ = filepath.WalkDir(a.dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && !e.Type().IsRegular() {
			_ = os.Remove(path) // pipes are not copied
		}
		return nil
	})
	err := os.MkdirAll(to, 0o755)
	if err == nil {
		err = os.CopyFS(filepath.Join(to, "files"), os.DirFS(a.dir))
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(to, "case.txt"), []byte(text+"\n\n"+a.stderr), 0o644)
	}
	if err != nil {
		fmt.Println("  not all of it is kept:", err)
	}
	os.RemoveAll(a.dir)
}

// print writes the figures, and reports whether no case failed.
func (c *campaign) print() bool {
	fmt.Printf("%-22s %7s %9s %7s %8s %8s  %s\n", "kind", "cases", "pictures", "failed", "longest", "memory", "exit statuses")
	total, failed := 0, 0
	for _, name := range slices.Sorted(maps.Keys(c.figures)) {
		f := c.figures[name]
		total, failed = total+f.cases, failed+f.failed
		text := ""
		for _, s := range slices.Sorted(maps.Keys(f.statuses)) {
			text += fmt.Sprintf(" %d:%d", s, f.statuses[s])
		}
		fmt.Printf("%-22s %7d %9d %7d %6.1f s %5d MB %s\n", name, f.cases, f.pictures, f.failed, f.seconds, f.rss>>20, text)
	}
	fmt.Printf("%d cases, %d failed, seed %d\n", total, failed, c.seed)
	return failed == 0 && total > 0
}
