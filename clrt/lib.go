package clrt

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"
)

// symbol numbers a function of the OpenCL API in the function table.
type symbol int

const (
	symGetPlatformIDs symbol = iota
	symGetPlatformInfo
	symGetDeviceIDs
	symGetDeviceInfo
	symCreateSubDevices
	symCreateContext
	symReleaseContext
	symCreateCommandQueue
	symReleaseCommandQueue
	symCreateBuffer
	symCreateSubBuffer
	symReleaseMemObject
	symCreateProgramWithSource
	symCreateProgramWithBinary
	symRetainProgram
	symReleaseProgram
	symBuildProgram
	symGetProgramInfo
	symGetProgramBuildInfo
	symCreateKernel
	symReleaseKernel
	symSetKernelArg
	symGetKernelInfo
	symGetKernelArgInfo
	symGetKernelWorkGroupInfo
	symWaitForEvents
	symGetEventInfo
	symRetainEvent
	symReleaseEvent
	symGetEventProfilingInfo
	symFlush
	symFinish
	symEnqueueReadBuffer
	symEnqueueWriteBuffer
	symEnqueueCopyBuffer
	symEnqueueFillBuffer
	symEnqueueMapBuffer
	symEnqueueUnmapMemObject
	symEnqueueNDRangeKernel
	symEnqueueMarkerWithWaitList
	symEnqueueBarrierWithWaitList
	symGetExtensionFunctionAddressForPlatform
	numSymbols
)

var symbolNames = [numSymbols]string{
	symGetPlatformIDs:             "clGetPlatformIDs",
	symGetPlatformInfo:            "clGetPlatformInfo",
	symGetDeviceIDs:               "clGetDeviceIDs",
	symGetDeviceInfo:              "clGetDeviceInfo",
	symCreateSubDevices:           "clCreateSubDevices",
	symCreateContext:              "clCreateContext",
	symReleaseContext:             "clReleaseContext",
	symCreateCommandQueue:         "clCreateCommandQueue",
	symReleaseCommandQueue:        "clReleaseCommandQueue",
	symCreateBuffer:               "clCreateBuffer",
	symCreateSubBuffer:            "clCreateSubBuffer",
	symReleaseMemObject:           "clReleaseMemObject",
	symCreateProgramWithSource:    "clCreateProgramWithSource",
	symCreateProgramWithBinary:    "clCreateProgramWithBinary",
	symRetainProgram:              "clRetainProgram",
	symReleaseProgram:             "clReleaseProgram",
	symBuildProgram:               "clBuildProgram",
	symGetProgramInfo:             "clGetProgramInfo",
	symGetProgramBuildInfo:        "clGetProgramBuildInfo",
	symCreateKernel:               "clCreateKernel",
	symReleaseKernel:              "clReleaseKernel",
	symSetKernelArg:               "clSetKernelArg",
	symGetKernelInfo:              "clGetKernelInfo",
	symGetKernelArgInfo:           "clGetKernelArgInfo",
	symGetKernelWorkGroupInfo:     "clGetKernelWorkGroupInfo",
	symWaitForEvents:              "clWaitForEvents",
	symGetEventInfo:               "clGetEventInfo",
	symRetainEvent:                "clRetainEvent",
	symReleaseEvent:               "clReleaseEvent",
	symGetEventProfilingInfo:      "clGetEventProfilingInfo",
	symFlush:                      "clFlush",
	symFinish:                     "clFinish",
	symEnqueueReadBuffer:          "clEnqueueReadBuffer",
	symEnqueueWriteBuffer:         "clEnqueueWriteBuffer",
	symEnqueueCopyBuffer:          "clEnqueueCopyBuffer",
	symEnqueueFillBuffer:          "clEnqueueFillBuffer",
	symEnqueueMapBuffer:           "clEnqueueMapBuffer",
	symEnqueueUnmapMemObject:      "clEnqueueUnmapMemObject",
	symEnqueueNDRangeKernel:       "clEnqueueNDRangeKernel",
	symEnqueueMarkerWithWaitList:  "clEnqueueMarkerWithWaitList",
	symEnqueueBarrierWithWaitList: "clEnqueueBarrierWithWaitList",

	symGetExtensionFunctionAddressForPlatform: "clGetExtensionFunctionAddressForPlatform",
}

func (s symbol) String() string { return symbolNames[s] }

// library is the loaded function table. hook is the seam of the tests: it sees
// every raw call, below all bookkeeping, and may answer in its place.
type library struct {
	path string
	addr [numSymbols]uintptr
	hook atomic.Pointer[hookFunc]
}

// hookFunc stands in for the call of s with args; next makes the real call.
type hookFunc func(s symbol, args []uintptr, next func() uintptr) uintptr

// call calls s. A pointer to Go memory must be converted to uintptr within the
// call expression: the directive then keeps the memory alive, and off the
// movable stack, until the call returns.
//
//go:uintptrescapes
func (l *library) call(s symbol, args ...uintptr) uintptr {
	if h := l.hook.Load(); h != nil {
		own := append([]uintptr(nil), args...)
		return (*h)(s, own, func() uintptr { return rawCall(l.addr[s], own...) })
	}
	return rawCall(l.addr[s], args...)
}

