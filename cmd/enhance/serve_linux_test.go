package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"enhance/internal/serve"
	"enhance/pipeline"
)

// TestServedFlags: every flag of the main command goes to a server, does not matter to it, or
// keeps the command from it; and no flag that is sent names a file there.
func TestServedFlags(t *testing.T) {
	keep := []string{"reference", "min-psnr", "plan-svg", "dry-run", "profile", "report", "device-profile", "list-devices", "verbose", "version", "help", "no-server"}
	for _, f := range flagsOf(develop) {
		n := 0
		for _, in := range []bool{goesToServer(f), slices.Contains(leftFlags, f.name), slices.Contains(keep, f.name)} {
			if in {
				n++
			}
		}
		if n != 1 {
			t.Errorf("--%s is in %d of the three lists", f.name, n)
		}
	}
	for _, c := range []struct {
		name, value string
		want        bool
	}{{"model", "fast", false}, {"model", "/x/y.onnx", true}, {"model", "y.safetensors", true}, {"model", "pynet-random:3", false}, {"defects", "auto", false},
		{"defects", "list", true}, {"dcp", "none", true}, {"wb", "auto", false}} {
		o := &options{}
		f := settingFlag(c.name)
		*f.to(o).(*string) = c.value
		if got := namesFile(f, o); got != c.want {
			t.Errorf("--%s %s names a file: %v", c.name, c.value, got)
		}
	}
}

// serverOf parses a server's command line.
func serverOf(t *testing.T, args ...string) *call {
	t.Helper()
	c := &call{env: &env{stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}}, cmd: serveCommand}
	if err := c.parseFlags(args); err != nil {
		t.Fatal(err)
	}
	if err := c.settings(); err != nil {
		t.Fatal(err)
	}
	return c
}

// tinyPhoto writes a mosaic of 64x48 samples.
func tinyPhoto(t *testing.T) (path string, flags []string) {
	t.Helper()
	var b []byte
	for i := range 64 * 48 {
		b = binary.LittleEndian.AppendUint16(b, uint16(2000+i*7919%9000))
	}
	path = filepath.Join(t.TempDir(), "photo.raw")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, []string{"--raw-size=64x48", "--cfa=RGGB", "-m=pynet-m-random:a"}
}

// accept hands the connections of a new socket to take.
func accept(t *testing.T, take func(*serve.Conn)) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "s")
	l, err := serve.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				take(c)
			}()
		}
	}()
	return path
}

// TestServerGone: whatever a server does, the client makes the whole picture, or fails with a
// message, and leaves nothing unfinished.
func TestServerGone(t *testing.T) {
	photo, flags := tinyPhoto(t)
	alone := filepath.Join(t.TempDir(), "alone.png")
	order := func(out string, more ...string) []string {
		return slices.Concat([]string{photo, "-o", out, "-g=host"}, flags, more)
	}
	var stdout, stderr bytes.Buffer
	if code := run(order(alone, "--no-server"), &stdout, &stderr); code != exitOK {
		t.Fatalf("status %d: %s", code, &stderr)
	}
	want, err := os.ReadFile(alone)
	if err != nil {
		t.Fatal(err)
	}
	settings := serverOf(t, "-g=host").ownSettings()
	hello := serve.Hello{Settings: settings}
	// after takes the request, writes a part of a picture, and goes on.
	after := func(then func(*serve.Conn)) func(*serve.Conn) {
		return func(c *serve.Conn) {
			c.SendHello(hello)
			_, photo, picture, err := c.ReadRequest()
			if err != nil { // the first connection asks for the hello only
				return
			}
			defer photo.Close()
			defer picture.Close()
			picture.WriteString("half a picture")
			then(c)
		}
	}
	reply := func(r serve.Reply) func(*serve.Conn) { return after(func(c *serve.Conn) { c.SendReply(r) }) }
	result := func(r serve.Result) func(*serve.Conn) { return reply(serve.Reply{Result: &r}) }
	for _, c := range []struct {
		name string
		take func(*serve.Conn)
		code int
		say  string
	}{
		{"no hello", func(*serve.Conn) {}, exitOK, "it does not answer"},
		{"full", func(c *serve.Conn) { c.SendHello(serve.Hello{Settings: settings, Full: true}) }, exitOK, "it takes no more photos now"},
		{"other settings", func(c *serve.Conn) { c.SendHello(serve.Hello{}) }, exitOK, "differs from its own"},
		{"ends", after(func(*serve.Conn) {}), exitOK, "it has ended; this process does"},
		{"refuses", reply(serve.Reply{Refused: "it is\x1b[2J tired"}), exitOK, "; this process does"},
		{"plan of nonsense", reply(serve.Reply{Planned: json.RawMessage(`[]`)}), exitOK, "this process does"},
		{"fails", result(serve.Result{Status: exitInput, Message: "a.raw: it is damaged"}), exitInput, "enhance: a.raw: it is damaged\n"},
		{"result without a report", result(serve.Result{}), exitDefect, "says nothing of"},
		{"result of nonsense", result(serve.Result{Report: json.RawMessage(`"x"`)}), exitDefect, "makes no sense"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out.png")
			var stdout, stderr bytes.Buffer
			code := run(order(out, "--socket", accept(t, c.take)), &stdout, &stderr)
			if code != c.code || !strings.Contains(stderr.String(), c.say) || strings.Contains(stderr.String(), "\x1b") {
				t.Errorf("status %d, want %d; it said %q", code, c.code, &stderr)
			}
			got, err := os.ReadFile(out)
			switch {
			case c.code == exitOK && !bytes.Equal(got, want):
				t.Errorf("the picture has %d other bytes (%v)", len(got), err)
			case c.code != exitOK && !errors.Is(err, os.ErrNotExist):
				t.Errorf("a picture of %d bytes is there (%v)", len(got), err)
			}
			if entries, err := os.ReadDir(filepath.Dir(out)); err != nil || len(entries) > 1 {
				t.Errorf("left: %v (%v)", entries, err)
			}
		})
	}
}

