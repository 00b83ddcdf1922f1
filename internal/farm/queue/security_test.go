package queue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"enhance/internal/farm"
	"enhance/internal/farm/store"
)

// keyed is a server that knows keys, and files of keys: "admin", "worker", "other worker", "lab", whose workers have
// that name, and "stranger", whom the server does not know.
type keyed struct {
	url  string
	file map[string]string
}

func serveKeyed(t *testing.T) *keyed {
	t.Helper()
	dir := t.TempDir()
	k := &keyed{file: map[string]string{}}
	var users []User
	for name, role := range map[string]Role{"admin": Admin, "worker": Computing, "other worker": Computing, "lab": Computing, "stranger": ""} {
		seed, public, err := NewKey()
		if err != nil {
			t.Fatal(err)
		}
		k.file[name] = filepath.Join(dir, name+".key")
		if err := os.WriteFile(k.file[name], []byte(seed), 0o600); err != nil {
			t.Fatal(err)
		}
		if role != "" {
			u := User{Role: role, Key: public}
			if name == "lab" {
				u.Name = name
			}
			users = append(users, u)
		}
	}
	s, err := Serve(t.Context(), ServerOptions{Dir: filepath.Join(dir, "q"), Policy: testPolicy(), Address: freePort(t), Users: users})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	k.url = "nats://" + s.Address()
	return k
}

func (k *keyed) options(name string) Options { return Options{URL: k.url, KeyFile: k.file[name]} }

// TestKeys: a worker's key does a worker's work; strangers do nothing.
func TestKeys(t *testing.T) {
	k, ctx := serveKeyed(t), t.Context()
	for _, o := range []Options{{URL: k.url}, k.options("stranger"), {URL: k.url, KeyFile: "none"}} {
		q, err := Connect(ctx, o)
		if err == nil {
			q.Close()
			t.Errorf("%+v is let in", o)
		}
		if Away(err) {
			t.Errorf("a refusal is taken for a server that is away: %v", err)
		}
	}
	if _, err := Connect(ctx, Options{URL: "nats://" + freePort(t)}); !Away(err) {
		t.Errorf("where no server is: %v", err)
	}
	start := time.Now()
	if _, err := Connect(ctx, k.options("worker")); err == nil || !strings.Contains(err.Error(), "admin.key") || errors.Is(err, context.Canceled) || time.Since(start) > answerTime {
		t.Errorf("a worker's key as an admin's: %v", err)
	}
	admin := join(t, k.options("admin"))
	o := putOrder(t, admin)
	if _, err := admin.Submit(ctx, o.ID(), photos(o.ID(), 3, 0), nil); err != nil {
		t.Fatal(err)
	}
	complaints := make(chan string, 100)
	withTold := k.options("worker")
	withTold.Say = func(text string) { complaints <- text }
	w := worker(t, withTold)
	for i := range 2 {
		l := take(t, w, 0)
		if f, err := l.Begin(ctx, "w"); f != nil || err != nil {
			t.Fatal(f, err)
		}
		if i == 0 {
			if dead, err := l.Fail(ctx, "w", &farm.Failure{Kind: farm.Hopeless, Reason: "x"}); !dead || err != nil {
				t.Error(dead, err)
			}
		} else if err := done(t, w, l); err != nil {
			t.Error(err)
		}
	}
	if _, err := w.Report(ctx, &Worker{Name: "w", Seconds: 1}); err != nil {
		t.Error(err)
	}
	if err := w.Leave(ctx, "w"); err != nil {
		t.Error(err)
	}
	if len(complaints) > 0 {
		t.Errorf("the worker lacks permissions: %q", <-complaints)
	}
}

