package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"enhance/internal/printable"
	"enhance/internal/serve"
	"enhance/pipeline"
)

// makers develop photos: a pipeline.Batch in this process, or a server.
type makers interface {
	Run(ctx context.Context, n int, job func(i int) (pipeline.Job, bool), done func(i int, r *pipeline.Report, err error))
	Note() string
	Abandon()
	Close() error
	Leave() error // in place of Close, for a process that is about to end
}

// servedError is a failure that a server reported.
type servedError struct {
	status int
	text   string
}

func (e *servedError) Error() string { return e.text }

// leftFlags are flags of the main command that do not matter to a server: this process does
// what they say, or both ends compare them.
var leftFlags = []string{"input", "recursive", "from", "shard", "output", "overwrite", "skip-existing", "json", "quiet", "socket", "device", "host-mem", "jobs"}

// server is what develops the order's photos in place of this process, nil for none. It says
// why one that is there is not used.
func (o *order) server() *client {
	path := o.socketPath()
	if o.noServer || path == "" || o.dryRun {
		return nil
	}
	conn, err := serve.Dial(path)
	if errors.Is(err, serve.ErrNone) {
		if o.given["socket"] {
			o.note("nobody serves at %s: this process develops the photos", path)
		}
		return nil
	}
	why := ""
	if err != nil {
		why = err.Error()
	} else {
		defer conn.Close()
		why = o.unserved(conn)
	}
	if why != "" {
		o.note("the server at %s is not used: %s (--no-server leaves this note out)", path, why)
		return nil
	}
	if !o.quiet {
		item(o.stderr, "server", "pid %d develops, at %s", conn.Peer(), printable.Text(path))
	}
	return &client{order: o, path: path, pid: conn.Peer(), files: map[*unfinished]struct{}{}}
}

// unserved is why a server does not develop the order's photos, "" if it does.
func (o *order) unserved(conn *serve.Conn) string {
	for _, f := range flagsOf(develop) {
		switch {
		case !o.given[f.name] || slices.Contains(leftFlags, f.name):
		case !goesToServer(f):
			return "--" + f.name + " is for the process that develops"
		case namesFile(f, &o.options):
			return "--" + f.name + " names a file, and it opens none"
		}
	}
	if !conn.SameProgram() {
		return fmt.Sprintf("pid %d runs another build of enhance", conn.Peer())
	}
	hello, err := conn.Hello()
	switch {
	case err != nil:
		return "it does not answer: " + err.Error()
	case hello.Full:
		return "it takes no more photos now"
	}
	if name := unlike(o.ownSettings(), hello.Settings); name != "" {
		return name + " differs from its own"
	}
	return ""
}

// client has a server develop photos, and develops those itself that the server does not.
type client struct {
	order *order
	path  string
	pid   int

	mu    sync.Mutex // of the rest
	files map[*unfinished]struct{}

	here  sync.Mutex // while this process develops one
	local *pipeline.Batch
}

// mostAsked is how many photos a client has under way: the server decodes one and writes
// another while it computes a third.
const mostAsked = 4

// Note is of several devices in this process: there are none.
func (c *client) Note() string { return "" }

// Close ends what this process developed itself.
func (c *client) Close() error {
	c.here.Lock()
	defer c.here.Unlock()
	if c.local == nil {
		return nil
	}
	return c.local.Close()
}

// Leave is Close for a process that is about to end.
func (c *client) Leave() error {
	c.here.Lock()
	defer c.here.Unlock()
	if c.local == nil {
		return nil
	}
	return c.local.Leave()
}

// Abandon removes unfinished pictures.
func (c *client) Abandon() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for f := range c.files {
		f.drop()
	}
	if c.local != nil {
		c.local.Abandon()
	}
}

// Run is as of [pipeline.Batch].
func (c *client) Run(ctx context.Context, n int, job func(i int) (pipeline.Job, bool), done func(i int, r *pipeline.Report, err error)) {
	type outcome struct {
		report *pipeline.Report
		err    error
	}
	pending := make(chan chan outcome, mostAsked-1)
	var telling sync.WaitGroup
	telling.Go(func() {
		i := 0
		for one := range pending {
			o := <-one
			done(i, o.report, o.err)
			i++
		}
	})
	for i := range n {
		j, ok := job(i)
		if ctx.Err() != nil {
			break
		}
		one := make(chan outcome, 1)
		pending <- one
		if !ok {
			one <- outcome{}
			continue
		}
		go func() {
			rep, err := c.develop(ctx, j)
			one <- outcome{rep, err}
		}()
	}
	close(pending)
	telling.Wait()
}

