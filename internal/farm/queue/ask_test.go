package queue

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"enhance/internal/farm"
	"enhance/internal/farm/store"
)

// FuzzAsk: whatever a worker sends, the service answers and does not panic.
func FuzzAsk(f *testing.F) {
	s, q := serve(f, testPolicy())
	o := putOrder(f, q)
	if _, err := q.Submit(f.Context(), o.ID(), photos(o.ID(), 2, 0), nil); err != nil {
		f.Fatal(err)
	}
	w := worker(f, Options{Server: s})
	l := take(f, w, 0)
	service := &Service{Queue: q, dir: f.TempDir(), slots: make(chan struct{}, 1), secret: []byte("x"), consumers: map[Offer]jetstream.Consumer{}, known: map[string]*farm.Order{}, uploads: map[string]time.Time{}}
	var err error
	if service.results, err = store.OpenObjects(f.Context(), q.js, f.TempDir()); err != nil {
		f.Fatal(err)
	}
	if service.dead, err = q.js.Stream(f.Context(), deadStream); err != nil {
		f.Fatal(err)
	}
	l.held.Proof = service.prove(&l.held)
	for op := range service.handlers() {
		for _, r := range []ask{{}, {Held: &l.held, Receipt: receiptOf(f, w, l), Failure: &farm.Failure{}}, {Offers: []Offer{{o.ID(), 0}}, Name: o.ID(), Worker: "w", State: &Worker{Name: "w"}, body: []byte("x")}} {
			f.Add(op, encodeMessage(&r, r.body))
		}
	}
	f.Fuzz(func(t *testing.T, op string, data []byte) {
		handle := service.handlers()[op]
		if handle == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		defer cancel()
		var r ask
		var a answer
		var err error
		if r.body, err = decodeMessage(data, &r); err == nil {
			if err := handle(ctx, &r, &a); err != nil {
				a.note(err)
			}
			var again answer
			if _, err := decodeMessage(encodeMessage(&a, a.body), &again); err != nil {
				t.Error(err)
			}
			if _, err := json.Marshal(again); err != nil {
				t.Error(err)
			}
		}
	})
}
