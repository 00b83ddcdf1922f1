//go:build !unix

package main

import "os"

func peakOf(*os.ProcessState) int64 { return 0 }

func peakOfSelf() int64 { return 0 }
