package work

import (
	"context"
	"errors"
	"fmt"
	"time"

	"enhance/internal/bytesize"
	"enhance/internal/farm"
	"enhance/internal/farm/queue"
)

// order is what the worker knows of an order.
type order struct {
	*farm.Order
	flags   []string
	ability *Ability
	refused error     // why the worker does not work for it
	again   time.Time // when to ask again, if it may be able to later

	tooLarge map[int]bool // sides of photos that were told to be too large
}

// accepts reports whether the worker can do photos of that size with the order's settings.
func (w *worker) accepts(ctx context.Context, offer queue.Offer) bool {
	o := w.order(ctx, offer.Order)
	if o.refused != nil {
		return false
	}
	side := farm.Sides[offer.Class]
	if w.Accepts != nil {
		return w.Accepts(&o.ability.Room, side)
	}
	if side <= o.ability.Largest {
		return true
	}
	w.tellTooLarge(o, side)
	return false
}

// tellTooLarge says once that the worker takes no photos of a size.
func (w *worker) tellTooLarge(o *order, side int) {
	w.mu.Lock()
	told := o.tooLarge[side]
	o.tooLarge[side] = true
	w.mu.Unlock()
	if told {
		return
	}
	w.Tell(fmt.Sprintf("order %.8s: %s: they are left to other workers", o.ID(), o.tooLargeText(side)))
}

// tooLargeText says what photos of a size would need.
func (o *order) tooLargeText(side int) string {
	need := "more memory than this worker may use"
	if n := o.ability.Least[side]; n > 0 {
		need = fmt.Sprintf("%s (--mem %d)", bytesize.Text(n), n)
	}
	return fmt.Sprintf("photos with sides up to %d need %s", side, need)
}

// refusalTime is how long a refusal of an order holds, and askTime how long it is left alone after the queue could
// not be asked for it.
const refusalTime, askTime = time.Minute, time.Second

// order is an order with what the maker makes of it. It asks the maker once.
func (w *worker) order(ctx context.Context, id string) *order {
	w.mu.Lock()
	o := w.orders[id]
	w.mu.Unlock()
	if o != nil && (o.refused == nil || time.Now().Before(o.again)) {
		return o
	}
	n := &order{again: time.Now().Add(refusalTime), tooLarge: map[int]bool{}}
	if n.Order, n.refused = w.Queue.Order(ctx, id); n.refused == nil {
		if n.flags, n.refused = w.flags(ctx, n.Order); n.refused == nil {
			n.ability, n.refused = w.Maker.Open(ctx, n.flags)
		}
	}
	if errors.As(n.refused, new(*queue.Error)) {
		n.again = time.Now().Add(askTime)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if n.refused != nil {
		if ctx.Err() == nil && (o == nil || o.refused.Error() != n.refused.Error()) {
			w.Tell(fmt.Sprintf("order %.8s is not for this worker: %v", id, n.refused))
			if w.Refused != nil {
				w.Refused(n.refused)
			}
		}
	} else {
		w.state.Device, w.state.Class = n.ability.Device, n.ability.Class
	}
	w.orders[id] = n
	select {
	case w.changed <- struct{}{}: // what it has room for
	default:
	}
	return n
}

// maxRooms bounds the orders of which a worker reports what it has room for.
const maxRooms = 100

// rooms is what the worker has room for, by order.
func (w *worker) rooms() map[string]queue.Room {
	rooms := map[string]queue.Room{}
	for id, o := range w.orders {
		switch {
		case len(rooms) >= maxRooms:
			return rooms
		case o.refused != nil:
			rooms[id] = queue.Room{Refused: o.refused.Error()}
		default:
			rooms[id] = o.ability.Room
		}
	}
	return rooms
}
