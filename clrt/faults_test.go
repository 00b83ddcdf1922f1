package clrt_test

import (
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"enhance/clrt"
	"enhance/model"
	"enhance/pipeline"
)

// Codes of cl.h that faulty calls answer with.
const (
	outOfDeviceMemory = -4
	invalidQueue      = -36
)

// faulty answers some calls of the library in its place, and counts what is not released.
type faulty struct {
	mu    sync.Mutex
	calls map[string]int
	all   int
	held  map[uintptr]bool // memory objects
	// spoil, if set, is asked about the n-th call of a function, the all-th of all, from 1.
	spoil func(name string, n, all int, args []uintptr, next func() uintptr) (answer uintptr, done bool)
}

func (f *faulty) hook(name string, args []uintptr, next func() uintptr) uintptr {
	f.mu.Lock()
	f.calls[name]++
	f.all++
	n, all, spoil := f.calls[name], f.all, f.spoil
	f.mu.Unlock()
	r, done := uintptr(0), false
	if spoil != nil {
		r, done = spoil(name, n, all, args, next)
	}
	if !done {
		r = next()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case name == "clReleaseMemObject":
		delete(f.held, args[0])
	case (name == "clCreateBuffer" || name == "clCreateSubBuffer") && r != 0:
		f.held[r] = true
	}
	return r
}

// refuse answers a call with an error. What is to be released is released all the same: a
// driver that fails there is not asked again.
func refuse(name string, args []uintptr, next func() uintptr, code int32) uintptr {
	switch {
	case strings.HasPrefix(name, "clRelease"):
		next()
	case name == "clGetExtensionFunctionAddressForPlatform":
		return 0
	case strings.HasPrefix(name, "clCreate") && name != "clCreateSubDevices", name == "clEnqueueMapBuffer":
		if p := args[len(args)-1]; p != 0 {
			*codePointer(p) = code
		}
		return 0
	}
	return uintptr(uint32(code))
}

// codePointer is where a call was told to leave its error.
func codePointer(p uintptr) *int32 { return *(**int32)(unsafe.Pointer(&p)) }

// smallRun runs a small network in a session of its own.
func smallRun(t *testing.T) ([]float32, error) {
	const side = 32
	s, err := pipeline.NewSession(pipeline.Settings{Device: "0", Model: "pynet-random:faults,width=4,level=5", Memory: pipeline.Limit(3 << 19),
		PlanOptions: pipeline.PlanOptions{Algo: "direct-naive"}})
	if err != nil {
		return nil, err
	}
	in := pipeline.Tensor{Shape: model.Shape{C: 4, H: side, W: side}, Data: model.FormulaTensor("faults", "input", 4*side*side)}
	out, _, err := s.RunTensor(t.Context(), pipeline.TensorJob{Input: in})
	if cerr := s.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, err
	}
	return out.Data, nil
}

// faultyCalls lists which of a function's n calls are to fail: all of few, or with ENHANCE_LONG=1; of many the
// first and then some, as those that ask for, and set, the arguments of kernels differ in their numbers alone.
func faultyCalls(n int) (which []int) {
	first, step := 24, 11
	switch {
	case os.Getenv("ENHANCE_LONG") != "":
		first = n
	case testing.Short():
		first, step = 0, 17
	}
	for k := 1; k <= n; k++ {
		if k <= first || (k-first-1)%step == 0 {
			which = append(which, k)
		}
	}
	return which
}

// TestFaults runs a small network once for every call that it makes (see faultyCalls), and has that call
// fail; then with a device that is lost at some call, that answers late, and whose answers
// have wrong sizes. Every run gives the right bytes or an error of the device or of memory, and
// holds no memory object after.
func TestFaults(t *testing.T) {
	dev := openDevice(t)
	t.Setenv("ENHANCE_CACHE_DIR", t.TempDir())
	f := &faulty{held: map[uintptr]bool{}}
	reset := func(spoil func(string, int, int, []uintptr, func() uintptr) (uintptr, bool)) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.calls, f.all, f.spoil = map[string]int{}, 0, spoil
	}
	defer clrt.Hook(dev, f.hook)()
	reset(nil)
	want, err := smallRun(t) // its kernels are in the cache from here on
	must(t, err)
	reset(nil)
	_, err = smallRun(t)
	must(t, err)
	calls, all := f.calls, f.all
	try := func(what string, mayFail bool, spoil func(string, int, int, []uintptr, func() uintptr) (uintptr, bool)) {
		reset(spoil)
		type result struct {
			v   []float32
			err error
		}
		ended := make(chan result, 1)
		go func() {
			v, err := smallRun(t)
			ended <- result{v, err}
		}()
		var r result
		select {
		case r = <-ended:
		case <-time.After(time.Minute):
			panic(what + ": the run does not end")
		}
		class := pipeline.Classify(r.err)
		switch {
		case r.err == nil && !slices.EqualFunc(r.v, want, func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }):
			t.Errorf("%s: other bytes and no error", what)
		case r.err != nil && (!mayFail || class != pipeline.ClassDevice && class != pipeline.ClassBudget):
			t.Errorf("%s: class %d: %v", what, class, r.err)
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		if len(f.held) > 0 {
			t.Errorf("%s: %d memory objects are not released (%v)", what, len(f.held), r.err)
			clear(f.held)
		}
	}
	step := 1
	if testing.Short() {
		step = 17
	}
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		for _, n := range faultyCalls(calls[name]) {
			for i, code := range []int32{invalidQueue, outOfDeviceMemory} {
				if i != n%2 && os.Getenv("ENHANCE_LONG") == "" {
					continue // every second call fails in one way, the others in the other
				}
				try(fmt.Sprintf("%s fails the %d. time with %d", name, n, code), true, func(s string, k, _ int, args []uintptr, next func() uintptr) (uintptr, bool) {
					if s != name || k != n {
						return 0, false
					}
					return refuse(s, args, next, code), true
				})
			}
		}
	}
	for at := 1; at <= all; at += 1 + all/40*step {
		try(fmt.Sprintf("lost from call %d on", at), true, func(s string, _, k int, args []uintptr, next func() uintptr) (uintptr, bool) {
			if k < at {
				return 0, false
			}
			return refuse(s, args, next, invalidQueue), true
		})
	}
	try("late", false, func(string, int, int, []uintptr, func() uintptr) (uintptr, bool) {
		time.Sleep(time.Millisecond)
		return 0, false
	})
	for _, size := range []uint64{0, 1, 1 << 40, math.MaxUint64} {
		for _, name := range slices.Sorted(maps.Keys(calls)) {
			if !strings.HasPrefix(name, "clGet") || !strings.Contains(name, "Info") {
				continue
			}
			try(fmt.Sprintf("%s gives the size %d", name, size), true, func(s string, _, _ int, args []uintptr, next func() uintptr) (uintptr, bool) {
				r := next()
				if p := args[len(args)-1]; s == name && p != 0 {
					*(*uint64)(unsafe.Pointer(codePointer(p))) = size
				}
				return r, true
			})
		}
	}
	t.Logf("%d calls of %d functions", all, len(calls))
}
