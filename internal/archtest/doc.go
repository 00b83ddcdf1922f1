// Package archtest holds the rules of the module's structure as a test: which
// package may import which (layers.go), who may use which dependency, and that
// ARCHITECTURE.md says the same. It has no code of its own.
package archtest
