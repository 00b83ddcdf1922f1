package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"enhance/internal/bytesize"
	"enhance/internal/farm"
	"enhance/internal/farm/queue"
	"enhance/internal/printable"
)

var farmStatusCommand = &command{name: "farm status", summary: "print what a farm does", usage: []string{"farm status [--nats URL]"}, run: runFarmStatus,
	about: `Prints the orders of a farm, its workers, and the photos that were given up, with reasons.
On a terminal the table is printed anew every two seconds until it is interrupted.`}

var farmRetryCommand = &command{name: "farm retry", summary: "try photos again that were given up", usage: []string{"farm retry [ORDER] [--nats URL]"}, run: runFarmRetry,
	about: `Submits the photos that were given up again, of one order or of all, with a clean record.`}

var farmCancelCommand = &command{name: "farm cancel", summary: "take an order out of a farm", usage: []string{"farm cancel ORDER [--nats URL]"}, run: runFarmCancel,
	about: `Takes the photos of an order that wait out of the queue. Those in work are finished, and
results stay. Submitting again goes on.`}

// farmReport is what farm status prints.
type farmReport struct {
	*queue.Status
	Left   float64    `json:"seconds_left,omitempty"`
	Failed []deadFact `json:"failed,omitempty"` // the first of them
}

// shownDead is how many photos that were given up a table names; JSON has maxFailed of them.
const shownDead = 20

func reportFarm(ctx context.Context, q *queue.Queue, most int) (*farmReport, error) {
	s, err := q.Status(ctx)
	if err != nil {
		return nil, err
	}
	r := &farmReport{Status: s, Left: s.Left()}
	err = q.DeadOf(ctx, "", func(_ uint64, d *queue.Dead) bool {
		photo := "a message that is no task"
		if d.Task != nil {
			photo = d.Task.Photo
		}
		r.Failed = append(r.Failed, deadFact{photo, d.Failure.Kind, d.Failure.Class, d.Failure.Reason, d.Failure.Log})
		return len(r.Failed) < most
	})
	return r, err
}

func runFarmStatus(c *call) error {
	if err := c.wantNoArguments(); err != nil {
		return err
	}
	return c.asAdmin(nil, c.showStatus)
}

// showStatus prints the status once, or on a terminal until ctx ends.
func (c *call) showStatus(ctx context.Context, q *queue.Queue) error {
	for {
		most := shownDead
		if c.json {
			most = maxFailed
		}
		r, err := reportFarm(ctx, q, most)
		if err != nil {
			return err
		}
		if c.terminal == nil || c.json {
			return c.report(r, r.write)
		}
		fmt.Fprint(c.terminal, "\x1b[H\x1b[J")
		if err := r.write(c.text()); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(2 * time.Second):
		}
	}
}

func (r *farmReport) write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "ORDER\tPHOTOS\tDONE\tIN WORK\tWAITING\tFAILED\t\n")
	for _, o := range r.Orders {
		note := ""
		if o.Cancelled {
			note = fmt.Sprintf("cancelled: %d taken out", o.Taken)
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%s\n", o.ID, o.Photos, o.Done, o.Running, o.Waiting, o.Dead, note)
	}
	if len(r.Workers) > 0 {
		fmt.Fprint(t, "\t\t\t\t\t\t\nWORKER\tMADE\tFOUND\tFAILED\tSECONDS\tSTATE\n")
	}
	for _, k := range r.Workers {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%.2f\t%s\n", printable.Line(k.Name), k.Made, k.Found, k.Failed, k.Seconds, printable.Line(workerState(&k)))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n"+r.summary())
	return err
}

// workerState says what a worker does, and with what.
func workerState(k *queue.Worker) string {
	text := k.State
	if len(k.Photos) > 0 {
		text += ": " + strings.Join(slices.Sorted(slices.Values(k.Photos)), ", ")
	}
	if k.Device != "" {
		text += " (" + k.Device + ")"
	}
	return text
}

