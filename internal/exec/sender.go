package exec

import "enhance/clrt"

// sender puts transfers into a queue in a goroutine of its own, in order, as they wait for
// the host: uploads for rows of the source, downloads for memory that the sink
// gives back. Kernels are queued meanwhile. A nil sender does that at once.
type sender struct {
	jobs  chan func()
	ended chan struct{}
	err   error // the first, after which nothing is put into the queue
}

// sendersAhead is how many transfers may wait for their sender: more than a strip has.
const sendersAhead = 64

func newSender() *sender {
	s := &sender{jobs: make(chan func(), sendersAhead), ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		for do := range s.jobs {
			do()
		}
	}()
	return s
}

// sending is a transfer that a sender puts into its queue.
type sending struct {
	done chan struct{} // closed when it is there
	last *clrt.Event   // the end of its last command, nil if somebody else needs that
	err  error
	made *clrt.Event // what it waits for, if nobody else does
}

// send has do put a transfer into the queue behind those before.
func (s *sender) send(do func() (*clrt.Event, error)) *sending {
	t := &sending{done: make(chan struct{})}
	if s == nil {
		t.last, t.err = do()
		close(t.done)
		return t
	}
	s.jobs <- func() {
		defer close(t.done)
		if s.err == nil {
			t.last, s.err = do()
		}
		t.err = s.err
	}
	return t
}

// close ends the goroutine when all transfers are in their queue.
func (s *sender) close() {
	if s != nil {
		close(s.jobs)
		<-s.ended
	}
}

// wait waits until the transfer is in its queue.
func (t *sending) wait() (*clrt.Event, error) {
	<-t.done
	return t.last, t.err
}

// close waits for that and gives the event up.
func (t *sending) close() {
	if t != nil {
		<-t.done
		t.last.Close()
		t.made.Close()
	}
}
