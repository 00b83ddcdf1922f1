// Package kernelcheck runs the kernels that a device would use for a network, on small
// inputs of odd sizes, and compares the results with the definition in float64. Start at
// [Run].
//
//	kernelcheck.go  Run, the report, what is right
//	cases.go     the networks: one for each operation and each convolution kernel
//	samples.go   the kernels that take stored samples
//
// A case is a network of one operation. It runs on the engine, as photos do, under several
// plans: whole planes, strips of one row and of three, the least memory. It is right if all plans
// give the same bytes, if every sample is close to the definition, and if the device held
// exactly the memory that the plan says.
package kernelcheck