// summary is what a person wants to know first: how far it is, and what needs a hand.
func (r *farmReport) summary() string {
	var b strings.Builder
	var all, done, waiting, dead int64
	for _, o := range r.Orders {
		all, done, waiting, dead = all+o.Photos-o.Taken, done+o.Done, waiting+o.Waiting, dead+o.Dead
	}
	fmt.Fprintf(&b, "%d of %s done", done, photos(int(all)))
	if r.Rate > 0 {
		fmt.Fprintf(&b, "; the workers make %.3g a second together", r.Rate)
		if r.Left >= 1 {
			fmt.Fprintf(&b, ", so that about %s are left", time.Duration(r.Left)*time.Second)
		}
	}
	b.WriteString("\n")
	switch s := r.Serving; {
	case s == nil:
		b.WriteString("nobody answers the workers: start enhance farm serve\n")
	case s.DiskBound > 0 && s.Disk >= s.DiskBound:
		fmt.Fprintf(&b, "the queue's disk is full: it has %s there and may have %s. Make room on the disk of farm serve, and start it again\n", bytesize.Text(s.Disk), bytesize.Text(s.DiskBound))
	}
	if len(r.Workers) == 0 && waiting > 0 {
		fmt.Fprintf(&b, "no worker is connected: start enhance farm work\n")
	}
	for _, l := range r.TooLarge {
		need := "the memory for them"
		if l.Least > 0 {
			need = bytesize.Text(l.Least) + " of memory"
		}
		if l.Refused != "" {
			fmt.Fprintf(&b, "%s of order %.8s wait, and every worker refuses the order: %s\n", photos(int(l.Photos)), l.Order, printable.Line(l.Refused))
		} else {
			fmt.Fprintf(&b, "%s of order %.8s with sides up to %d wait for a worker with %s\n", photos(int(l.Photos)), l.Order, l.Side, need)
		}
	}
	for _, d := range r.Failed {
		fmt.Fprintf(&b, "failed  %s: %s\n", printable.Line(d.Photo), printable.Line(d.Reason))
	}
	if more := dead + r.Strays - int64(len(r.Failed)); more > 0 {
		fmt.Fprintf(&b, "and %d more failed: enhance farm status --json lists them\n", more)
	}
	return b.String()
}

func runFarmRetry(c *call) error {
	if len(c.args) > 1 {
		return c.wants("one order, or none for all")
	}
	order := ""
	if len(c.args) == 1 {
		if order = c.args[0]; !farm.IsID(order) {
			return usagef("farm retry: %q is no order: farm status lists them", order)
		}
	}
	return c.change(func(ctx context.Context, q *queue.Queue) (string, error) {
		n, err := q.Retry(ctx, order)
		return photos(int(n)) + " submitted again", err
	})
}

func runFarmCancel(c *call) error {
	if len(c.args) != 1 || !farm.IsID(c.args[0]) {
		return usagef("farm cancel: want the order: farm status lists them")
	}
	return c.change(func(ctx context.Context, q *queue.Queue) (string, error) {
		n, err := q.Cancel(ctx, c.args[0])
		if errors.As(err, new(*queue.UnknownOrderError)) {
			return "", usagef("farm cancel: %v", err)
		}
		return photos(int(n)) + " taken out of the queue", err
	})
}

// change does something to a farm and prints what.
func (c *call) change(do func(context.Context, *queue.Queue) (string, error)) error {
	return c.asAdmin(nil, func(ctx context.Context, q *queue.Queue) error {
		text, err := do(ctx, q)
		if err == nil {
			_, err = fmt.Fprintln(c.text(), text)
		}
		return err
	})
}

