package queue

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"enhance/internal/farm"
)

// DefaultAddress is where a server listens if nothing is said: this machine only.
const DefaultAddress = "127.0.0.1:4222"

// ServerOptions say what a server is to be.
type ServerOptions struct {
	Dir    string      // of the queue
	Policy farm.Policy // DefaultPolicy() if in doubt
	// Address is host:port; "" listens nowhere: only Connect with Server reaches it. An address
	// that is not loopback needs a certificate and users.
	Address string
	// Cert and Key are PEM files for TLS.
	Cert, Key string
	// Users are public NKeys and what they may do; nil lets everyone in who can connect.
	Users []User
	// Sync has every write to the queue reach the disk before it is answered. Without it a
	// power failure may lose what was submitted in the last 2 minutes; a crash of the
	// process loses nothing.
	Sync bool
	// MaxDisk is how many bytes the queue may have on its disk; 0: three quarters of what is free there.
	MaxDisk int64
	// Say is told of what the server complains of; nil: nobody.
	Say func(text string)
}

// Server is a queue in this process.
type Server struct {
	nats *server.Server
	lock *os.File
	key  string // seed of the NKey of this process, "" if the server takes everyone

	queue *Queue     // of the service that answers workers
	lost  chan error // why the server has to end
	stop  context.CancelFunc
}

// Serve starts a server. It returns when the server takes connections and has the farm's
// streams.
func Serve(ctx context.Context, o ServerOptions) (s *Server, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	s = &Server{lost: make(chan error, 1)}
	if s.lock, err = lockDir(o.Dir); err != nil {
		return nil, err
	}
	opts, err := s.options(&o)
	if err == nil {
		s.nats, err = server.NewServer(opts)
	}
	if err != nil {
		return nil, errors.Join(failed("start the server", err), s.lock.Close())
	}
	s.nats.SetLoggerV2(&logger{say: o.Say}, false, false, false)
	s.nats.Start()
	if !s.nats.ReadyForConnections(20 * time.Second) {
		s.Close()
		return nil, failed("start the server", errors.New("it does not take connections"))
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	if s.queue, err = connect(ctx, Options{Server: s, Role: Admin}, &o.Policy); err == nil {
		var other <-chan error
		other, err = s.queue.ServeWorkers(serving, o.Dir, o.Users)
		go s.watch(serving, other)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// check refuses what would let strangers in.
func (o *ServerOptions) check() error {
	if o.Address == "" {
		return nil
	}
	host, _, err := net.SplitHostPort(o.Address)
	if err != nil {
		return &OptionError{"listen", fmt.Sprintf("%q: want HOST:PORT", o.Address)}
	}
	if isLoopback(host) {
		return nil
	}
	if o.Cert == "" || o.Key == "" || len(o.Users) == 0 {
		return &OptionError{"listen", o.Address + " can be reached from other machines: give --tls-cert, --tls-key and --users too, or listen on 127.0.0.1"}
	}
	return nil
}

// OptionError is a setting of server or connection that makes no sense.
type OptionError struct{ Option, Problem string }

func (e *OptionError) Error() string { return "--" + e.Option + ": " + e.Problem }

// options are those of nats-server.
func (s *Server) options(o *ServerOptions) (*server.Options, error) {
	opts := &server.Options{
		ServerName: "enhance-farm", JetStream: true, StoreDir: o.Dir, DisableJetStreamBanner: true, NoSigs: true, DontListen: o.Address == "",
		SyncAlways: o.Sync, MaxPayload: 1 << 20, JetStreamMaxStore: o.MaxDisk,
	}
	if o.Address != "" {
		host, port, err := net.SplitHostPort(o.Address)
		if err != nil {
			return nil, err
		}
		opts.Host = host
		if opts.Port, err = strconv.Atoi(port); err != nil || opts.Port < 1 || opts.Port > 65535 {
			return nil, &OptionError{"listen", fmt.Sprintf("%q: want a port from 1 to 65535", port)}
		}
		l, err := net.Listen("tcp", o.Address) // the server itself would end the process
		if err != nil {
			return nil, fmt.Errorf("%w: is another server running? Choose another port with --listen", err)
		}
		l.Close()
	}
	if o.Cert != "" {
		cert, err := tls.LoadX509KeyPair(o.Cert, o.Key)
		if err != nil {
			return nil, &OptionError{"tls-cert", err.Error()}
		}
		opts.TLS, opts.TLSTimeout = true, 5
		opts.TLSConfig = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	}
	if len(o.Users) > 0 {
		seed, public, err := NewKey()
		if err != nil {
			return nil, err
		}
		s.key = seed
		for _, u := range append([]User{{Role: Admin, Key: public}}, o.Users...) {
			opts.Nkeys = append(opts.Nkeys, &server.NkeyUser{Nkey: u.Key, Permissions: u.permissions()})
		}
	}
	return opts, nil
}

// Lost has an error if the server has to end: another process answers its workers, or the queue
// could not be written. JetStream writes no more to a stream after that, though there be room
// again, until the server is started anew.
func (s *Server) Lost() <-chan error { return s.lost }

// healthPeriod is how often the server looks whether the queue can be written.
const healthPeriod = 2 * time.Second

// watch tells Lost why the server has to end.
func (s *Server) watch(ctx context.Context, other <-chan error) {
	tick := time.NewTicker(healthPeriod)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case err := <-other:
			s.lost <- err
			return
		case <-tick.C:
		}
		if h := s.nats.Healthz(nil); h.Error != "" && strings.Contains(h.Error, "write error") {
			s.lost <- failed("write the queue", fmt.Errorf("%s: make room on its disk, and start the server again: workers and submissions go on then", h.Error))
			return
		}
	}
}

// disk is how much the queue has on its disk and may have.
func (s *Server) disk() (used, bound int64) {
	info, err := s.nats.Jsz(nil)
	if err != nil || info.Config.MaxStore <= 0 {
		return 0, 0
	}
	return int64(min(info.Store, math.MaxInt64)), info.Config.MaxStore
}

// Close ends the server. What it has accepted is on the disk.
func (s *Server) Close() error {
	if s.stop != nil {
		s.stop()
	}
	if s.queue != nil {
		s.queue.Close()
	}
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
	return s.lock.Close()
}

// Address is where the server listens, "" if nowhere.
func (s *Server) Address() string {
	if a := s.nats.Addr(); a != nil {
		return a.String()
	}
	return ""
}

// logger passes on what is wrong.
type logger struct {
	say   func(string)
	mu    sync.Mutex
	reads bool // it has told that the queue is read anew
}

func (l *logger) tell(format string, args ...any) {
	if l.say == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.say(fmt.Sprintf(format, args...))
}

func (l *logger) Errorf(format string, args ...any) { l.tell(format, args...) }

// Warnf says once, and in words for who runs the farm, that the last server was killed.
func (l *logger) Warnf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if strings.Contains(text, "Stream state outdated") || strings.Contains(text, "Recovering stream state from index errored") {
		l.mu.Lock()
		told := l.reads
		l.reads = true
		l.mu.Unlock()
		if told {
			return
		}
		text = "the server before this one did not close it: its files are read anew"
	}
	l.tell("%s", text)
}

func (l *logger) Fatalf(format string, args ...any) { l.tell(format, args...) }
func (l *logger) Noticef(string, ...any)            {}
func (l *logger) Debugf(string, ...any)             {}
func (l *logger) Tracef(string, ...any)             {}
