package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"enhance/internal/farm"
	"enhance/internal/farm/work"
)

// makerMessage is a line between a worker and the process that computes for it: a request
// in one direction, what became of it in the other.
type makerMessage struct {
	ID      int64         `json:"id"`
	Open    []string      `json:"open,omitempty"` // flags of an order
	Opening bool          `json:"opening,omitempty"`
	Make    *work.Request `json:"make,omitempty"`

	Ability *work.Ability `json:"ability,omitempty"`
	Made    *work.Made    `json:"made,omitempty"`
	Failure *farm.Failure `json:"failure,omitempty"`
	Alive   bool          `json:"alive,omitempty"` // the device gets on; ID is 0
}

// makerSilence is how long the process that computes may say nothing while it has work.
// Then it hangs, and is killed.
const makerSilence = 10 * time.Minute

// childMaker is a work.Maker in a process of its own, started when it is needed: a driver
// that crashes or hangs takes no worker with it.
type childMaker struct {
	command []string // with the device's flags
	silence time.Duration

	mu    sync.Mutex
	child *makerProcess // nil: none runs
	last  int64
}

// makerProcess is a process that computes.
type makerProcess struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	log   *tailWriter

	mu      sync.Mutex
	waiting map[int64]chan makerMessage
	heard   time.Time
	ended   chan struct{} // closed when the process has ended
	failure *farm.Failure // why, once it has
}

func newChildMaker(command []string) *childMaker {
	return &childMaker{command: command, silence: makerSilence}
}

func (m *childMaker) Open(ctx context.Context, flags []string) (*work.Ability, error) {
	answer, err := m.ask(ctx, makerMessage{Open: flags, Opening: true})
	if err != nil {
		return nil, err
	}
	return answer.Ability, nil
}

func (m *childMaker) Make(ctx context.Context, r *work.Request) (*work.Made, error) {
	answer, err := m.ask(ctx, makerMessage{Make: r})
	if err != nil {
		return nil, err
	}
	return answer.Made, nil
}

// ask sends a request and waits for what becomes of it.
func (m *childMaker) ask(ctx context.Context, r makerMessage) (*makerMessage, error) {
	p, id, answers, err := m.send(r)
	if err != nil {
		return nil, err
	}
	select {
	case a := <-answers:
		if a.Failure != nil {
			return nil, a.Failure
		}
		return &a, nil
	case <-p.ended:
		select {
		case a := <-answers: // its last words
			if a.Failure == nil {
				return &a, nil
			}
			return nil, a.Failure
		default:
		}
		return nil, p.failure
	case <-ctx.Done():
		p.forget(id)
		return nil, &farm.Failure{Kind: farm.Stopped, Reason: "the worker was told to end"}
	}
}

// send gives a request to the process, which it starts if none runs.
func (m *childMaker) send(r makerMessage) (*makerProcess, int64, chan makerMessage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.child != nil {
		select {
		case <-m.child.ended:
			m.child = nil
		default:
		}
	}
	if m.child == nil {
		p, err := startMaker(m.command, m.silence)
		if err != nil {
			return nil, 0, nil, &farm.Failure{Kind: farm.Passing, Class: farm.Device, Reason: "cannot start the process that computes: " + err.Error()}
		}
		m.child = p
	}
	m.last++
	r.ID = m.last
	line, err := json.Marshal(r)
	if err != nil {
		return nil, 0, nil, err
	}
	answers := make(chan makerMessage, 1)
	m.child.mu.Lock()
	if len(m.child.waiting) == 0 {
		m.child.heard = time.Now()
	}
	m.child.waiting[r.ID] = answers
	m.child.mu.Unlock()
	m.child.stdin.Write(append(line, '\n')) // that it has ended shows elsewhere
	return m.child, r.ID, answers, nil
}

// Close ends the process, which gives up what it has in work.
func (m *childMaker) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.child != nil {
		m.child.stdin.Close()
		select {
		case <-m.child.ended:
		case <-time.After(2 * time.Second):
			m.child.cmd.Process.Kill()
			<-m.child.ended
		}
	}
	return nil
}

func startMaker(command []string, silence time.Duration) (*makerProcess, error) {
	p := &makerProcess{log: &tailWriter{}, waiting: map[int64]chan makerMessage{}, ended: make(chan struct{}), heard: time.Now()}
	p.cmd = exec.Command(command[0], command[2:]...)
	p.cmd.Args[0] = command[1]
	p.cmd.Stderr = p.log
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go p.listen(out)
	go p.watch(silence)
	return p, nil
}

// listen takes the answers until the process ends.
func (p *makerProcess) listen(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var m makerMessage
		if json.Unmarshal(lines.Bytes(), &m) != nil {
			p.log.Write(append(bytes.Clone(lines.Bytes()), '\n')) // a driver that prints
			continue
		}
		p.mu.Lock()
		p.heard = time.Now()
		if to := p.waiting[m.ID]; to != nil {
			delete(p.waiting, m.ID)
			to <- m
		}
		p.mu.Unlock()
	}
	io.Copy(io.Discard, out)
	err := p.cmd.Wait()
	reason := "the process that computes ended"
	if err != nil {
		reason += ": " + err.Error()
	}
	p.failure = &farm.Failure{Kind: farm.Crashed, Class: farm.Device, Reason: reason, Log: p.log.String()}
	close(p.ended)
}

// watch kills the process if it has work and says nothing for too long.
func (p *makerProcess) watch(silence time.Duration) {
	for {
		select {
		case <-p.ended:
			return
		case <-time.After(silence / 8):
		}
		p.mu.Lock()
		hangs := len(p.waiting) > 0 && time.Since(p.heard) > silence
		p.mu.Unlock()
		if hangs {
			fmt.Fprintf(p.log, "killed: nothing was heard for %v\n", silence)
			p.cmd.Process.Kill()
		}
	}
}

func (p *makerProcess) forget(id int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiting, id)
}

// tailWriter keeps the end of what is written.
type tailWriter struct {
	mu   sync.Mutex
	text []byte
}

func (w *tailWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, b...)
	if extra := len(w.text) - 2*farm.MaxLog; extra > 0 {
		w.text = append(w.text[:0], w.text[extra:]...)
	}
	return len(b), nil
}

func (w *tailWriter) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.ToValidUTF8(farm.Tail(string(w.text)), "?")
}

var errNoSelf = errors.New("this program cannot start itself once more")
