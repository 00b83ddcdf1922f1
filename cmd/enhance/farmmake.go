package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"enhance/internal/farm"
	"enhance/internal/farm/queue"
	"enhance/internal/farm/work"
	"enhance/pipeline"
)

// farmMakeCommand computes for a worker: requests come on standard input, a line of JSON
// each, and answers go to standard output. It has no summary: people do not call it.
var farmMakeCommand = &command{name: farmMake, run: runFarmMake}

// beforePhoto is called before a photo is opened. Tests have photos that kill.
var beforePhoto = func(name string) {}

// makerServer is the process that computes.
type makerServer struct {
	*call
	device []string // the flags of the command line

	mu   sync.Mutex // of standard output
	out  *json.Encoder
	told time.Time // when it last said that it is alive

	flags   []string // of the order that the batch is open for
	order   *order
	batch   *pipeline.Batch
	ability *work.Ability
	photos  chan makePhoto // nil: no photo is under way
	idle    sync.WaitGroup
}

// makePhoto is a photo on its way into the batch.
type makePhoto struct {
	id    int64
	job   pipeline.Job
	close func()
}

func runFarmMake(c *call) error {
	m := &makerServer{call: c, out: json.NewEncoder(c.stdout)}
	for _, name := range []string{"device", "mem", "host-mem"} {
		for _, f := range flagsOf(farmMake) {
			if f.name == name && c.given[name] {
				m.device = append(m.device, "--"+name+"="+valueOf(f, &c.options))
			}
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r makerMessage
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return usagef("%s: %v", farmMake, err)
		}
		if r.Opening {
			ability, err := m.open(ctx, r.Open)
			m.answer(makerMessage{ID: r.ID, Ability: ability, Failure: failureOf(err)})
		} else if r.Make != nil {
			if err := m.make(ctx, r.ID, r.Make); err != nil {
				m.answer(makerMessage{ID: r.ID, Failure: failureOf(err)})
			}
		}
	}
	stop() // what is in work is given up
	if m.batch != nil {
		m.batch.Abandon()
	}
	return m.closeBatch()
}

func (m *makerServer) answer(a makerMessage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.out.Encode(a)
}

// alive says so, now and then.
func (m *makerServer) alive(int64, int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.told) > time.Second {
		m.told = time.Now()
		m.out.Encode(makerMessage{Alive: true})
	}
}

// open makes the batch for an order's settings, unless it is open for them.
func (m *makerServer) open(ctx context.Context, flags []string) (*work.Ability, error) {
	if m.batch != nil && slices.Equal(flags, m.flags) {
		return m.ability, nil
	}
	if err := m.closeBatch(); err != nil {
		return nil, err
	}
	o, err := m.parseOrder(flags)
	if err != nil {
		return nil, err
	}
	b, err := pipeline.NewBatch(o.set)
	if err != nil {
		return nil, err
	}
	id := b.Identity()
	room, err := b.Room(ctx, farm.Sides[:])
	if err != nil {
		b.Close()
		return nil, err
	}
	info, _ := debug.ReadBuildInfo()
	m.ability = &work.Ability{Model: id.Model, Generation: id.Generation, Class: id.Class, Device: id.Device, Program: versionOf(info), Room: roomOf(room)}
	m.flags, m.order, m.batch = slices.Clone(flags), o, b
	return m.ability, nil
}

// roomOf is what a planner says of the farm's sizes of photos.
func roomOf(why []error) queue.Room {
	r := queue.Room{Least: map[int]int64{}}
	for i, err := range why {
		if err == nil {
			r.Largest = farm.Sides[i]
		} else if i == 0 || err != why[i-1] {
			r.Least[farm.Sides[i]] = pipeline.Least(err)
		}
	}
	return r
}

// parseOrder reads an order's flags as a command line with the device's.
func (m *makerServer) parseOrder(flags []string) (*order, error) {
	c := &call{env: m.env, cmd: m.cmd, passedOver: m.passedOver}
	if err := c.parseFlags(slices.Concat(m.device, flags)); err != nil {
		return nil, err
	}
	if len(c.args) > 0 {
		return nil, usagef("%q is no setting", c.args[0])
	}
	if err := c.settings(); err != nil {
		return nil, err
	}
	c.set.NoTune = true // what one machine measured is not what another has: bytes would differ
	c.compileApart()
	o := &order{call: c}
	return o, o.readJob()
}

