package queue

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"enhance/internal/farm"
)

// Status is the state of a farm.
type Status struct {
	Orders  []OrderStatus `json:"orders"`
	Workers []Worker      `json:"workers"`
	// Running counts tasks that are leased, of all orders; Strays messages that were no task.
	Running int64 `json:"running"`
	Strays  int64 `json:"strays"`
	// TooLarge are photos that no worker has the memory for.
	TooLarge []TooLarge `json:"too_large,omitempty"`
	// Bound is how many tasks may wait.
	Bound int64 `json:"queue_bound"`
	// Serving is the process that answers workers; nil: none does.
	Serving *Serving `json:"serving"`
	// Rate is photos a second by what workers say; 0: unknown.
	Rate float64 `json:"photos_per_second"`
}

// TooLarge are photos of an order that wait, and that no worker takes.
type TooLarge struct {
	Order  string `json:"order"`
	Side   int    `json:"side"` // the photos' sides are no longer
	Photos int64  `json:"photos"`
	Least  int64  `json:"least_bytes,omitempty"` // the least memory that a worker needs for that side; 0: not known
	// Refused is why a worker does not work for the order, if none does.
	Refused string `json:"refused,omitempty"`
}

// tooLarge says whether a task is one, by what all workers report; nil if not, or not yet known.
func tooLarge(workers []Worker, order string, side int) *TooLarge {
	found := &TooLarge{Order: order, Side: side}
	for _, w := range workers {
		room, known := w.Rooms[order]
		if !known || room.Refused == "" && room.Largest >= side {
			return nil
		}
		if room.Refused != "" {
			found.Refused = room.Refused
		}
		if n := room.Least[side]; n > 0 && (found.Least == 0 || n < found.Least) {
			found.Least = n
		}
	}
	if found.Least > 0 {
		found.Refused = ""
	}
	if len(workers) == 0 {
		return nil
	}
	return found
}

// OrderStatus is the state of an order.
type OrderStatus struct {
	ID        string `json:"id"`
	Photos    int64  `json:"photos"`
	Done      int64  `json:"done"`
	Running   int64  `json:"running"` // leased to workers, which hold one ahead
	Waiting   int64  `json:"waiting"`
	Dead      int64  `json:"dead"`
	Cancelled bool   `json:"cancelled,omitempty"`
	Taken     int64  `json:"taken_out,omitempty"` // when it was cancelled
}

// Left is how many seconds the queue needs at this rate, 0 if unknown.
func (s *Status) Left() float64 {
	var waiting int64
	for _, o := range s.Orders {
		waiting += o.Waiting + o.Running
	}
	if s.Rate <= 0 {
		return 0
	}
	return float64(waiting) / s.Rate
}

// Status asks for the state of the farm.
func (q *Queue) Status(ctx context.Context) (*Status, error) {
	s := &Status{Bound: q.policy.Queue}
	var err error
	if s.Workers, err = q.Workers(ctx); err != nil {
		return nil, err
	}
	if s.Serving, err = q.Serving(ctx); err != nil && !errors.As(err, new(*OccupiedError)) {
		return nil, err
	}
	for _, w := range s.Workers {
		if w.Seconds > 0 && strings.HasPrefix(w.State, "working") {
			s.Rate += 1 / w.Seconds
		}
	}
	orders := map[string]*OrderStatus{}
	of := func(id string) *OrderStatus {
		if orders[id] == nil {
			orders[id] = &OrderStatus{ID: id}
		}
		return orders[id]
	}
	if err := q.countTasks(ctx, s, of); err != nil {
		return nil, err
	}
	if err := q.countDead(ctx, s, of); err != nil {
		return nil, err
	}
	if err := q.countPhotos(ctx, of); err != nil {
		return nil, err
	}
	for _, o := range orders {
		left := o.Running + o.Waiting + o.Dead + o.Taken
		o.Photos = max(o.Photos, left)
		o.Done = o.Photos - left
		s.Orders = append(s.Orders, *o)
	}
	slices.SortFunc(s.TooLarge, func(a, b TooLarge) int { return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.Side, b.Side)) })
	slices.SortFunc(s.Orders, func(a, b OrderStatus) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(s.Workers, func(a, b Worker) int { return cmp.Compare(a.Name, b.Name) })
	return s, nil
}

// countTasks counts tasks that wait and that are leased, by order, and those that no worker takes.
func (q *Queue) countTasks(ctx context.Context, s *Status, of func(string) *OrderStatus) error {
	info, err := q.tasks.Info(ctx, jetstream.WithSubjectFilter("farm.task.>"))
	if err != nil {
		return failed("count the tasks", err)
	}
	for subject, n := range info.State.Subjects {
		parts := strings.Split(subject, ".") // farm.task.SIDE.ORDER
		of(parts[3]).Waiting += int64(n)
		side, _ := strconv.Atoi(parts[2])
		if large := tooLarge(s.Workers, parts[3], side); large != nil {
			large.Photos = int64(n)
			s.TooLarge = append(s.TooLarge, *large)
		}
	}
	consumers := q.tasks.ListConsumers(ctx)
	for c := range consumers.Info() {
		order, _, _ := strings.Cut(c.Name, "-") // consumerName
		leased := min(int64(c.NumAckPending), of(order).Waiting)
		of(order).Running += leased
		of(order).Waiting -= leased
		s.Running += leased
	}
	return failed("count the tasks", consumers.Err())
}

// countDead counts photos that were given up, by order.
func (q *Queue) countDead(ctx context.Context, s *Status, of func(string) *OrderStatus) error {
	stream, err := q.js.Stream(ctx, deadStream)
	if err != nil {
		return failed("count the dead", err)
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter("farm.dead.>"))
	if err != nil {
		return failed("count the dead", err)
	}
	for subject := range info.State.Subjects {
		if order := strings.Split(subject, ".")[2]; farm.IsID(order) {
			of(order).Dead++
		} else {
			s.Strays++
		}
	}
	return nil
}

// countPhotos reads how many photos orders have, and which are cancelled.
func (q *Queue) countPhotos(ctx context.Context, of func(string) *OrderStatus) error {
	watch, err := q.orders.Watch(ctx, ">", jetstream.IgnoreDeletes())
	if err != nil {
		return failed("list the orders", err)
	}
	defer watch.Stop()
	for {
		select {
		case e := <-watch.Updates():
			if e == nil {
				return nil
			}
			kind, id, _ := strings.Cut(e.Key(), ".")
			switch kind {
			case "total":
				of(id).Photos, _ = strconv.ParseInt(string(e.Value()), 10, 64)
			case "cancelled":
				of(id).Cancelled = true
				of(id).Taken, _ = strconv.ParseInt(string(e.Value()), 10, 64)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
