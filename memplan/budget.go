package memplan

import (
	"fmt"
	"math"
)

// Budget bounds the bytes of device memory that a plan may hold, and says where the bound
// comes from and how many plans share it. It is a value: decided once and passed on, from
// the user's wish to [Request]. The zero Budget says that nobody has decided; [Make] then
// has no bound.
type Budget struct {
	bound   bound
	bytes   int64 // of all sharers together
	sharers int   // 0: one
	why     string
}

// bound says what is known about a limit.
type bound uint8

const (
	undecided bound = iota
	unlimited
	limited
)

// Limit is a budget of so many bytes that somebody asked for.
func Limit(bytes int64) Budget {
	return Budget{bound: limited, bytes: max(bytes, 0), why: "as asked for"}
}

// Unlimited is the wish for no limit.
func Unlimited() Budget { return Budget{bound: unlimited, why: "no limit asked for"} }

// Because is the budget with another reason.
func (b Budget) Because(why string) Budget {
	b.why = why
	return b
}

// SharedBy is the budget for each of so many plans that are on the device at a time and
// hold the limit together. Without a limit there is nothing to share.
func (b Budget) SharedBy(sharers int) Budget {
	if b.bound == limited {
		b.sharers = sharers
	}
	return b
}

// Lowered is the budget with a limit of so many bytes for each plan that shares it.
func (b Budget) Lowered(bytes int64, why string) Budget {
	return Limit(b.ForAll(bytes)).SharedBy(b.sharers).Because(why)
}

// Whole is the budget that all sharers hold together.
func (b Budget) Whole() Budget {
	b.sharers = 0
	return b
}

// Decided reports whether the budget is more than the zero one.
func (b Budget) Decided() bool { return b.bound != undecided }

// Limited reports whether there is a limit.
func (b Budget) Limited() bool { return b.bound == limited }

// Bytes is the most that one plan may hold: the largest number where there is no limit.
func (b Budget) Bytes() int64 {
	if b.bound != limited {
		return math.MaxInt64
	}
	return b.bytes / int64(b.Sharers())
}

// Sharers is how many plans hold the limit together, at least 1.
func (b Budget) Sharers() int { return max(b.sharers, 1) }

// ForAll is what all sharers hold together if each holds so many bytes.
func (b Budget) ForAll(bytes int64) int64 { return bytes * int64(b.Sharers()) }

// Why says where the budget comes from.
func (b Budget) Why() string {
	if b.Sharers() > 1 {
		return fmt.Sprintf("%s, divided by %d", b.why, b.sharers)
	}
	return b.why
}

// AskedFor reports whether somebody asked for just this limit.
func (b Budget) AskedFor() bool { return b == Limit(b.bytes).SharedBy(b.sharers) }

func (b Budget) String() string {
	if !b.Limited() {
		return "no limit"
	}
	return fmt.Sprintf("%d bytes", b.Bytes())
}
