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
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"enhance/internal/farm"
)

// Options say how to reach a farm.
type Options struct {
	Server             *Server // in this process; nil: URL
	URL                string  // "" is DefaultAddress
	KeyFile, Creds, CA string
	Role               Role // whose inbox answers go to
	Name               string
	// Say is told when the connection is lost and found, and what a submission waits for; nil: nobody.
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
	q, err := newQueue(ctx, nc, make, &o)
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
	address := o.URL
	if address == "" {
		address = "nats://" + DefaultAddress
	}
	if o.Server == nil && (o.KeyFile != "" || o.Creds != "") {
		if err := checkSecure(address); err != nil {
			return nil, err
		}
	}
	opts := o.tenacious(denied)
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
		err = unknownKey(o.KeyFile != "" || o.Creds != "")
	}
	if err != nil {
		return nil, failed("reach "+address, err)
	}
	return nc, nil
}

// unknownKey is the error of who has a key that the server does not know, or none where it wants one.
func unknownKey(has bool) error {
	if has {
		return errors.New("the server does not know this key: give --key with a file that enhance farm keys made, whose public half the server has")
	}
	return errors.New("the server lets in nobody without a key: give --key with a file that enhance farm keys made")
}

// gone is why a connection does not come back by itself: the server knows its key no longer, or it was closed. It is nil
// while the connection is there or may come back.
func gone(nc *nats.Conn) error {
	if !nc.IsClosed() {
		return nil
	}
	err := nc.LastError()
	switch {
	case errors.Is(err, nats.ErrAuthorization):
		err = unknownKey(nc.Opts.Nkey != "" || nc.Opts.UserJWT != nil)
	case err == nil:
		err = nats.ErrConnectionClosed
	}
	return failed("reach the farm", err)
}

// sayer is Say, or what tells nobody.
func (o *Options) sayer() func(string) {
	if o.Say == nil {
		return func(string) {}
	}
	return o.Say
}

// tenacious has a connection come back by itself, and its troubles told.
func (o *Options) tenacious(denied func(err error) bool) []nats.Option {
	say := o.sayer()
	return []nats.Option{
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
}

// anyone stands for the key of a worker that has none: the farm's server is on its machine and
// takes everyone, or it is in its process.
const anyone = "anyone"

// public is the public half of the key that a connection uses, or anyone.
func (o *Options) public() (string, error) {
	switch {
	case o.Server != nil:
		return anyone, nil
	case o.KeyFile != "":
		key, err := nats.NkeyOptionFromSeed(o.KeyFile)
		if err != nil {
			return "", &OptionError{"key", err.Error()}
		}
		var n nats.Options
		if err := key(&n); err != nil {
			return "", &OptionError{"key", err.Error()}
		}
		return n.Nkey, nil
	case o.Creds != "":
		data, err := os.ReadFile(o.Creds)
		if err != nil {
			return "", &OptionError{"creds", err.Error()}
		}
		pair, err := nkeys.ParseDecoratedUserNKey(data)
		if err != nil {
			return "", &OptionError{"creds", o.Creds + ": " + err.Error()}
		}
		defer pair.Wipe()
		return pair.PublicKey()
	}
	return anyone, nil
}

// identity has the key, the inbox that belongs to it, and what the server's certificate is checked against.
func (o *Options) identity() (opts []nats.Option, err error) {
	inbox := o.Role.inbox()
	if o.Role == Computing {
		public, err := o.public()
		if err != nil {
			return nil, err
		}
		inbox += "." + public
	}
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

// Away reports whether an error of Connect or Join says that no server answers now, or that
// it is not ready yet. Refusals are others.
func Away(err error) bool {
	var refused *tls.CertificateVerificationError
	var network net.Error
	return !errors.As(err, &refused) && (errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, nats.ErrNoServers) ||
		errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrTimeout))
}
