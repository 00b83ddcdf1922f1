package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"enhance/clrt"
	"enhance/internal/printable"
	"enhance/internal/serve"
	"enhance/pipeline"
)

var serveCommand = &command{name: "serve", minor: true, summary: "keep device, kernels and network ready for other commands",
	usage: []string{"serve [--socket PATH] [-g DEVICE] [--mem SIZE] [--host-mem SIZE] [-j N]"}, run: runServe,
	about: `Stays, and develops the photos of other enhance commands of the same user. They find
the socket by themselves, pass open files, and print and end as if they had done the work.
The socket is $XDG_RUNTIME_DIR/enhance.sock, or serve.sock in the cache directory.

A command is served if its program file, -g, --host-mem, -j and the environment of
drivers are the server's, and its --mem is no larger. Photos of one model, precision and
budget keep what the last one left ready; of other settings network and device are kept,
of three at most. Plans are run one after the other, so all clients together stay within --mem.

The first Ctrl-C or SIGTERM ends the server when the photos in hand are done; commands that
wait develop theirs themselves. The second ends it at once.`}

// keptMakers are ready to be used again, and hold no memory of a plan's.
type keptMakers struct {
	key    string
	makers *pipeline.Batch
}

// Limits of a server: photos that wait, connections, photos that overlap.
const (
	mostWaiting     = 64
	mostConnections = 128
	mostTogether    = 8
	mostKept        = 3 // settings whose networks and devices are kept ready beside those in use
)

// server develops photos for other processes.
type server struct {
	*call
	makers *pipeline.Batch // of the settings key names; nil: none yet
	key    string
	kept   []keptMakers // of other settings, those that were used last at the end

	mu      sync.Mutex // of the rest
	waiting []*servedJob
	inHand  int
	stop    bool // nothing is taken any more
	come    chan struct{}
	open    chan struct{} // a place for each connection
	replies sync.WaitGroup
}

func runServe(c *call) error {
	if err := c.wantNoArguments(); err != nil {
		return err
	}
	path, err := c.socketToServe()
	if err != nil {
		return err
	}
	listener, err := serve.Listen(path)
	if err != nil {
		return serveError(err)
	}
	s := &server{call: c, come: make(chan struct{}, 1), open: make(chan struct{}, mostConnections)}
	boundHeap(c.set.HostMemory)
	c.tellNotices(false)
	c.compileApart()
	c.set.Early = true
	taking, working, stop := c.orderlyStop(func() { listener.Close() })
	defer stop()
	if err := s.use(c.set); err != nil {
		return errors.Join(err, listener.Close())
	}
	defer s.letGo()
	c.note("pid %d serves at %s", os.Getpid(), printable.Text(path))
	defer context.AfterFunc(taking, s.refuseAll)()
	go s.accept(listener)
	s.work(taking, working)
	err = listener.Close()
	s.refuseAll()
	s.replies.Wait()
	if working.Err() != nil {
		return ended(exitInterrupted)
	}
	return err
}

// serveError gives errors of the socket their class.
func serveError(err error) error {
	if used := (*serve.InUseError)(nil); errors.As(err, &used) {
		return &pipeline.FileError{Path: used.Path, Err: &os.PathError{Op: "serve", Path: used.Path, Err: errors.New(strings.TrimPrefix(err.Error(), used.Path+": "))}}
	}
	return err
}

// socketToServe is the socket's path, whose folder is made if it is the default.
func (c *call) socketToServe() (string, error) {
	path := c.socketPath()
	if path == "" {
		return "", usagef("serve: there is no folder for the socket: give --socket PATH")
	}
	if c.socket == "" {
		return path, os.MkdirAll(filepath.Dir(path), 0o700)
	}
	return path, nil
}

// socketPath is where a server is to be found, "" for nowhere.
func (c *call) socketPath() string {
	if c.socket != "" {
		return c.socket
	}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		return filepath.Join(dir, "enhance.sock")
	}
	return clrt.CacheDir("serve.sock")
}

// accept takes connections until the listener is closed.
func (s *server) accept(l *serve.Listener) {
	for {
		s.open <- struct{}{}
		conn, err := l.Accept()
		if err != nil {
			return
		}
		s.replies.Go(func() {
			defer func() { <-s.open }()
			defer conn.Close()
			s.take(conn)
		})
	}
}

// take is a connection from its first message to its last.
func (s *server) take(conn *serve.Conn) {
	s.mu.Lock()
	full := s.stop || len(s.waiting) >= mostWaiting
	s.mu.Unlock()
	if conn.SendHello(serve.Hello{Settings: s.ownSettings(), Full: full}) != nil || full {
		return
	}
	request, photo, picture, err := conn.ReadRequest()
	if err != nil {
		if !errors.Is(err, os.ErrClosed) {
			conn.SendReply(serve.Reply{Refused: printable.Line(err.Error())})
		}
		return
	}
	defer photo.Close()
	defer picture.Close()
	j, err := s.newJob(conn, request, photo, picture)
	if err != nil {
		conn.SendReply(serve.Reply{Refused: printable.Line(err.Error())})
		return
	}
	defer j.cancel()
	before, ok := s.enqueue(j)
	if !ok {
		conn.SendReply(serve.Reply{Refused: "it takes no more photos now"})
		return
	}
	if before > 0 {
		conn.SendReply(serve.Reply{Waiting: before})
	}
	go func() {
		conn.Wait()
		j.cancel()
	}()
	<-j.ended
}

