package clrt_test

import (
	"errors"
	"testing"
)

// Work that is there takes time, and what goes wrong in between is what is told.
func TestSeconds(t *testing.T) {
	ctx := openContext(t)
	q := newQueue(t, ctx)
	b, err := ctx.NewBuffer(1<<20, "test")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	p := make([]byte, b.Size())
	s, err := q.Seconds(func() error { return q.Write(b, 0, p) })
	if err != nil {
		t.Fatal(err)
	}
	if s <= 0 || s > 60 {
		t.Errorf("writing 1 MiB took %g s", s)
	}
	broken := errors.New("broken")
	if _, err := q.Seconds(func() error { return broken }); !errors.Is(err, broken) {
		t.Errorf("%v, want %v", err, broken)
	}
}
