package queue

import "testing"

// TestSubmitAnew: what was made or cancelled a moment ago is submitted anew, as often as it
// is asked for; what waits is not doubled.
func TestSubmitAnew(t *testing.T) {
	srv, q := serve(t, testPolicy())
	w := worker(t, Options{Server: srv})
	ctx, o := t.Context(), putOrder(t, q)
	submit := func(want Submitted) {
		t.Helper()
		if got, err := q.Submit(ctx, o.ID(), photos(o.ID(), 3, 1), nil); err != nil || got != want {
			t.Fatalf("submitted %+v, %v; want %+v", got, err, want)
		}
		if n, err := q.waiting(ctx, o.ID()); err != nil || n != 3 {
			t.Fatalf("%d wait, %v", n, err)
		}
	}
	submit(Submitted{Accepted: 3})
	for range 2 {
		if n, err := q.Cancel(ctx, o.ID()); n != 3 || err != nil {
			t.Fatalf("cancelled %d, %v", n, err)
		}
		if err := q.PutOrder(ctx, o); err != nil {
			t.Fatal(err)
		}
		submit(Submitted{Accepted: 3})
		submit(Submitted{Duplicates: 3})
	}
	l := take(t, w, 1)
	if err := done(t, w, l); err != nil {
		t.Fatal(err)
	}
	submit(Submitted{Accepted: 1, Duplicates: 2})
}
