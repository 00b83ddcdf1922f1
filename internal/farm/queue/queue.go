// Package queue is the queue of a farm, on NATS JetStream.
//
// [Serve] runs a server in this process; [Connect] joins one, or an external cluster.
// [Queue.Submit] streams tasks, [Queue.Status] says what is where. A worker calls [Join], and
// [Client.Take] leases it a task. It reaches none of the streams below: its requests go to
// [Queue.ServeWorkers] in the server's process, which checks them (ask.go, service.go).
//
//	stream farm_tasks    farm.task.SIDE.ORDER   tasks that wait or are leased; bounded
//	stream farm_dead     farm.dead.ORDER.TASK   photos that were given up, with reason and log
//	bucket farm_orders   orders, how many photos each has, the policy, the secret of leases
//	bucket farm_begun    attempts by task, until it goes well
//	bucket farm_states   what workers say of themselves, in memory; gone when they say nothing
//	objects farm_files   files that settings name, by their SHA-256
//
// Beside them are the buckets of a store of objects (store.Objects), for machines that share
// no folder.
//
// A task is acknowledged after its result is published, and twice, so that the worker
// knows. Losing any of these streams loses no result: submitting again makes what is missing.
package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"enhance/internal/farm"
	"enhance/internal/farm/store"
)

const (
	tasksStream   = "farm_tasks"
	deadStream    = "farm_dead"
	ordersBucket  = "farm_orders"
	begunBucket   = "farm_begun"
	workersBucket = "farm_states"
	filesBucket   = "farm_files"
	wakeSubject   = "farm.wake"
	policyKey     = "policy"
)

// Sizes that bound what a farm keeps beside the tasks, whose bound is Policy.Queue.
const (
	maxTask      = 32 << 10 // bytes of a message
	maxDead      = 1_000_000
	maxFileBytes = 8 << 30 // of a setting's file; a bound of the bucket would reserve so much of the disk
	// stateLife is how long a worker that says nothing is shown.
	stateLife = 20 * time.Second
	// duplicateTime is how long the queue remembers what was submitted.
	duplicateTime = 2 * time.Minute
)

// taskSubject is where tasks of a size class and an order wait.
func taskSubject(class int, order string) string {
	return fmt.Sprintf("farm.task.%d.%s", farm.Sides[class], order)
}

// consumerName is that of an order's photos of a size class.
func consumerName(order string, class int) string {
	return order + "-" + strconv.Itoa(farm.Sides[class])
}

// Error is a failure to reach the farm, or a refusal by it.
type Error struct {
	Op  string
	Err error
}

func (e *Error) Error() string { return "farm: cannot " + e.Op + ": " + e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// errNoAnswer says in words that time ran out.
var errNoAnswer = fmt.Errorf("no answer came in time: %w", nats.ErrTimeout)

// failed wraps an error of the queue, nil for none.
func failed(op string, err error) error {
	if err == nil {
		return nil
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		err = errNoAnswer
	case isFull(err) && !atBound(err):
		err = fmt.Errorf("%w (%w)", ErrDisk, err)
	}
	return &Error{op, err}
}

// ErrDisk says that the disk of the queue has no room.
var ErrDisk = errors.New("the queue's disk is full: make room on the disk of enhance farm serve, and start it again if it does not go on")

// Queue is the connection of a farm's server or of who submits. Its methods may be called
// from any goroutine.
type Queue struct {
	nc      *nats.Conn
	js      jetstream.JetStream
	tasks   jetstream.Stream
	orders  jetstream.KeyValue
	begun   jetstream.KeyValue
	workers jetstream.KeyValue
	policy  farm.Policy

	begunStream jetstream.Stream // of the bucket

	disk func() (used, bound int64) // of the server in this process; nil: it is another's
	say  func(text string)          // tells a person what is waited for
}

// newQueue opens what is there. make makes it first.
func newQueue(ctx context.Context, nc *nats.Conn, make *farm.Policy, o *Options) (q *Queue, err error) {
	q = &Queue{nc: nc, say: o.sayer()}
	if o.Server != nil {
		q.disk = o.Server.disk
	}
	if q.js, err = jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(window), jetstream.WithPublishAsyncTimeout(answerTime),
		jetstream.WithDefaultTimeout(answerTime)); err != nil {
		return nil, failed("use JetStream", err)
	}
	if make != nil {
		if err := q.checkAlone(ctx); err != nil {
			return nil, err
		}
		if err := q.make(ctx, *make); err != nil {
			return nil, failed("set the queue up", err)
		}
	}
	for _, b := range []struct {
		name string
		to   *jetstream.KeyValue
	}{{ordersBucket, &q.orders}, {begunBucket, &q.begun}, {workersBucket, &q.workers}} {
		if *b.to, err = q.js.KeyValue(ctx, b.name); err != nil {
			return nil, failed("find the queue: is enhance farm serve running there?", err)
		}
	}
	if q.begunStream, err = q.js.Stream(ctx, "KV_"+begunBucket); err != nil {
		return nil, failed("find the attempts", err)
	}
	if q.tasks, err = q.js.Stream(ctx, tasksStream); err != nil {
		return nil, failed("find the tasks", err)
	}
	e, err := q.orders.Get(ctx, policyKey)
	if err != nil {
		return nil, failed("read the policy", err)
	}
	if err := json.Unmarshal(e.Value(), &q.policy); err != nil || q.policy.Lease <= 0 || q.policy.Attempts < 1 {
		return nil, failed("read the policy", &farm.FormatError{What: "policy", Problem: string(e.Value())})
	}
	return q, nil
}

