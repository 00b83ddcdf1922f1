// Package clrt is the OpenCL runtime: the only package of the module that
// knows OpenCL. It binds version 1.2 of the API, so that it runs on every
// conformant driver, and keeps OpenCL's vocabulary: device, context, queue,
// buffer, program, kernel, event.
//
// Where to start:
//
//	devices, err := clrt.Devices()           // device.go: what there is
//	ctx, err := clrt.NewContext(devices[0])  // context.go: owner of all below
//	q, err := ctx.NewQueue()                 // queue.go and transfer.go
//	buf, err := ctx.NewBuffer(n, "input")    // buffer.go: memory, accounted
//	prog, err := ctx.Build(source, "")       // program.go, sharedprograms.go, ptx.go and cache.go
//	k, err := prog.Kernel("saxpy")           // kernel.go and args.go
//	err = k.SetArgs(buf, int32(n), float32(2))
//	ev, err := q.Launch(k, []int{n}, nil)    // event.go: waiting, profiling
//	w, err := q.Watch(report)                // watch.go: what all commands take
//
// lib.go holds the function table and errors.go the error types.
//
// # What it promises
//
// Memory is exact. Every cl_mem that a context creates, internal ones too,
// counts with its size under a purpose from its creation to its release;
// [Context.Live], [Context.Peak] and [Context.LiveBuffers] say how much. A
// sub-buffer is a view and adds nothing.
//
// Releasing is explicit. Objects are released by Close and never by the
// garbage collector; closing a context closes everything made from it, and an
// open context stays reachable until then. Close may be called twice. A method
// of a closed object returns an error that wraps [ErrClosed]; a close that
// meets a call in progress on another goroutine takes effect when that call
// returns.
//
// Go memory handed to an asynchronous command is pinned until the command has
// ended, whether or not the caller keeps the event.
//
// OpenCL never calls back into Go.
//
// # Concurrency
//
// All types are safe for concurrent use, but the arguments of a kernel belong
// to the kernel object: goroutines that set arguments and launch need a Kernel
// each (Program.Kernel is cheap).
//
// # Environment
//
// ENHANCE_OPENCL_LIB names the OpenCL library to load instead of the system's
// loader. ENHANCE_CACHE_DIR names the folder below which compiled programs are
// kept, or turns that off with the value "off".
//
// # Why not an existing binding?
//
// The Go bindings that can be had need cgo, which costs cross-compilation and
// a C toolchain with the OpenCL headers, and link the library, so that a
// program cannot start without it. The best known, jgillich/go-opencl, cannot
// be had from the module proxy, has no release since 2018, lacks sub-buffers,
// program binaries and rectangle copies, hands unpinned Go memory to
// asynchronous writes, which then corrupts, and releases buffers by finalizer
// while kernels still use them. Package purego calls into a shared library
// that is found at run time: a program starts without OpenCL and can say what
// is missing. The price is that the compiler does not check the calls; they
// are all in this package.
//
// Supported are Linux and macOS on 64-bit processors; elsewhere [Devices]
// returns [ErrNoOpenCL]. On Linux the program is linked dynamically to the C
// library even though it is built without cgo.
package clrt
