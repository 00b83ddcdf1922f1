package clrt

import "syscall"

// shortSleep sleeps for about 75 µs, of which Linux adds 50 to what it is asked for.
// time.Sleep would sleep for a millisecond: when a process has nothing else to do,
// Go's scheduler waits by epoll, whose unit that is.
func shortSleep() {
	t := syscall.NsecToTimespec(20e3)
	_ = syscall.Nanosleep(&t, nil) // a signal ends it early, which does no harm
}
