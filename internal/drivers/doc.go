// Package drivers tries OpenCL drivers in processes of their own before this process
// loads them, so that a driver that crashes, exits or hangs ends a child and not the
// program. Start at [Prepare], which a program hands to [clrt.BeforeLoading].
//
//	prepare.go    Prepare: probe what has no verdict, pass over what failed
//	icd.go        Driver: the libraries that the OpenCL loader would load
//	probe.go      one child as the parent sees it
//	serve.go      Serve: what the child does
//	verdict.go    verdicts, kept in the cache by the files that they are about
//	poclcache.go  the folder in which PoCL keeps kernels: usable, or another one
//	cut.go        kernels there that were cut short
//
// The caller names the executable to start, which must call [Serve] when it is
// given the arguments of [Options].Command.
package drivers
