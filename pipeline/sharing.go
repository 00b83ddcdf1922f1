package pipeline

import (
	"math"
	"time"
)

// This file decides which of a batch's devices makes the next photo. A device slower
// than the fastest gets one only if it is expected to finish it before the fastest
// would have finished all that is left, so that no batch takes longer than on its fastest
// device alone, as far as times are known.

// deviceLoad is what is known of a device when a photo is to be given away.
type deviceLoad struct {
	photo float64 // seconds that a photo is expected to take there, +Inf: not known
	sure  bool    // measured there or on a device of the same kind
	kind  int     // devices of one kind are equally fast
	// processor is that of the host for its devices, the host executor among them, else
	// one's own: devices that share one slow each other down.
	processor int
	busy      float64 // seconds until the photos that it has are expected to be done
	room      bool    // whether it may be given another
}

// Expectations are taken to be this far off: a slower device must be expected to
// be earlier by as much. Predictions of plans rank devices; they are not good for more.
const (
	doubtMeasured  = 1.1
	doubtPredicted = 2.0
)

// giveTo is the device that makes the next of left photos, -1 if it is to wait for
// the devices' state to change. If no device has anything to do it is never -1.
func giveTo(loads []deviceLoad, left int) int {
	fastest := 0
	for i, d := range loads {
		if d.photo < loads[fastest].photo {
			fastest = i
		}
	}
	f := &loads[fastest]
	alone := f.busy + float64(left)*f.photo
	best, earliest := -1, math.Inf(1)
	for i := range loads {
		d := &loads[i]
		if !d.room || i != fastest && !d.helps(f, alone) {
			continue
		}
		if end := d.busy + d.photo; end < earliest || best < 0 {
			best, earliest = i, end
		}
	}
	return best
}

// helps reports whether a photo given to d is done before f alone would be done with
// everything.
func (d *deviceLoad) helps(f *deviceLoad, alone float64) bool {
	switch end := d.busy + d.photo; {
	case d.kind == f.kind:
		return end <= alone
	case math.IsInf(d.photo, 1):
		return false
	case d.processor == f.processor: // what it does the other could do with the same cores, sooner
		return false
	case d.sure && f.sure:
		return end*doubtMeasured <= alone
	default:
		return end*doubtPredicted <= alone
	}
}

// deviceTimes is what a batch knows of a device and learns as photos are done.
type deviceTimes struct {
	kind, processor int
	predicted       float64 // seconds of a photo, of any size that is the same for all; 0: unknown
	start           float64 // seconds expected before the first photo: opening, compiling

	given []time.Time // when the photos that it has were given, the oldest first
	last  time.Time   // when the last photo was done
	first float64     // seconds of the first photo
	later float64     // seconds of the others together
	done  int
}

// gave notes that the device was given a photo.
func (d *deviceTimes) gave(now time.Time) { d.given = append(d.given, now) }

// finished notes that one of the device's photos is done. Photos of a device overlap:
// one is counted from the end of the one before it. Those that failed say nothing of the time
// of others.
func (d *deviceTimes) finished(now time.Time, ok bool) {
	since := d.since()
	d.given, d.last = d.given[1:], now
	if !ok {
		return
	}
	seconds := now.Sub(since).Seconds()
	if d.done++; d.done == 1 {
		d.first = seconds
	} else {
		d.later += seconds
	}
}

// since is when the device began with the oldest of its photos.
func (d *deviceTimes) since() time.Time {
	if t := d.given[0]; t.After(d.last) {
		return t
	}
	return d.last
}

// measured is the mean of photos' seconds, 0 before the first is done. That one,
// which waits for the device to be opened and kernels to be compiled, counts only as
// long as it is the only one.
func (d *deviceTimes) measured() float64 {
	if d.done < 2 {
		return d.first
	}
	return d.later / float64(d.done-1)
}

// loads is what is known of all devices now. What was measured on one replaces the
// prediction for its kind, and says how far predictions for others are off.
func loads(all []*deviceTimes, now time.Time, depth int) []deviceLoad {
	byKind, slowest, off := map[int]float64{}, map[int]float64{}, 1.0
	for _, d := range all {
		if m := d.measured(); m > 0 && (byKind[d.kind] == 0 || m < byKind[d.kind]) {
			byKind[d.kind] = m
		}
		slowest[d.kind] = max(slowest[d.kind], d.elapsed(now)-d.unopened())
	}
	for _, d := range all { // the largest: rather too slow than too fast
		if m := byKind[d.kind]; m > 0 && d.predicted > 0 {
			off = max(off, m/d.predicted)
		}
	}
	list := make([]deviceLoad, len(all))
	for i, d := range all {
		l := deviceLoad{kind: d.kind, processor: d.processor, room: len(d.given) < depth}
		switch m := d.measured(); {
		case m > 0:
			l.photo, l.sure = m, true
		case byKind[d.kind] > 0:
			l.photo, l.sure = byKind[d.kind], true
		case d.predicted > 0:
			l.photo = max(d.predicted*off, slowest[d.kind]) // as long as one has taken already
		default:
			l.photo = math.Inf(1)
		}
		l.photo = max(l.photo, d.elapsed(now)-d.unopened())
		l.busy = d.unopened()
		if n := len(d.given); n > 0 {
			l.busy = max(0, l.busy+float64(n)*l.photo-d.elapsed(now))
		}
		list[i] = l
	}
	return list
}

// unopened is what is to be expected before the device's first photo is computed.
func (d *deviceTimes) unopened() float64 {
	if d.done > 0 {
		return 0
	}
	return d.start
}

// elapsed is how long the device has been busy with the oldest of its photos.
func (d *deviceTimes) elapsed(now time.Time) float64 {
	if len(d.given) == 0 {
		return 0
	}
	return now.Sub(d.since()).Seconds()
}
