package clrt

import "strings"

// NVIDIA's driver asks the device without a break while a thread waits for an event,
// which keeps a core busy for as long as the device works: with several photos on
// several GPUs a dozen of them. So there Event.Wait asks too, but sleeps in between,
// and lets the driver wait only for what has ended.

// napsNow is for tests: it makes waits of every device nap.
var napsNow = false

// naps reports whether the device's driver keeps a core busy while it waits.
func (d *Device) naps() bool {
	return napsNow || d.info.Type == GPU && strings.HasPrefix(d.info.Platform, "NVIDIA")
}

// nap returns when the command of event, of queue q, has ended or failed, or when
// nothing can be learnt about it.
func (q *Queue) nap(event uintptr) {
	lib := q.ctx.lib
	for first := true; ; first = false {
		if status, err := eventStatus(lib, event); err != nil || status <= 0 {
			return
		}
		if first && q.use() == nil { // else it might never start, and nobody else flushes
			lib.call(symFlush, q.ref.id)
			q.done()
		}
		shortSleep()
	}
}
