package compilers

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"enhance/clrt"
	"enhance/internal/convtest"
)

// childEnv makes a process of this test a child, good or bad.
const childEnv = "COMPILERS_TEST_CHILD"

func TestMain(m *testing.M) {
	mode := os.Getenv(childEnv)
	if mode == "" {
		os.Exit(m.Run())
	}
	replies := os.NewFile(repliesFD, "replies")
	requests, answer := json.NewDecoder(os.Stdin), json.NewEncoder(replies)
	var request json.RawMessage
	switch mode {
	case "good":
		os.Exit(Serve())
	case "noisy":
		fmt.Println("3 warnings generated.")
		fmt.Fprintln(os.Stderr, "3 warnings generated.")
		os.Exit(Serve())
	case "crash": // in the middle of an answer
		requests.Decode(&request)
		answer.Encode(reply{})
		requests.Decode(&request)
		replies.WriteString(`{"Binary":"AAAA`)
		die()
	case "second": // a good one that is killed by its second program
		os.Exit(serveProcess(func(id clrt.Identity) (builder, error) {
			build, err := openDevice(id)
			n := 0
			return func(source, options string) ([]byte, error) {
				if n++; n > 1 {
					die()
				}
				return build(source, options)
			}, err
		}))
	case "garbage":
		requests.Decode(&request)
		answer.Encode(reply{})
		for requests.Decode(&request) == nil {
			answer.Encode(reply{Binary: []byte("no program")})
		}
	case "refuse":
		requests.Decode(&request)
		answer.Encode(reply{Error: "no such device"})
	case "connections":
		requests.Decode(&request)
		answer.Encode(reply{Error: "connections " + os.Getenv(connectionsEnv)})
	case "gone":
	case "stuck": // while it compiles
		os.Exit(serveProcess(func(clrt.Identity) (builder, error) {
			return func(string, string) ([]byte, error) { select {} }, nil
		}))
	}
	os.Exit(0)
}

// die ends the process as a signal does that cannot be caught.
func die() {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		p.Kill()
	}
	select {}
}

func command(t *testing.T, mode string) []string {
	t.Helper()
	t.Setenv(childEnv, mode)
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{path, path}
}

// newPool is a pool of up to n processes, whatever this machine has, with an empty
// cache.
func newPool(t *testing.T, mode string, n int) (*Pool, *clrt.Context) {
	t.Helper()
	d := convtest.Device(t)
	t.Setenv("ENHANCE_CACHE_DIR", t.TempDir())
	f := New(Options{Command: command(t, mode), Most: n, Patience: time.Minute, Debug: func(s string) { t.Log(s) }})
	keepMost(f, d, n)
	ctx, err := clrt.NewContext(d)
	if err != nil {
		t.Fatal(err)
	}
	ctx.CompileWith(f)
	t.Cleanup(func() {
		f.Rest(true)
		ctx.Close()
	})
	return f, ctx
}

// keepMost decides how many processes there may be until Rest.
func keepMost(f *Pool, d *clrt.Device, n int) {
	f.mu.Lock()
	f.group(d).most = n
	f.mu.Unlock()
}

// sources are programs that store their number.
func sources(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("__kernel void put(__global int *a) { a[0] = %d; }", 100+i))
	}
	return all
}