// answerTime is how long a request may take.
const answerTime = 5 * time.Second

// make makes streams, consumers and buckets, or changes them to the policy.
func (q *Queue) make(ctx context.Context, p farm.Policy) error {
	bytes := int64(-1)
	if q.disk != nil {
		if _, bound := q.disk(); bound > 0 {
			bytes = bound / 2 // what is noted of tasks in work needs room, too: without it none would end
		}
	}
	tasks, err := q.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: tasksStream, Subjects: []string{"farm.task.*.*"}, Retention: jetstream.WorkQueuePolicy, Discard: jetstream.DiscardNew,
		MaxMsgs: p.Queue, MaxBytes: bytes, MaxMsgSize: maxTask, Storage: jetstream.FileStorage, Duplicates: duplicateTime,
	})
	if err == nil {
		err = setLease(ctx, tasks, p.Lease)
	}
	if err != nil {
		return err
	}
	if _, err := q.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: deadStream, Subjects: []string{"farm.dead.*.*"}, Discard: jetstream.DiscardNew, DiscardNewPerSubject: false,
		MaxMsgs: maxDead, MaxMsgsPerSubject: 1, Storage: jetstream.FileStorage, AllowDirect: true,
	}); err != nil {
		return err
	}
	for _, b := range []jetstream.KeyValueConfig{
		{Bucket: ordersBucket}, {Bucket: begunBucket}, {Bucket: workersBucket, TTL: stateLife, Storage: jetstream.MemoryStorage},
	} {
		if _, err := q.js.CreateOrUpdateKeyValue(ctx, b); err != nil {
			return err
		}
	}
	if _, err := q.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: filesBucket}); err != nil {
		return err
	}
	if err := store.MakeObjects(ctx, q.js); err != nil {
		return err
	}
	kv, err := q.js.KeyValue(ctx, ordersBucket)
	if err != nil {
		return err
	}
	data, err := json.Marshal(p)
	if err == nil {
		_, err = kv.Put(ctx, policyKey, data)
	}
	return err
}

// Policy is the farm's.
func (q *Queue) Policy() *farm.Policy { return &q.policy }

// JetStream is the connection's, for stores of objects.
func (q *Queue) JetStream() jetstream.JetStream { return q.js }

// Close ends the connection.
func (q *Queue) Close() { q.nc.Close() }

// PutOrder keeps an order, and un-cancels it.
func (q *Queue) PutOrder(ctx context.Context, o *farm.Order) error {
	_, err := q.orders.Put(ctx, "order."+o.ID(), o.Encode())
	if err == nil {
		err = q.orders.Delete(ctx, "cancelled."+o.ID())
	}
	return failed("store the order", err)
}

// Order reads an order.
func (q *Queue) Order(ctx context.Context, id string) (*farm.Order, error) {
	if !farm.IsID(id) {
		return nil, &farm.FormatError{What: "order's ID", Problem: strconv.Quote(id)}
	}
	e, err := q.orders.Get(ctx, "order."+id)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, &UnknownOrderError{id}
	}
	if err != nil {
		return nil, failed("read an order", err)
	}
	return checkOrder(e.Value(), id)
}

// checkOrder reads an order, whose contents must be those of its ID.
func checkOrder(data []byte, id string) (*farm.Order, error) {
	o, err := farm.ParseOrder(data)
	if err == nil && o.ID() != id {
		err = &farm.FormatError{What: "order", Problem: "its contents are not those of its ID"}
	}
	return o, err
}

// UnknownOrderError says that a task belongs to no order.
type UnknownOrderError struct{ ID string }

func (e *UnknownOrderError) Error() string { return "the farm has no order " + e.ID }

// setTotal notes how many photos an order has.
func (q *Queue) setTotal(ctx context.Context, order string, photos int64) error {
	_, err := q.orders.Put(ctx, "total."+order, strconv.AppendInt(nil, photos, 10))
	return failed("note the number of photos", err)
}
