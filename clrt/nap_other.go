//go:build !linux

package clrt

import "time"

func shortSleep() { time.Sleep(50 * time.Microsecond) }