// startServer starts a server on the host executor.
func startServer(t *testing.T, args ...string) (s *server, path string) {
	t.Helper()
	s = &server{call: serverOf(t, append(args, "-g=host")...), come: make(chan struct{}, 1), open: make(chan struct{}, mostConnections)}
	taking, end := context.WithCancel(context.Background())
	ended := make(chan struct{})
	path = accept(t, s.take)
	go func() {
		s.work(taking, context.Background())
		close(ended)
	}()
	t.Cleanup(func() {
		end()
		<-ended
		s.letGo()
	})
	return s, path
}

// ask sends a request and returns the last message.
func ask(t *testing.T, path string, r serve.Request, photo, picture *os.File) serve.Reply {
	t.Helper()
	c, err := serve.Dial(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Hello(); err != nil {
		t.Fatal(err)
	}
	if err := c.SendRequest(r, photo, picture); err != nil {
		t.Fatal(err)
	}
	for {
		m, err := c.Reply()
		if err != nil || m.Result != nil || m.Refused != "" {
			if err != nil {
				t.Errorf("%+v: %v", r, err)
			}
			return m
		}
	}
}

// TestHostileClients: a server opens no path, takes no flag that is none of a photo's, and goes on
// whatever a client does.
func TestHostileClients(t *testing.T) {
	path, flags := tinyPhoto(t)
	s, socket := startServer(t, "--mem=512M")
	photo, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer photo.Close()
	made := func() *os.File {
		f, err := os.Create(filepath.Join(t.TempDir(), "out"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	good := serve.Request{Args: flags, Input: []byte("\xff\x1b.raw"), Output: []byte("a.png")}
	for _, args := range [][]string{
		{"-o=/tmp/x"}, {"--dcp=/etc/passwd"}, {"--defects=/etc/passwd"}, {"-m=/etc/passwd"}, {"-m=x.onnx"}, {"--reference=/etc/passwd"}, {"--plan-svg=/tmp/x"},
		{"--report=/tmp/x.html"}, {"--device=0"}, {"-j=3"}, {"--help"}, {"--version", "--dcp=/etc/passwd"}, {"--list-devices"}, {"/etc/passwd"}, {"--", "/etc/passwd"}, {"--nonsense"}, {"--from=/etc/passwd"},
		{"--mem=0"}, {"--mem=1G"}, {"--host-mem=1"}, {"--wb=nonsense"}, {"--bits=0"}, {"--socket=/tmp/x"}, {""},
	} {
		r := good
		r.Args = slices.Concat(flags, args)
		if m := ask(t, socket, r, photo, made()); m.Refused == "" {
			t.Errorf("%q: %+v", args, m)
		}
	}
	for name, c := range map[string]struct {
		change func(*serve.Request)
		code   int
	}{
		"no format":     {func(r *serve.Request) { r.Output = []byte("/etc/passwd") }, exitUsage},
		"DNG as stream": {func(r *serve.Request) { r.Stream, r.Args = true, slices.Concat(flags, []string{"-f=dng"}) }, exitUsage},
		"other size":    {func(r *serve.Request) { r.Args = []string{"--raw-size=99x99", "--cfa=RGGB"} }, exitUsage},
		"no photo":      {func(r *serve.Request) { r.Args = nil }, exitInput},
		"as it is":      {func(*serve.Request) {}, exitOK},
		"small budget":  {func(r *serve.Request) { r.Args = slices.Concat(flags, []string{"--mem=100M"}) }, exitOK},
	} {
		r := good
		c.change(&r)
		if m := ask(t, socket, r, photo, made()); m.Result == nil || m.Result.Status != c.code || (m.Result.Message == "") != (c.code == exitOK) {
			t.Errorf("%s: %+v, %+v, want status %d", name, m, m.Result, c.code)
		}
	}
	for range 20 { // clients that go away
		c, err := serve.Dial(socket)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.SendRequest(good, photo, made()); err != nil {
			t.Error(err)
		}
		c.Close()
	}
	if m := ask(t, socket, good, photo, made()); m.Result == nil || m.Result.Status != exitOK {
		t.Errorf("at last: %+v", m)
	}
	if s.set.Memory != pipeline.Limit(512<<20) {
		t.Errorf("the budget became %v", s.set.Memory)
	}
}

// TestServerTuning: what is measured while a server runs holds from the next photo on, and a
// server keeps its session otherwise.
func TestServerTuning(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("ENHANCE_CACHE_DIR", cache)
	s := &server{call: serverOf(t, "-g=host")}
	t.Cleanup(s.letGo)
	use := func() *pipeline.Batch {
		t.Helper()
		if err := s.use(s.set); err != nil {
			t.Fatal(err)
		}
		return s.makers
	}
	first := use()
	if use() != first {
		t.Error("a session was not kept")
	}
	if err := os.Mkdir(filepath.Join(cache, "tuning"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(cache, "tuning", "a.tune"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	second := use()
	if second == first {
		t.Error("a session outlived its measurements")
	}
	if use() != second {
		t.Error("a session was not kept")
	}
}

// TestServerKeeps: a server keeps what is ready for the settings that were used last, if the host's memory
// is not bounded, and nothing of settings that failed.
func TestServerKeeps(t *testing.T) {
	t.Setenv("ENHANCE_CACHE_DIR", t.TempDir())
	for _, c := range []struct {
		bound pipeline.Budget
		fail  bool
		want  int // of the settings before the last ones that are kept
	}{{pipeline.Budget{}, false, mostKept}, {pipeline.Limit(8 << 30), false, 0}, {pipeline.Budget{}, true, 0}} {
		s := &server{call: serverOf(t, "-g=host")}
		s.set.HostMemory = c.bound
		use := func(i int) *pipeline.Batch {
			t.Helper()
			set := s.set
			set.Memory = pipeline.Limit(int64(i+1) << 28)
			if err := s.use(set); err != nil {
				t.Fatal(err)
			}
			return s.makers
		}
		var all []*pipeline.Batch
		for i := range mostKept + 2 {
			if all = append(all, use(i)); c.fail {
				s.key = ""
			}
		}
		if len(s.kept) != c.want {
			t.Errorf("%+v: %d kept", c, len(s.kept))
		}
		if c.want > 0 {
			for _, i := range []int{2, 3, 1, 4} {
				if use(i) != all[i] {
					t.Errorf("settings %d were not kept", i)
				}
			}
			if use(0) == all[0] {
				t.Error("the oldest settings were kept")
			}
		}
		s.letGo()
		if len(s.kept) != 0 || s.makers != nil {
			t.Error("something is kept at the end")
		}
	}
}

// TestServerEnds: photos that wait when a server ends are refused, so that their clients go on.
func TestServerEnds(t *testing.T) {
	path, flags := tinyPhoto(t)
	s := &server{call: serverOf(t, "-g=host"), come: make(chan struct{}, 1)}
	socket := accept(t, s.take)
	photo, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer photo.Close()
	picture, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer picture.Close()
	c, err := serve.Dial(socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SendRequest(serve.Request{Args: flags, Output: []byte("a.png")}, photo, picture); err != nil {
		t.Fatal(err)
	}
	<-s.come
	s.refuseAll()
	if _, err := c.Hello(); err != nil {
		t.Fatal(err)
	}
	if m, err := c.Reply(); err != nil || m.Refused == "" {
		t.Errorf("%+v, %v", m, err)
	}
	next, err := serve.Dial(socket)
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	if h, err := next.Hello(); err != nil || !h.Full {
		t.Errorf("a server that ends says %+v (%v)", h, err)
	}
}
