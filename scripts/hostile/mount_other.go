//go:build !linux

package main

import "errors"

func mount(string, string, bool) error { return errors.ErrUnsupported }

func unmount(string) {}