// enqueue has a job wait for its turn, and says how many are before it.
func (s *server) enqueue(j *servedJob) (before int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop || len(s.waiting) >= mostWaiting {
		return 0, false
	}
	before = s.inHand + len(s.waiting)
	s.waiting = append(s.waiting, j)
	select {
	case s.come <- struct{}{}:
	default:
	}
	return before, true
}

// next waits for jobs and takes those that the session of the first can make together.
func (s *server) next(ctx context.Context) (group []*servedJob) {
	for {
		s.mu.Lock()
		var rest []*servedJob
		for _, j := range s.waiting {
			if len(group) < mostTogether && (len(group) == 0 || j.key == group[0].key) {
				group = append(group, j)
			} else {
				rest = append(rest, j)
			}
		}
		if ctx.Err() != nil { // those that wait are refused
			group = nil
		} else {
			s.waiting, s.inHand = rest, len(group)
		}
		s.mu.Unlock()
		if ctx.Err() != nil || len(group) > 0 {
			return group
		}
		select {
		case <-s.come:
		case <-ctx.Done():
		}
	}
}

// work develops photos until taking ends.
func (s *server) work(taking, working context.Context) {
	for {
		group := s.next(taking)
		if group == nil {
			return
		}
		s.develop(working, group)
		s.mu.Lock()
		s.inHand = 0
		s.mu.Unlock()
	}
}

// develop makes the photos of a group. One alone ends as soon as its client goes away; one
// of several when its next bytes are written.
func (s *server) develop(ctx context.Context, group []*servedJob) {
	defer func() {
		for _, j := range group {
			j.end(serve.Reply{Refused: "it was ended"})
		}
	}()
	if err := s.use(group[0].set); err != nil {
		for _, j := range group {
			j.result(nil, err)
		}
		return
	}
	if len(group) == 1 {
		var stop context.CancelFunc
		ctx, stop = context.WithCancel(ctx)
		defer context.AfterFunc(group[0].ctx, stop)()
		defer stop()
	}
	fresh := false
	s.makers.Run(ctx, len(group), func(i int) (pipeline.Job, bool) {
		return group[i].job, group[i].ctx.Err() == nil
	}, func(i int, r *pipeline.Report, err error) {
		if ctx.Err() == nil && (r != nil || err != nil) {
			group[i].result(r, err)
		}
		switch pipeline.Classify(err) {
		case pipeline.ClassDevice, pipeline.ClassOther:
			fresh = true // what the session holds may be of no use any more
		}
	})
	if fresh {
		s.key = ""
	}
}

// use has photos made with such settings from now on. What was kept ready for others gives its
// memory back first, so that both never hold that of a plan at a time.
func (s *server) use(set pipeline.Settings) error {
	key := settingsKey(&set)
	if key == s.key && s.makers != nil {
		return nil
	}
	var next *pipeline.Batch
	if i := slices.IndexFunc(s.kept, func(k keptMakers) bool { return k.key == key }); i >= 0 {
		next = s.kept[i].makers
		s.kept = slices.Delete(s.kept, i, i+1)
	}
	s.keep()
	if next == nil {
		var err error
		if next, err = pipeline.NewBatch(set); err != nil {
			return err
		}
	}
	s.makers, s.key = next, key
	return nil
}

// keep puts what was in use by for other photos of its settings, unless it failed or the host's memory is bounded.
func (s *server) keep() {
	if s.makers == nil {
		return
	}
	if s.key == "" || s.set.HostMemory.Limited() || s.makers.Rest() != nil {
		s.makers.Close()
	} else {
		s.kept = append(s.kept, keptMakers{s.key, s.makers})
	}
	s.makers = nil
	for len(s.kept) > mostKept {
		s.kept[0].makers.Close()
		s.kept = slices.Delete(s.kept, 0, 1)
	}
}

// letGo closes what is kept ready.
func (s *server) letGo() {
	for _, k := range s.kept {
		k.makers.Close()
	}
	s.kept = nil
	if s.makers != nil {
		s.makers.Close()
		s.makers = nil
	}
}

// settingsKey is equal for settings that one session serves. A session reads once what was
// measured on its device, so that what was measured since makes another key.
func settingsKey(s *pipeline.Settings) string {
	level := -1
	if s.Level != nil {
		level = *s.Level
	}
	return fmt.Sprintf("%q %d %d %v %q %v %d %v %+v %s", s.Model, level, s.Ensemble, s.Precision, s.Algo, s.NoTune, s.StripRows, s.WholePlanes, s.Memory, tuningState())
}

// tuningState changes when the files of enhance tune do.
func tuningState() string {
	var b strings.Builder
	files, _ := os.ReadDir(clrt.CacheDir("tuning")) // none: nothing was measured
	for _, f := range files {
		if info, err := f.Info(); err == nil && strings.HasSuffix(f.Name(), ".tune") {
			fmt.Fprintf(&b, "%s %d %d ", f.Name(), info.Size(), info.ModTime().UnixNano())
		}
	}
	return b.String()
}

// refuseAll sends away what waits, and takes nothing more.
func (s *server) refuseAll() {
	s.mu.Lock()
	waiting := s.waiting
	s.stop, s.waiting = true, nil
	s.mu.Unlock()
	for _, j := range waiting {
		j.end(serve.Reply{Refused: "it was ended"})
	}
}