// serveMetrics serves the farm's figures if --metrics asks for it. They name no photo, for the
// address is the user's choice and asks for no key.
func (c *call) serveMetrics(ctx context.Context, q *queue.Queue) error {
	if c.metrics == "" {
		return nil
	}
	l, err := net.Listen("tcp", c.metrics)
	if err != nil {
		return usagef("--metrics: %v", err)
	}
	mux := http.NewServeMux()
	answer := func(write func(w http.ResponseWriter, s *queue.Status)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			s, err := q.Status(r.Context())
			if err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
			write(w, s)
		}
	}
	mux.HandleFunc("GET /metrics", answer(func(w http.ResponseWriter, s *queue.Status) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		writeMetrics(w, s)
	}))
	mux.HandleFunc("GET /status", answer(func(w http.ResponseWriter, s *queue.Status) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(withoutPhotos(s))
	}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go server.Serve(l)
	context.AfterFunc(ctx, func() { server.Close() })
	c.note("figures are at http://%s/metrics", l.Addr())
	return nil
}

// withoutPhotos takes the names of photos out of a status.
func withoutPhotos(s *queue.Status) *queue.Status {
	for i := range s.Workers {
		s.Workers[i].Photos = nil
	}
	return s
}

// writeMetrics writes a status in Prometheus's text format.
func writeMetrics(w io.Writer, s *queue.Status) {
	gauge := func(name, help string) {
		fmt.Fprintf(w, "# HELP enhance_farm_%s %s\n# TYPE enhance_farm_%s gauge\n", name, help, name)
	}
	for _, m := range []struct {
		name, help string
		of         func(*queue.OrderStatus) int64
	}{
		{"photos", "Photos of an order.", func(o *queue.OrderStatus) int64 { return o.Photos }},
		{"done", "Photos that have their pictures.", func(o *queue.OrderStatus) int64 { return o.Done }},
		{"waiting", "Photos that wait for a worker.", func(o *queue.OrderStatus) int64 { return o.Waiting }},
		{"in_work", "Photos that workers have leased.", func(o *queue.OrderStatus) int64 { return o.Running }},
		{"failed", "Photos that were given up.", func(o *queue.OrderStatus) int64 { return o.Dead }},
	} {
		gauge(m.name, m.help)
		for i := range s.Orders {
			fmt.Fprintf(w, "enhance_farm_%s{order=%q} %d\n", m.name, s.Orders[i].ID, m.of(&s.Orders[i]))
		}
	}
	gauge("strays", "Messages that are no task.")
	fmt.Fprintf(w, "enhance_farm_strays %d\n", s.Strays)
	gauge("queue_bound", "Photos that may wait.")
	fmt.Fprintf(w, "enhance_farm_queue_bound %d\n", s.Bound)
	if s.Serving != nil && s.Serving.DiskBound > 0 {
		gauge("queue_disk_bytes", "What the queue has on its disk.")
		fmt.Fprintf(w, "enhance_farm_queue_disk_bytes %d\n", s.Serving.Disk)
		gauge("queue_disk_bound_bytes", "What the queue may have on its disk.")
		fmt.Fprintf(w, "enhance_farm_queue_disk_bound_bytes %d\n", s.Serving.DiskBound)
	}
	gauge("too_large", "Photos that no worker has the memory for, by the longest side.")
	for _, l := range s.TooLarge {
		fmt.Fprintf(w, "enhance_farm_too_large{order=%q,side=\"%d\"} %d\n", l.Order, l.Side, l.Photos)
	}
	gauge("workers", "Workers that are connected.")
	fmt.Fprintf(w, "enhance_farm_workers %d\n", len(s.Workers))
	gauge("photos_per_second", "What the workers make together.")
	fmt.Fprintf(w, "enhance_farm_photos_per_second %g\n", s.Rate)
	for _, m := range []struct {
		name, help string
		of         func(*queue.Worker) float64
	}{
		{"worker_made", "Pictures that a worker made.", func(k *queue.Worker) float64 { return float64(k.Made) }},
		{"worker_failed", "Attempts of a worker that failed.", func(k *queue.Worker) float64 { return float64(k.Failed) }},
		{"worker_seconds_per_photo", "A moving average.", func(k *queue.Worker) float64 { return k.Seconds }},
	} {
		gauge(m.name, m.help)
		for i := range s.Workers {
			fmt.Fprintf(w, "enhance_farm_%s{worker=%q} %g\n", m.name, s.Workers[i].Name, m.of(&s.Workers[i]))
		}
	}
}