// develop has the server develop a photo, or does it itself where the server cannot: what
// keeps a file from being opened is then found and said as ever.
func (c *client) develop(ctx context.Context, j pipeline.Job) (*pipeline.Report, error) {
	photo, closePhoto, ok := openPassed(&j)
	if !ok {
		return c.developHere(ctx, j)
	}
	defer closePhoto()
	picture, err := c.create(&j)
	if err != nil {
		return c.developHere(ctx, j)
	}
	defer c.drop(picture)
	rep, why, err := c.ask(ctx, &j, photo, picture)
	switch {
	case ctx.Err() != nil:
		return rep, ctx.Err()
	case why != "":
		c.tell(fmt.Sprintf("the server, pid %d, did not develop %s: %s; this process does", c.pid, j.Input, why))
		c.drop(picture)
		return c.developHere(ctx, j)
	case err != nil:
		return rep, err
	}
	return rep, picture.finish(&j)
}

// developHere develops a photo in this process, one at a time.
func (c *client) developHere(ctx context.Context, j pipeline.Job) (rep *pipeline.Report, err error) {
	c.here.Lock()
	defer c.here.Unlock()
	if c.local == nil {
		local, err := pipeline.NewBatch(c.order.set)
		if err != nil {
			return nil, err
		}
		c.mu.Lock()
		c.local = local
		c.mu.Unlock()
	}
	err = ctx.Err()
	c.local.Run(ctx, 1, func(int) (pipeline.Job, bool) { return j, true }, func(_ int, r *pipeline.Report, failed error) { rep, err = r, failed })
	return rep, err
}

// tell says something, unless -q.
func (c *client) tell(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.order.note("%s", text)
}

// ask has the server develop a photo. It returns why there is no result, "" if there is one.
func (c *client) ask(ctx context.Context, j *pipeline.Job, photo *os.File, picture *unfinished) (rep *pipeline.Report, why string, err error) {
	conn, err := serve.Dial(c.path)
	if err != nil {
		return nil, "it has ended", nil
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	hello, err := conn.Hello()
	switch {
	case err != nil:
		return nil, "it has ended", nil
	case hello.Full:
		return nil, "it takes no more photos now", nil
	case conn.Peer() != c.pid && !conn.SameProgram():
		return nil, "another build of enhance has taken its place", nil
	case unlike(c.order.ownSettings(), hello.Settings) != "":
		return nil, "another one has taken its place", nil
	}
	request := serve.Request{Args: c.args(), Input: []byte(j.Input), Output: []byte(j.Output.Path), Stream: j.Output.Writer != nil}
	if err := conn.SendRequest(request, photo, picture.descriptor()); err != nil {
		return nil, err.Error(), nil
	}
	for {
		r, err := conn.Reply()
		switch {
		case errors.Is(err, io.EOF):
			return nil, "it has ended", nil
		case err != nil:
			return nil, err.Error(), nil
		case r.Refused != "":
			return nil, r.Refused, nil
		case r.Result != nil:
			rep, err := c.result(j, r.Result)
			return rep, "", err
		}
		if why := c.hear(j, &r); why != "" {
			return nil, why, nil
		}
	}
}

// hear takes a message before the last. It returns why it cannot, "" if it can.
func (c *client) hear(j *pipeline.Job, r *serve.Reply) string {
	switch {
	case r.Planned != nil:
		rep, err := c.report(j, r.Planned)
		if err != nil {
			return err.Error()
		}
		if j.Planned != nil {
			j.Planned(rep)
		}
	case r.Say != "" && j.Say != nil:
		j.Say(r.Say)
	case r.Total > 0 && j.Progress != nil:
		j.Progress(r.Done, r.Total)
	case r.Waiting > 0:
		if !c.order.batch() && len(c.order.inputs) == 1 {
			c.tell(fmt.Sprintf("waiting for the server: %s before this one", photos(r.Waiting)))
		}
	}
	return ""
}

// result is what a server made of a photo.
func (c *client) result(j *pipeline.Job, r *serve.Result) (*pipeline.Report, error) {
	rep, err := c.report(j, r.Report)
	if err != nil {
		return nil, fmt.Errorf("what the server, pid %d, says of %s makes no sense: %w", c.pid, j.Input, err)
	}
	if r.Status == exitOK {
		if rep == nil {
			return nil, fmt.Errorf("the server, pid %d, says nothing of %s", c.pid, j.Input)
		}
		return rep, nil
	}
	text := r.Message
	if r.Status == exitBudget && !c.order.given["mem"] {
		text += fmt.Sprintf(" (the memory is that of the server, pid %d: --no-server develops without it)", c.pid)
	}
	return rep, &servedError{r.Status, text}
}

// report reads a report and puts the names that this process knows better.
func (c *client) report(j *pipeline.Job, text json.RawMessage) (*pipeline.Report, error) {
	if text == nil {
		return nil, nil
	}
	rep := &pipeline.Report{}
	if err := json.Unmarshal(text, rep); err != nil {
		return nil, err
	}
	rep.Input, rep.Server = j.Input, c.pid
	if j.Output.Writer == nil {
		rep.Output.Path = j.Output.Path
	}
	return rep, nil
}

// args are the flags that go to the server.
func (c *client) args() (args []string) {
	for _, f := range flagsOf(develop) {
		if c.order.given[f.name] && goesToServer(f) {
			args = append(args, "--"+f.name+"="+valueOf(f, &c.order.options))
		}
	}
	return args
}
