package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"enhance/clrt"
	"enhance/internal/atomicfile"
	"enhance/internal/serve"
	"enhance/pipeline"
)

// servedFlags are the flags of the main command that go to a server beside the settings of
// pictures: they choose a session.
var servedFlags = []string{"mem", "no-tune"}

// goesToServer reports whether a flag is sent to a server. It may not name a file there.
func goesToServer(f *flag) bool { return isSetting(f) || slices.Contains(servedFlags, f.name) }

// namesFile reports whether a flag's value is a file's name, or may be.
func namesFile(f *flag, o *options) bool {
	value := valueOf(f, o)
	if !f.files || f.words != nil && slices.Contains(f.words(), value) {
		return false
	}
	return f.name != "model" || !strings.HasPrefix(value, "pynet-random:") && !strings.HasPrefix(value, "pynet-m-random:")
}

// startEnvironment is that of the process before anything sets variables for a driver.
var startEnvironment = os.Environ()

// ownSettings are what must be equal in a server and its client: flags of devices, where
// measurements are kept, and what drivers read of the environment.
func (c *call) ownSettings() map[string]string {
	all := map[string]string{}
	for _, f := range flagsOf("serve") {
		if slices.Contains([]string{"device", "host-mem", "jobs"}, f.name) && c.given[f.name] {
			all["--"+f.name] = valueOf(f, &c.options)
		}
	}
	all["the cache directory"] = clrt.CacheDir("")
	for _, v := range startEnvironment {
		name, value, _ := strings.Cut(v, "=")
		for _, prefix := range []string{"ENHANCE_", "CUDA_", "NVIDIA_", "OCL_", "OPENCL_", "POCL_", "LD_", "GOMAXPROCS"} {
			if strings.HasPrefix(name, prefix) {
				all[name] = value
			}
		}
	}
	return all
}

// unlike names a setting that differs, "" for none.
func unlike(own, others map[string]string) string {
	var names []string
	for name, value := range own {
		if other, ok := others[name]; !ok || other != value {
			names = append(names, name)
		}
	}
	for name := range others {
		if _, ok := own[name]; !ok {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return slices.Min(names)
}

// servedJob is a photo of a client.
type servedJob struct {
	conn   *serve.Conn
	name   string
	set    pipeline.Settings
	key    string
	job    pipeline.Job
	ctx    context.Context // ends when the client goes away
	cancel context.CancelFunc

	once  sync.Once
	ended chan struct{} // closed when the last message was sent

	mu   sync.Mutex
	told time.Time // when progress was told of last
}

// newJob reads an order. What it refuses no client of this program sends, but for a budget
// above the server's.
func (s *server) newJob(conn *serve.Conn, r serve.Request, photo, picture *os.File) (*servedJob, error) {
	quiet := &env{stdout: io.Discard, stderr: io.Discard, self: s.self}
	o := &order{call: &call{env: quiet, cmd: commands[0]}}
	if err := o.parseFlags(r.Args); err != nil {
		return nil, err
	}
	switch {
	case o.help || o.version: // after which parsing looks at no other flag
		return nil, usagef("--help and --version are not for a server")
	case len(o.args) > 0:
		return nil, usagef("%q is no flag", o.args[0])
	}
	for _, f := range flagsOf(develop) {
		if o.given[f.name] && (!goesToServer(f) || namesFile(f, &o.options)) {
			return nil, usagef("--%s is not for a server", f.name)
		}
	}
	if err := o.settings(); err != nil {
		return nil, err
	}
	if err := o.readJob(); err != nil {
		return nil, err
	}
	info, err := photo.Stat()
	if err != nil {
		return nil, err
	}
	j := &servedJob{conn: conn, name: string(r.Input), job: o.job, ended: make(chan struct{})}
	if j.set, err = s.settingsFor(o); err != nil {
		return nil, err
	}
	j.key = settingsKey(&j.set)
	j.ctx, j.cancel = context.WithCancel(context.Background())
	j.job.Input, j.job.Reader, j.job.Size = j.name, photo, info.Size()
	j.job.Output.Path = string(r.Output)
	to := &clientFile{picture, j.job.Output.Path, j.ctx}
	if r.Stream {
		j.job.Output.Path, j.job.Output.Writer = "", to
	} else {
		j.job.Output.File = to
	}
	j.job.Planned = func(rep *pipeline.Report) { j.send(serve.Reply{Planned: j.encode(rep)}) }
	j.job.Say = func(text string) { j.send(serve.Reply{Say: text}) }
	j.job.Progress = j.progress
	return j, nil
}

// settingsFor are a client's settings within the server's budget.
func (s *server) settingsFor(o *order) (pipeline.Settings, error) {
	set := s.set
	set.Model, set.Level, set.Ensemble, set.Precision = o.set.Model, o.set.Level, o.set.Ensemble, o.set.Precision
	set.Algo, set.NoTune, set.StripRows, set.WholePlanes = o.set.Algo, o.set.NoTune, o.set.StripRows, o.set.WholePlanes
	if !o.given["mem"] {
		return set, nil
	}
	if own, asked := s.set.Memory, o.set.Memory; own.Limited() && (!asked.Limited() || asked.Bytes() > own.Bytes()) {
		return set, usagef("its --mem is %s", s.mem)
	}
	set.Memory = o.set.Memory
	return set, nil
}

// progressPause is how long nothing is told of progress after it was told.
const progressPause = 100 * time.Millisecond

func (j *servedJob) progress(done, total int64) {
	j.mu.Lock()
	due := time.Since(j.told) >= progressPause
	if due {
		j.told = time.Now()
	}
	j.mu.Unlock()
	if due {
		j.send(serve.Reply{Done: done, Total: total})
	}
}

// send tells the client. One that takes nothing is given up.
func (j *servedJob) send(r serve.Reply) {
	if j.ctx.Err() == nil && j.conn.SendReply(r) != nil {
		j.cancel()
	}
}

// encode is a report as a message has it, nil if there is none.
func (j *servedJob) encode(rep *pipeline.Report) json.RawMessage {
	if rep == nil {
		return nil
	}
	text, err := json.Marshal(rep)
	if err != nil { // a number that is not finite
		return nil
	}
	return text
}

// result sends what became of the photo.
func (j *servedJob) result(rep *pipeline.Report, err error) {
	r := &serve.Result{Report: j.encode(rep), Status: status(err)}
	if err != nil {
		r.Message = strings.TrimPrefix(message(err, j.name), "enhance: ")
	}
	j.end(serve.Reply{Result: r})
}

// end sends the last message, unless one was sent.
func (j *servedJob) end(r serve.Reply) {
	j.once.Do(func() {
		j.send(r)
		close(j.ended)
	})
}

// clientFile is the client's file. It takes nothing any more when the client has gone.
type clientFile struct {
	file *os.File
	name string // for messages
	ctx  context.Context
}

func (f *clientFile) Write(p []byte) (int, error) {
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := f.file.Write(p)
	return n, f.fail("write", err)
}

func (f *clientFile) Seek(offset int64, whence int) (int64, error) {
	n, err := f.file.Seek(offset, whence)
	return n, f.fail("seek in", err)
}

// fail puts an error as a run of the client's own would.
func (f *clientFile) fail(op string, err error) error {
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		return &atomicfile.Error{Op: op, Path: f.name, Err: at.Err}
	}
	return err
}