// state is all that a worker must not change but by working: the messages of tasks, of the
// dead, of orders and of attempts, and the streams there are.
func state(t *testing.T, admin *Queue) string {
	t.Helper()
	var b strings.Builder
	names := admin.js.StreamNames(t.Context())
	for name := range names.Name() {
		if name == "KV_"+workersBucket {
			continue
		}
		s, err := admin.js.Stream(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		info, err := s.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s: %d messages, last %d, %d consumers\n", name, info.State.Msgs, info.State.LastSeq, info.State.Consumers)
	}
	if err := names.Err(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestWorkerKeyAttacks: who has a worker's key can neither submit a task nor change an
// order, end others' tasks or read what is not its own, neither by JetStream's interface
// nor by having an answer sent to a subject of the farm.
func TestWorkerKeyAttacks(t *testing.T) {
	k, ctx := serveKeyed(t), t.Context()
	admin := join(t, k.options("admin"))
	o := putOrder(t, admin)
	if _, err := admin.Submit(ctx, o.ID(), photos(o.ID(), 5, 0), nil); err != nil {
		t.Fatal(err)
	}
	if sum, err := admin.PutPhoto(ctx, k.file["worker"]); err != nil || sum == "" { // something that can be read
		t.Fatal(err)
	}
	evil, good := worker(t, k.options("worker")), worker(t, k.options("other worker"))
	before := state(t, admin)

	targets := []string{taskSubject(0, o.ID()), "$KV." + ordersBucket + ".order." + o.ID(), deadSubject(o.ID(), farm.Hash("x")[:32]),
		"$KV." + begunBucket + "." + o.ID(), "$JS.API.STREAM.DELETE." + deadStream, "$JS.API.STREAM.PURGE." + tasksStream, "_INBOX_admin.x"}
	requests := map[string]string{
		"$JS.API.INFO": "", "$JS.API.STREAM.NAMES": "", "$JS.API.STREAM.INFO." + tasksStream: "", "$JS.API.STREAM.DELETE." + deadStream: "",
		"$JS.API.STREAM.PURGE." + tasksStream: "", "$JS.API.STREAM.MSG.GET." + tasksStream: `{"seq":1}`, "$JS.API.STREAM.MSG.DELETE." + tasksStream: `{"seq":1}`,
		"$JS.API.DIRECT.GET.KV_" + ordersBucket + ".$KV." + ordersBucket + "." + secretKey:              "",
		"$JS.API.DIRECT.GET.KV_" + ordersBucket:                                                         `{"last_by_subj":"$KV.` + ordersBucket + `.secret"}`,
		"$JS.API.CONSUMER.MSG.NEXT." + tasksStream + "." + consumerName(o.ID(), 0):                      `{"batch":5,"no_wait":true}`,
		"$JS.API.CONSUMER.CREATE." + tasksStream + ".evil." + taskSubject(0, o.ID()):                    `{"stream_name":"farm_tasks","config":{"name":"evil","deliver_subject":"` + taskSubject(1, o.ID()) + `","ack_policy":"none"}}`,
		"$JS.API.CONSUMER.CREATE.OBJ_" + store.ResultsBucket + ".evil.$O." + store.ResultsBucket + ".>": `{"stream_name":"OBJ_farm_results","config":{"name":"evil","deliver_subject":"` + taskSubject(0, o.ID()) + `","ack_policy":"none"}}`,
		"$JS.API.CONSUMER.DELETE." + tasksStream + "." + consumerName(o.ID(), 0):                        "",
		"$JS.ACK." + tasksStream + "." + consumerName(o.ID(), 0) + ".1.1.1.1.1":                         "+ACK",
		"$O." + store.ResultsBucket + ".C.evil":                                                         "evil", "$KV." + store.ReceiptsBucket + "." + farm.Hash("x"): "{}",
		"$KV." + store.NamesBucket + ".x": "{}", "$KV." + begunBucket + ".x": "[]", "$KV." + workersBucket + ".x": "evil",
		taskSubject(0, o.ID()): "evil", "$KV." + ordersBucket + ".cancelled." + o.ID(): "", deadSubject(o.ID(), o.ID()): "{}", wakeSubject: "",
		"$SYS.REQ.SERVER.PING": "", "_INBOX_admin.x": "evil", "farm.ask": "", "farm.ask.no.such": "", "farm.ask.policy": "", "farm.ask.policy.anyone": "", "farm.ask.policy." + good.key: "",
	}
	for subject, body := range requests {
		if m, err := evil.nc.Request(subject, []byte(body), 20*time.Millisecond); err == nil {
			t.Errorf("%s answers %q", subject, m.Data)
		}
		for _, to := range targets {
			evil.nc.PublishRequest(subject, to, []byte(body))
		}
	}
	// What the service answers goes to workers' inboxes only.
	for op := range (&Service{}).handlers() {
		for _, to := range targets {
			for _, r := range []ask{{}, {Bucket: store.PhotosBucket, Name: farm.Hash("x")}, {Offers: []Offer{{o.ID(), 0}}}} {
				if op != "take" { // a task would only wait until its lease ends
					evil.nc.PublishRequest(evil.subject(op), to, encodeMessage(&r, nil))
				}
			}
		}
	}
	evil.nc.Flush()
	evil.ask(ctx, "policy", &ask{}) // behind all of that
	time.Sleep(200 * time.Millisecond)
	if after := state(t, admin); after != before {
		t.Errorf("was\n%sis\n%s", before, after)
	}
	if e, err := admin.orders.Get(ctx, "order."+o.ID()); err != nil || string(e.Value()) != string(o.Encode()) {
		t.Errorf("the order is %v, %v", e, err)
	}
}

// TestWorkerNames: a worker has its key's name and no other key's, and changes nobody else's state.
func TestWorkerNames(t *testing.T) {
	k, ctx := serveKeyed(t), t.Context()
	admin := join(t, k.options("admin"))
	workers := map[string]*Client{"lab": worker(t, k.options("lab")), "worker": worker(t, k.options("worker")), "other worker": worker(t, k.options("other worker"))}
	if a, b := workers["lab"].Name(), workers["worker"].Name(); a != "lab" || b != "" {
		t.Errorf("the keys' names are %q and %q", a, b)
	}
	for _, c := range []struct {
		key, name string
		good      bool
	}{
		{"lab", "lab", true}, {"lab", "lab-3", true}, {"lab", "lab3", false}, {"lab", "x", false}, {"lab", "", false},
		{"worker", "x", true}, {"worker", "lab3", true}, {"worker", "lab", false}, {"worker", "lab-3", false}, {"other worker", "x", true},
	} {
		var r *RefusedError
		if _, err := workers[c.key].Report(ctx, &Worker{Name: c.name, Device: c.key}); (err == nil) != c.good || err != nil && !errors.As(err, &r) {
			t.Errorf("key of %s, name %q: %v", c.key, c.name, err)
		}
	}
	states := func() (all []string) {
		now, err := admin.Workers(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range now {
			all = append(all, w.Name+" of "+w.Device)
		}
		slices.Sort(all)
		return all
	}
	want := []string{"lab of lab", "lab-3 of lab", "lab3 of worker", "x of other worker", "x of worker"}
	if got := states(); !slices.Equal(got, want) {
		t.Errorf("there are %q, want %q", got, want)
	}
	if err := workers["worker"].Leave(ctx, "lab"); err == nil {
		t.Error("a worker takes another out of the list")
	}
	if err := workers["worker"].Leave(ctx, "x"); err != nil {
		t.Error(err)
	}
	if got := states(); !slices.Equal(got, want[:4]) {
		t.Errorf("there are %q, want %q", got, want[:4])
	}
	o := putOrder(t, admin)
	if _, err := admin.Submit(ctx, o.ID(), photos(o.ID(), 1, 0), nil); err != nil {
		t.Fatal(err)
	}
	l := take(t, workers["worker"], 0)
	if _, err := l.Begin(ctx, "lab"); !errors.As(err, new(*RefusedError)) {
		t.Errorf("a photo is begun by another's name: %v", err)
	}
	if _, err := l.Fail(ctx, "lab-1", &farm.Failure{Kind: farm.Hopeless}); !errors.As(err, new(*RefusedError)) {
		t.Errorf("a photo is failed by another's name: %v", err)
	}
}

// TestWorkersApart: a worker hears no answer to another with another key, and cannot end,
// fail, give back or name a task that it has not leased, or that it has without a receipt.
func TestWorkersApart(t *testing.T) {
	k, ctx := serveKeyed(t), t.Context()
	admin := join(t, k.options("admin"))
	o := putOrder(t, admin)
	if _, err := admin.Submit(ctx, o.ID(), photos(o.ID(), 2, 0), nil); err != nil {
		t.Fatal(err)
	}
	evil, good := worker(t, k.options("other worker")), worker(t, k.options("worker"))
	heard := make(chan *nats.Msg, 100)
	for _, subject := range []string{"_INBOX_worker.>", "_INBOX_admin.>", "farm.ask.>", "farm.>", ">", "$KV.>", "_INBOX_worker.*.>"} {
		if sub, err := evil.nc.ChanSubscribe(subject, heard); err == nil {
			defer sub.Unsubscribe()
		}
	}
	evil.nc.Flush()
	l, own := take(t, good, 0), take(t, evil, 0)
	if _, err := admin.Status(ctx); err != nil {
		t.Error(err)
	}
	receipt := receiptOf(t, good, l)
	otherLook, err := farm.NewOrder([]farm.Setting{{Name: "tone", Value: "natural"}}, ".png", false)
	if err != nil {
		t.Fatal(err)
	}
	of := func(change func(r *farm.Receipt)) *farm.Receipt {
		r := *receipt
		change(&r)
		return &r
	}
	upload, sum := farm.Hash("upload")[:32], sha256.Sum256([]byte("picture"))
	if _, err := evil.ask(ctx, "put", &ask{Name: upload, Held: &own.held, body: []byte("picture")}); err != nil {
		t.Fatal(err)
	}
	result := of(func(r *farm.Receipt) { r.Picture = hex.EncodeToString(sum[:]) })
	foreign := of(func(r *farm.Receipt) { r.Picture, r.Order = result.Picture, *otherLook; r.Complete() })
	stolen := l.held
	stolen.Proof = own.held.Proof
	swapped := own.held
	swapped.Task = l.Task
	before := state(t, admin)
	for name, r := range map[string]struct {
		op string
		ask
	}{
		"another's task done":         {"done", ask{Held: &stolen, Receipt: receipt}},
		"its own lease, another task": {"done", ask{Held: &swapped, Receipt: receipt}},
		"a lease of nobody":           {"done", ask{Receipt: receipt}},
		"another's task failed":       {"fail", ask{Held: &stolen, Failure: &farm.Failure{Kind: farm.Hopeless}}},
		"another's task begun":        {"begin", ask{Held: &stolen}},
		"another's task given back":   {"release", ask{Held: &stolen}},
		"another's task renewed":      {"renew", ask{Held: &stolen}},
		"another's task named":        {"name", ask{Held: &stolen, Receipt: receipt}},
		"no receipt":                  {"done", ask{Held: &own.held}},
		"a receipt of other facts":    {"done", ask{Held: &own.held, Receipt: of(func(r *farm.Receipt) { r.Photo = farm.Hash("y") })}},
		"a receipt of other settings": {"done", ask{Held: &own.held, Receipt: of(func(r *farm.Receipt) { r.Order = *otherLook; r.Complete() })}},
		"a name without a result":     {"name", ask{Held: &own.held, Receipt: receipt}},
		"a result without its bytes":  {"publish", ask{Name: o.ID(), Held: &own.held, Receipt: receipt}},
		"a result of nobody's lease":  {"publish", ask{Name: upload, Receipt: result}},
		"a result of other settings":  {"publish", ask{Name: upload, Held: &own.held, Receipt: foreign}},
		"an upload of nobody's lease": {"put", ask{Name: o.ID(), body: []byte("x")}},
		"a path as an upload":         {"put", ask{Name: "../x", Held: &own.held, body: []byte("x")}},
		"another bucket":              {"get", ask{Bucket: ordersBucket, Name: farm.Hash("x")}},
		"a key that is none":          {"receipt", ask{Name: "*"}},
		"an output that is none":      {"named", ask{Name: "../x"}},
		"an order that is none":       {"order", ask{Name: "*"}},
		"a worker that is none":       {"leave", ask{Worker: "*"}},
		"a report of nobody":          {"report", ask{State: &Worker{Name: "a.b"}}},
		"an offer that is none":       {"take", ask{Offers: []Offer{{"*", 0}}}},
		"a size that is none":         {"take", ask{Offers: []Offer{{o.ID(), 99}}}},
	} {
		if a, err := evil.ask(ctx, r.op, &r.ask); err == nil {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if after := state(t, admin); after != before {
		t.Errorf("was\n%sis\n%s", before, after)
	}
	select {
	case m := <-heard:
		t.Errorf("%s was heard: %q", m.Subject, m.Data)
	default:
	}
	if err := good.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := done(t, good, l); err != nil {
		t.Error(err)
	}
}
