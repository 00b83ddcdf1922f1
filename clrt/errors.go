package clrt

import (
	"errors"
	"fmt"
)

// ErrNoOpenCL is what errors.Is finds in every error that says that there is
// no OpenCL device to work with. The errors themselves are *NoOpenCLError.
var ErrNoOpenCL = errors.New("no OpenCL")

// ErrClosed is what errors.Is finds in the error of a method of a closed
// object.
var ErrClosed = errors.New("closed")

// NoOpenCLError says why there is no OpenCL: no library, no platform or no
// device.
type NoOpenCLError struct {
	Reason string
}

func (e *NoOpenCLError) Error() string { return "no OpenCL: " + e.Reason }

// Is reports that the error is ErrNoOpenCL.
func (e *NoOpenCLError) Is(target error) bool { return target == ErrNoOpenCL }

// Error is the failure of an OpenCL call.
type Error struct {
	Call   string // the function's name
	Code   int32  // what it returned
	Detail string // what was asked of it; may be empty
}

// Error prints for example
// "clBuildProgram: CL_BUILD_PROGRAM_FAILURE (-11): <detail>".
func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %s (%d)", e.Call, CodeName(e.Code), e.Code)
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

// Is reports whether target is an *Error with the same code and, where target
// names one, the same call.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && (t.Call == "" || t.Call == e.Call)
}

// AnswerError says that a driver answered a call with what cannot be.
type AnswerError struct {
	Call   string // the function's name
	Detail string
}

func (e *AnswerError) Error() string {
	return e.Call + ": the driver's answer cannot be right: " + e.Detail
}

// OutOfMemory reports whether err says that the device or the host had too
// little memory for an OpenCL command.
func OutOfMemory(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case codeMemObjectAllocationFailure, codeOutOfResources, codeOutOfHostMemory:
		return true
	}
	return false
}

// Refused reports whether err says that a device or its compiler cannot do what a program or a
// kernel asks for, and not that a call failed.
func Refused(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		var b *BuildError
		return errors.As(err, &b)
	}
	switch e.Code {
	case codeCompilerNotAvailable, codeBuildProgramFailure, codeCompileProgramFailure, codeLinkProgramFailure, codeInvalidBuildOptions,
		codeInvalidProgram, codeInvalidProgramExecutable, codeOutOfResources, codeInvalidWorkGroupSize, codeInvalidWorkItemSize:
		return true
	}
	return false
}

// check turns the return value of a call into an error.
func check(s symbol, r uintptr, detail string) error {
	if code := int32(r); code != 0 {
		return &Error{Call: s.String(), Code: code, Detail: detail}
	}
	return nil
}

func closedError(what string) error { return fmt.Errorf("clrt: %s is %w", what, ErrClosed) }

// Codes that the package itself asks about.
const (
	codeDeviceNotFound             = -1
	codeCompilerNotAvailable       = -3
	codeMemObjectAllocationFailure = -4
	codeOutOfResources             = -5
	codeOutOfHostMemory            = -6
	codeBuildProgramFailure        = -11
	codeExecStatusErrorInWaitList  = -14
	codeCompileProgramFailure      = -15
	codeLinkProgramFailure         = -17
	codeInvalidBuildOptions        = -43
	codeInvalidProgram             = -44
	codeInvalidProgramExecutable   = -45
	codeInvalidKernelName          = -46
	codeInvalidWorkGroupSize       = -54
	codeInvalidWorkItemSize        = -55
	codePlatformNotFound           = -1001
)

// CodeName returns the symbolic name of an OpenCL error code.
func CodeName(code int32) string {
	if n, ok := codeNames[code]; ok {
		return n
	}
	return "unknown OpenCL code"
}

// codeNames are the codes of cl.h for version 1.2 and of the ICD loader.
var codeNames = map[int32]string{
	0:     "CL_SUCCESS",
	-1:    "CL_DEVICE_NOT_FOUND",
	-2:    "CL_DEVICE_NOT_AVAILABLE",
	-3:    "CL_COMPILER_NOT_AVAILABLE",
	-4:    "CL_MEM_OBJECT_ALLOCATION_FAILURE",
	-5:    "CL_OUT_OF_RESOURCES",
	-6:    "CL_OUT_OF_HOST_MEMORY",
	-7:    "CL_PROFILING_INFO_NOT_AVAILABLE",
	-8:    "CL_MEM_COPY_OVERLAP",
	-9:    "CL_IMAGE_FORMAT_MISMATCH",
	-10:   "CL_IMAGE_FORMAT_NOT_SUPPORTED",
	-11:   "CL_BUILD_PROGRAM_FAILURE",
	-12:   "CL_MAP_FAILURE",
	-13:   "CL_MISALIGNED_SUB_BUFFER_OFFSET",
	-14:   "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
	-15:   "CL_COMPILE_PROGRAM_FAILURE",
	-16:   "CL_LINKER_NOT_AVAILABLE",
	-17:   "CL_LINK_PROGRAM_FAILURE",
	-18:   "CL_DEVICE_PARTITION_FAILED",
	-19:   "CL_KERNEL_ARG_INFO_NOT_AVAILABLE",
	-30:   "CL_INVALID_VALUE",
	-31:   "CL_INVALID_DEVICE_TYPE",
	-32:   "CL_INVALID_PLATFORM",
	-33:   "CL_INVALID_DEVICE",
	-34:   "CL_INVALID_CONTEXT",
	-35:   "CL_INVALID_QUEUE_PROPERTIES",
	-36:   "CL_INVALID_COMMAND_QUEUE",
	-37:   "CL_INVALID_HOST_PTR",
	-38:   "CL_INVALID_MEM_OBJECT",
	-39:   "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR",
	-40:   "CL_INVALID_IMAGE_SIZE",
	-41:   "CL_INVALID_SAMPLER",
	-42:   "CL_INVALID_BINARY",
	-43:   "CL_INVALID_BUILD_OPTIONS",
	-44:   "CL_INVALID_PROGRAM",
	-45:   "CL_INVALID_PROGRAM_EXECUTABLE",
	-46:   "CL_INVALID_KERNEL_NAME",
	-47:   "CL_INVALID_KERNEL_DEFINITION",
	-48:   "CL_INVALID_KERNEL",
	-49:   "CL_INVALID_ARG_INDEX",
	-50:   "CL_INVALID_ARG_VALUE",
	-51:   "CL_INVALID_ARG_SIZE",
	-52:   "CL_INVALID_KERNEL_ARGS",
	-53:   "CL_INVALID_WORK_DIMENSION",
	-54:   "CL_INVALID_WORK_GROUP_SIZE",
	-55:   "CL_INVALID_WORK_ITEM_SIZE",
	-56:   "CL_INVALID_GLOBAL_OFFSET",
	-57:   "CL_INVALID_EVENT_WAIT_LIST",
	-58:   "CL_INVALID_EVENT",
	-59:   "CL_INVALID_OPERATION",
	-60:   "CL_INVALID_GL_OBJECT",
	-61:   "CL_INVALID_BUFFER_SIZE",
	-62:   "CL_INVALID_MIP_LEVEL",
	-63:   "CL_INVALID_GLOBAL_WORK_SIZE",
	-64:   "CL_INVALID_PROPERTY",
	-65:   "CL_INVALID_IMAGE_DESCRIPTOR",
	-66:   "CL_INVALID_COMPILER_OPTIONS",
	-67:   "CL_INVALID_LINKER_OPTIONS",
	-68:   "CL_INVALID_DEVICE_PARTITION_COUNT",
	-1001: "CL_PLATFORM_NOT_FOUND_KHR",
}
