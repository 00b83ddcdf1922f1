// Package compilers compiles programs in processes of their own, several at a time.
//
// Drivers hold a lock while they compile, one in a process: on 16 cores the 25
// kernels of a large network take NVIDIA's compiler 12 seconds, whatever number of
// threads ask for them (docs/opencl-binding.md). Other processes have other locks.
//
//	pool.go      Pool: the queue, and who takes from it; a clrt.Compiler
//	child.go     one process as the parent sees it
//	serve.go     Serve: what the process does
//	protocol.go  what goes over their pipes
//	limits.go    how many processes there may be
//
// Which executable is started is the caller's affair: it must call [Serve] when it is
// given the arguments of [Options].Command.
//
// # Why nothing can go wrong
//
// The calling process is one of the compilers, and what another cannot do it does
// itself: when a process cannot be started, finds another device, crashes, is killed,
// or takes too long, and when a program does not compile, so that the error and the
// compiler's log are what they would be without processes.
//
// A process ends with its caller: it reads its standard input all the time, which
// ends when the caller does, also while it compiles; on Linux it is killed besides.
package compilers
