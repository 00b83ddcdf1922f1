// Package compilers compiles programs in processes of their own, several at a time.
//
// Drivers hold a lock while they compile, one in a process: on 16 cores the 25
// kernels of a large network take NVIDIA's compiler 12 seconds, whatever number of
// threads ask for them (docs/opencl-binding.md). Other processes have other locks.
//
//	pool.go    Pool: the queue, and who takes from it; a clrt.Compiler
//	child.go   one process as the parent sees it, and what goes over their pipes
//	serve.go   Serve: what the process does
//	limits.go  how many processes there may be
//
// The caller names the executable to start, which must call [Serve] when it is
// given the arguments of [Options].Command.
//
// # Failures
//
// The calling process is one of the compilers, and does itself what another cannot: when a
// process cannot be started, finds another device, crashes, is killed, or takes too long, and
// when a program does not compile. So an error and the compiler's log are what they would be
// without processes.
//
// A process reads its standard input all the time, also while it compiles, and ends when
// that ends, as it does when the caller ends.
package compilers
