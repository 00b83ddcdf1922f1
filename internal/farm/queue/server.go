package queue

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

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
	// Say is told of what the server complains of; nil: nobody.
	Say func(text string)
}

// Server is a queue in this process.
type Server struct {
	nats *server.Server
	lock *os.File
	key  string // seed of the NKey of this process, "" if the server takes everyone

	queue *Queue // of the service that answers workers
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
	s = &Server{}
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
		err = s.queue.ServeWorkers(serving, o.Dir)
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
		SyncAlways: o.Sync, MaxPayload: 1 << 20,
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
		for _, u := range append([]User{{Admin, public}}, o.Users...) {
			opts.Nkeys = append(opts.Nkeys, &server.NkeyUser{Nkey: u.Key, Permissions: u.permissions()})
		}
	}
	return opts, nil
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
	say func(string)
	mu  sync.Mutex
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
func (l *logger) Warnf(format string, args ...any)  { l.tell(format, args...) }
func (l *logger) Fatalf(format string, args ...any) { l.tell(format, args...) }
func (l *logger) Noticef(string, ...any)            {}
func (l *logger) Debugf(string, ...any)             {}
func (l *logger) Tracef(string, ...any)             {}

// Options say how to reach a farm.
type Options struct {
	Server             *Server // in this process; nil: URL
	URL                string  // "" is DefaultAddress
	KeyFile, Creds, CA string
	Role               Role // whose inbox answers go to
	Name               string
	// Say is told when the connection is lost and found; nil: nobody.
	Say func(text string)
}

// Connect joins a farm as who submits and looks. While the server is away, calls wait or fail, and the connection
// comes back by itself.
func Connect(ctx context.Context, o Options) (*Queue, error) { return connect(ctx, o, nil) }

// SetUp joins a JetStream that is not enhance farm serve's, and makes the farm's streams
// in it.
func SetUp(ctx context.Context, o Options, p farm.Policy) (*Queue, error) { return connect(ctx, o, &p) }

func connect(ctx context.Context, o Options, make *farm.Policy) (*Queue, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var joined atomic.Bool
	nc, err := dial(o, func(err error) bool {
		if joined.Load() {
			return false
		}
		cancel(err) // no answer to what was refused will come
		return true
	})
	if err != nil {
		return nil, err
	}
	q, err := newQueue(ctx, nc, make)
	if err != nil {
		nc.Close()
		if errors.Is(context.Cause(ctx), nats.ErrPermissionViolation) {
			err = failed("use the farm", errors.New("the key is a worker's, or the cluster's user may not use JetStream: give --key with admin.key, or another user's --creds"))
		}
		return nil, err
	}
	joined.Store(true)
	return q, nil
}

// dial connects. denied, if not nil, is told what the server does not permit, and reports whether
// that is all that it needs to be told to.
func dial(o Options, denied func(err error) bool) (*nats.Conn, error) {
	say := o.Say
	if say == nil {
		say = func(string) {}
	}
	opts := []nats.Option{
		nats.Name("enhance " + o.Name), nats.MaxReconnects(-1), nats.ReconnectWait(500 * time.Millisecond), nats.Timeout(answerTime), nats.PingInterval(10 * time.Second), nats.MaxPingsOutstanding(2),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				say(fmt.Sprintf("the connection to the farm is lost: %v", err))
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { say("the connection to the farm is back") }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if denied == nil || !errors.Is(err, nats.ErrPermissionViolation) || !denied(err) {
				say("farm: " + err.Error())
			}
		}),
	}
	address := o.URL
	if address == "" {
		address = "nats://" + DefaultAddress
	}
	if o.Server == nil && (o.KeyFile != "" || o.Creds != "") {
		if err := checkSecure(address); err != nil {
			return nil, err
		}
	}
	if o.Server != nil {
		address = ""
		opts = append(opts, nats.InProcessServer(o.Server.nats))
	}
	who, err := o.identity()
	if err != nil {
		return nil, err
	}
	nc, err := nats.Connect(address, append(opts, who...)...)
	switch {
	case errors.Is(err, nats.ErrNoServers):
		err = fmt.Errorf("no farm is served there: start enhance farm serve, or correct --nats: %w", err)
	case errors.Is(err, nats.ErrAuthorization):
		err = errors.New("the server does not know this key: give --key with a file that enhance farm keys made, whose public half the server has")
	}
	if err != nil {
		return nil, failed("reach "+address, err)
	}
	return nc, nil
}

// identity has the key, the inbox that belongs to it, and what the server's certificate is checked against.
func (o *Options) identity() (opts []nats.Option, err error) {
	inbox := o.Role.inbox()
	switch {
	case o.Server != nil:
		if o.Server.key != "" {
			opts = append(opts, keyOption(o.Server.key))
		}
	case o.KeyFile != "":
		key, err := nats.NkeyOptionFromSeed(o.KeyFile)
		if err != nil {
			return nil, &OptionError{"key", err.Error()}
		}
		opts = append(opts, key)
		if o.Role == Computing {
			public, err := publicKey(key)
			if err != nil {
				return nil, &OptionError{"key", err.Error()}
			}
			inbox += "." + public
		}
	case o.Creds != "":
		if _, err := os.Stat(o.Creds); err != nil {
			return nil, &OptionError{"creds", err.Error()}
		}
		opts = append(opts, nats.UserCredentials(o.Creds))
	}
	if o.CA != "" {
		if _, err := os.Stat(o.CA); err != nil {
			return nil, &OptionError{"ca", err.Error()}
		}
		opts = append(opts, nats.RootCAs(o.CA))
	}
	return append(opts, nats.CustomInboxPrefix(inbox)), nil
}

// checkSecure refuses to use a key where others can read along and change what is said: the
// connection must be encrypted unless it stays on this machine. Several addresses have commas between them.
func checkSecure(urls string) error {
	for one := range strings.SplitSeq(urls, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil || u.Host == "" {
			return &OptionError{"nats", fmt.Sprintf("%q: want tls://HOST:PORT", one)}
		}
		if u.Scheme != "tls" && u.Scheme != "wss" && !isLoopback(u.Hostname()) {
			return &OptionError{"nats", fmt.Sprintf("%s is on another machine and the connection is not encrypted: give tls://%s, and --ca if the certificate is your own", u.Host, u.Host)}
		}
	}
	return nil
}

// isLoopback reports whether a host's name is that of this machine.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// publicKey is the public half of a key.
func publicKey(key nats.Option) (string, error) {
	var o nats.Options
	err := key(&o)
	return o.Nkey, err
}

// Away reports whether an error of Connect or Join says that no server answers now, or that
// it is not ready yet. Refusals are others.
func Away(err error) bool {
	var refused *tls.CertificateVerificationError
	var network net.Error
	return !errors.As(err, &refused) && (errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, nats.ErrNoServers) || errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrTimeout))
}