// callAt is call for a function that is not in the table, an extension's.
//
//go:uintptrescapes
func (l *library) callAt(addr uintptr, args ...uintptr) uintptr { return rawCall(addr, args...) }

var loaded struct {
	sync.Mutex
	lib    *library
	before func() error // nil: done, or nobody asked
}

// BeforeLoading has f called before the OpenCL library, and with it the drivers, are
// loaded, by the first call that needs them. While f returns an error nothing is loaded,
// and the caller gets that error. Drivers see what f changes in the environment. Set it
// before the first call of [Devices].
func BeforeLoading(f func() error) {
	loaded.Lock()
	defer loaded.Unlock()
	loaded.before = f
}

// libraryPathEnv names the library to load in place of the system's loader.
const libraryPathEnv = "ENHANCE_OPENCL_LIB"

// loadLibrary loads the OpenCL library once per process. Failures are tried
// again by the next call.
func loadLibrary() (*library, error) {
	loaded.Lock()
	defer loaded.Unlock()
	if loaded.lib != nil {
		return loaded.lib, nil
	}
	if loaded.before != nil {
		if err := loaded.before(); err != nil {
			return nil, err
		}
		loaded.before = nil
	}
	candidates := defaultLibraries()
	if p := os.Getenv(libraryPathEnv); p != "" {
		candidates = []string{p}
	}
	lib, err := openFirst(candidates)
	if err != nil {
		return nil, err
	}
	loaded.lib = lib
	return lib, nil
}

func openFirst(paths []string) (*library, error) {
	var firstErr error
	for _, p := range paths {
		h, err := openLibrary(p)
		if err != nil {
			if firstErr == nil {
				firstErr = err
			}
			continue
		}
		lib := &library{path: p}
		for s := range numSymbols {
			if lib.addr[s], err = lookup(h, s.String()); err != nil {
				return nil, &NoOpenCLError{Reason: fmt.Sprintf("%s lacks %s, so it is older than OpenCL 1.2 or no OpenCL library", p, s)}
			}
		}
		return lib, nil
	}
	if firstErr == nil {
		return nil, &NoOpenCLError{Reason: "this operating system or processor is not supported"}
	}
	return nil, &NoOpenCLError{Reason: fmt.Sprintf("cannot load the OpenCL library: %v; install an OpenCL loader (libOpenCL.so.1: ocl-icd-libopencl1 on Debian and Ubuntu) or name the library in %s", firstErr, libraryPathEnv)}
}

// maxInfo bounds what an info query may ask to allocate: the largest answer,
// a program binary, stays far below it.
const maxInfo = 1 << 30

// info asks one of the functions of the form
// f(object, param, size, value*, size_ret*) for a value of any length.
func (l *library) info(s symbol, object uintptr, param uint32) ([]byte, error) {
	var size uintptr
	r := l.call(s, object, uintptr(param), 0, 0, uintptr(unsafe.Pointer(&size)))
	if err := infoError(s, r, param, size); err != nil || size == 0 {
		return nil, err
	}
	p := make([]byte, size)
	r = l.call(s, object, uintptr(param), size, uintptr(unsafe.Pointer(&p[0])), 0)
	return p, infoError(s, r, param, size)
}

// word returns an answer whose size, 4 or 8 bytes, is known, in one call.
func (l *library) word(s symbol, object uintptr, param uint32, size uintptr) (uint64, error) {
	v := new([8]byte)
	r := l.call(s, object, uintptr(param), size, uintptr(unsafe.Pointer(v)), 0)
	return infoUint(v[:size]), infoError(s, r, param, size)
}

// info2 is info for the functions that take a second argument, a device or an
// index, between the object and the parameter.
func (l *library) info2(s symbol, object, second uintptr, param uint32) ([]byte, error) {
	var size uintptr
	r := l.call(s, object, second, uintptr(param), 0, 0, uintptr(unsafe.Pointer(&size)))
	if err := infoError(s, r, param, size); err != nil || size == 0 {
		return nil, err
	}
	p := make([]byte, size)
	r = l.call(s, object, second, uintptr(param), size, uintptr(unsafe.Pointer(&p[0])), 0)
	return p, infoError(s, r, param, size)
}

func infoError(s symbol, r uintptr, param uint32, size uintptr) error {
	if code := int32(r); code != 0 {
		return &Error{Call: s.String(), Code: code, Detail: fmt.Sprintf("parameter %#x", param)}
	}
	if size > maxInfo {
		return &AnswerError{Call: s.String(), Detail: fmt.Sprintf("parameter %#x has an implausible size of %d bytes", param, size)}
	}
	return nil
}

// infoString returns a string answer without its terminating zero.
func infoString(p []byte) string {
	for i, c := range p {
		if c == 0 {
			return string(p[:i])
		}
	}
	return string(p)
}

// infoUint returns an integer answer of 1 to 8 bytes in the host's order.
func infoUint(p []byte) uint64 {
	switch {
	case len(p) >= 8:
		return binary.NativeEndian.Uint64(p)
	case len(p) >= 4:
		return uint64(binary.NativeEndian.Uint32(p))
	case len(p) >= 1:
		return uint64(p[0])
	}
	return 0
}