// make puts a photo into the batch.
func (m *makerServer) make(ctx context.Context, id int64, r *work.Request) error {
	if _, err := m.open(ctx, r.Flags); err != nil {
		return err
	}
	root, err := os.OpenRoot(r.Root)
	if err != nil {
		return err
	}
	f, err := root.Open(r.Photo)
	if err = errors.Join(err, root.Close()); err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	job := m.order.job
	if job.Output.Format == pipeline.AnyFormat {
		if err := job.Output.Format.UnmarshalText([]byte(filepath.Ext(r.Picture))); err != nil {
			f.Close()
			return err
		}
	}
	job.Input, job.Reader, job.Size = r.Photo, f, info.Size()
	job.Output.Path, job.Progress = r.Picture, m.alive
	if m.photos == nil {
		m.begin(ctx)
	}
	m.photos <- makePhoto{id, job, func() { f.Close() }}
	return nil
}

// begin starts the batch's run, which ends when m.photos is closed.
func (m *makerServer) begin(ctx context.Context) {
	photos, b := make(chan makePhoto), m.batch
	m.photos = photos
	var mu sync.Mutex
	under := map[int]makePhoto{}
	m.idle.Go(func() {
		b.Each(ctx, func(i int) (pipeline.Job, bool) {
			var p makePhoto
			var more bool
			select {
			case p, more = <-photos:
			case <-ctx.Done():
			}
			if more {
				beforePhoto(p.job.Input)
			}
			mu.Lock()
			under[i] = p
			mu.Unlock()
			return p.job, more
		}, func(i int, r *pipeline.Report, err error) {
			mu.Lock()
			p := under[i]
			delete(under, i)
			mu.Unlock()
			p.close()
			a := makerMessage{ID: p.id, Failure: failureOf(err)}
			if a.Failure != nil { // who tells of it names the photo
				a.Failure.Reason = strings.TrimPrefix(a.Failure.Reason, p.job.Input+": ")
			}
			if err == nil {
				a.Made = &work.Made{Seconds: r.Seconds.Total - r.Seconds.Wait, PeakDevice: r.Memory.Peak, PeakHost: r.Host.PeakRSS}
			}
			m.answer(a)
		})
		for range photos { // nobody takes them any more: the process is about to end
		}
	})
}

// closeBatch waits for the photos under way and lets the device go.
func (m *makerServer) closeBatch() error {
	if m.photos != nil {
		close(m.photos)
		m.idle.Wait()
		m.photos = nil
	}
	if m.batch == nil {
		return nil
	}
	b := m.batch
	m.batch = nil
	return b.Close()
}

// failureClasses are the classes of errors as a farm's failures have them.
var failureClasses = map[pipeline.Class]farm.Class{
	pipeline.ClassOption: farm.Option, pipeline.ClassInput: farm.Input, pipeline.ClassIO: farm.IO, pipeline.ClassDevice: farm.Device,
	pipeline.ClassBudget: farm.Memory, pipeline.ClassExists: farm.Exists, pipeline.ClassResult: farm.Result,
}

// failureOf says what an error means for a farm, nil for none.
func failureOf(err error) *farm.Failure {
	if err == nil {
		return nil
	}
	class := pipeline.Classify(err)
	f := &farm.Failure{Kind: farm.Passing, Class: failureClasses[class], Reason: message(err, "")[len("enhance: "):]}
	switch {
	case errors.As(err, new(*usageError)):
		f.Kind, f.Class = farm.Hopeless, farm.Option
	case errors.As(err, new(*addressError)):
		f.Class = farm.Memory
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		f.Kind = farm.Full
	case class == pipeline.ClassOption, class == pipeline.ClassInput, class == pipeline.ClassResult:
		f.Kind = farm.Hopeless
	case class == pipeline.ClassInterrupted:
		f.Kind = farm.Stopped
	}
	return f
}