// run checks that each program is the one that was asked for.
func run(t *testing.T, ctx *clrt.Context, progs []*clrt.Program) {
	t.Helper()
	q, err := ctx.NewQueue()
	if err != nil {
		t.Fatal(err)
	}
	b, err := ctx.NewBuffer(4, "result")
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range progs {
		k, err := p.Kernel("put")
		if err != nil {
			t.Fatal(err)
		}
		var got [4]byte
		if err := errors.Join(k.SetArgs(b), q.LaunchQuiet(k, []int{1}, nil), q.Read(b, 0, got[:]), k.Close(), p.Close()); err != nil {
			t.Fatal(err)
		}
		if got[0] != byte(100+i) {
			t.Errorf("program %d stores %d, want %d", i, got[0], 100+i)
		}
	}
	if err := errors.Join(b.Close(), q.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestPool compiles with processes of every kind: the programs are right whatever
// becomes of the processes.
func TestPool(t *testing.T) {
	for _, c := range []struct {
		mode        string
		there, lost bool // that there may be lost ones
	}{
		{"good", true, false},
		{"noisy", true, false},
		{"second", true, true},
		{"crash", false, true},
		{"garbage", true, false}, // the binary is refused by the driver
		{"refuse", false, true},
		{"gone", false, true},
	} {
		for _, cache := range []string{"on", "off", "left"} { // left: and programs are, as for a GPU
			t.Run(c.mode+"/cache="+cache, func(t *testing.T) {
				f, ctx := newPool(t, c.mode, 2)
				f.mu.Lock()
				f.group(ctx.Device()).leave = cache == "left"
				f.mu.Unlock()
				if cache == "off" {
					t.Setenv("ENHANCE_CACHE_DIR", "off")
				}
				progs, err := ctx.BuildAll(sources(12), "")
				if err != nil {
					t.Fatal(err)
				}
				run(t, ctx, progs)
				s := f.Stats()
				t.Logf("%+v", s)
				if cache == "left" && !c.lost && s.Here > 1 && c.mode != "garbage" {
					t.Errorf("%+v: want one program here, before there were processes", s)
				}
				if cache != "off" {
					files, _ := filepath.Glob(filepath.Join(clrt.CacheDir("programs"), "*.clbin"))
					if len(files) != 12 {
						t.Errorf("%d programs in the cache, want 12", len(files))
					}
				}
				if s.Here+s.There < 12 {
					t.Errorf("%+v: fewer than 12 programs", s)
				}
				if c.there != (s.There > 0) || !c.lost && s.Lost > 0 {
					t.Errorf("%+v", s)
				}
			})
		}
	}
}

// TestConnections: a process is told to open its device with one queue, unless the user says how many.
func TestConnections(t *testing.T) {
	for set, want := range map[string]string{"": "connections 1", "4": "connections 4"} {
		t.Setenv(connectionsEnv, set)
		c, err := startChild(command(t, "connections"))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.open(clrt.Identity{}, time.Minute); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("set to %q: %v, want %q", set, err, want)
		}
		c.kill()
	}
}

func TestMissingExecutable(t *testing.T) {
	f, ctx := newPool(t, "good", 2)
	f.opt.Command = []string{filepath.Join(t.TempDir(), "nothing"), "nothing"}
	progs, err := ctx.BuildAll(sources(8), "")
	if err != nil {
		t.Fatal(err)
	}
	run(t, ctx, progs)
	if s := f.Stats(); s.There != 0 {
		t.Errorf("%+v", s)
	}
}

// TestStuck: a process that does not answer is killed, and its program compiled here.
func TestStuck(t *testing.T) {
	f, ctx := newPool(t, "stuck", 1)
	f.opt.Patience = 2 * time.Second
	progs, err := ctx.BuildAll(sources(6), "")
	if err != nil {
		t.Fatal(err)
	}
	run(t, ctx, progs)
	if s := f.Stats(); s.There != 0 {
		t.Errorf("%+v", s)
	}
}

// TestAlone: a program by itself starts no process.
func TestAlone(t *testing.T) {
	f, ctx := newPool(t, "good", 2)
	for _, s := range sources(3) {
		p, err := ctx.Build(s, "")
		if err != nil {
			t.Fatal(err)
		}
		p.Close()
	}
	if s := f.Stats(); s != (Stats{Here: 3}) {
		t.Errorf("%+v", s)
	}
}

// TestShareCPU: another process of the user has its share of a CPU's cores.
func TestShareCPU(t *testing.T) {
	f := New(Options{Command: command(t, "good"), Most: -1})
	d := convtest.Device(t)
	if d.Info().Type != clrt.CPU {
		t.Skip("needs a CPU")
	}
	f.ShareCPU(0)
	if n := f.Width(d); n != 1 {
		t.Errorf("%d processes, want 1", n)
	}
}

// TestExpect: processes are ready before there are programs, and gone without any.
func TestExpect(t *testing.T) {
	f, ctx := newPool(t, "good", 3)
	f.Expect(ctx.Device())
	for f.Stats().Processes < 3 {
		time.Sleep(time.Millisecond)
	}
	f.Rest(true)
	if s := f.Stats(); s != (Stats{Processes: 3}) {
		t.Errorf("%+v", s)
	}
	f.Expect(ctx.Device())
	f.Rest(true) // while they start
	if s := f.Stats(); s.Lost != 0 || f.ending != 0 {
		t.Errorf("%+v, %d processes are left", s, f.ending)
	}
}

// TestErrors: what does not compile fails as it does without processes.
func TestErrors(t *testing.T) {
	_, ctx := newPool(t, "good", 2)
	bad := append(sources(5), "__kernel void broken(__global int *a) { a[0] = no_such_name; }")
	_, err := ctx.BuildAll(bad, "-DX=1")
	plain, perr := clrt.NewContext(ctx.Device())
	if perr != nil {
		t.Fatal(perr)
	}
	defer plain.Close()
	_, want := plain.BuildAll(bad, "-DX=1")
	var build *clrt.BuildError
	if !errors.As(err, &build) || !strings.Contains(build.Log, "no_such_name") || want == nil || len(err.Error()) != len(want.Error()) {
		t.Errorf("error %v\nwant %v", err, want)
	}
}

// TestRest: no process is left, and the pool works again afterwards; contexts of
// several goroutines share it.
func TestRest(t *testing.T) {
	f, ctx := newPool(t, "good", 2)
	for i := range 2 {
		keepMost(f, ctx.Device(), 2)
		t.Setenv("ENHANCE_CACHE_DIR", t.TempDir())
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				progs, err := ctx.BuildAll(sources(6), fmt.Sprintf("-DROUND=%d", i))
				if err != nil {
					t.Error(err)
				}
				for _, p := range progs {
					p.Close()
				}
				f.Rest(true)
			})
		}
		wg.Wait()
		f.mu.Lock()
		if f.ending != 0 || f.busy || len(f.queue)+len(f.own) != 0 {
			t.Errorf("round %d: %d processes left, busy %v, %d waiting", i, f.ending, f.busy, len(f.queue)+len(f.own))
		}
		for _, g := range f.groups {
			if g.processes != 0 || g.idle != 0 || g.opening != 0 {
				t.Errorf("round %d: %d processes, %d idle, %d opening", i, g.processes, g.idle, g.opening)
			}
		}
		f.mu.Unlock()
	}
	if s := f.Stats(); s.Lost != 0 {
		t.Errorf("%+v", s)
	}
}

// TestOrphan: a process ends when its standard input does, also in the middle of a
// program.
func TestOrphan(t *testing.T) {
	for _, busy := range []bool{false, true} {
		p, err := startChild(command(t, "stuck"))
		if err != nil {
			t.Fatal(err)
		}
		if err := p.open(clrt.Identity{}, time.Minute); err != nil {
			t.Fatal(err)
		}
		if busy {
			if err := json.NewEncoder(p.in).Encode(program{Source: []byte("x")}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(50 * time.Millisecond)
		}
		p.in.Close()
		ended := make(chan error, 1)
		go func() { ended <- p.cmd.Wait() }()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("busy %v: %v", busy, err)
			}
		case <-time.After(10 * time.Second):
			t.Errorf("busy %v: the process goes on", busy)
			p.kill()
		}
	}
}
