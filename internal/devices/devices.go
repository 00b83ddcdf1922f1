// Package devices finds the OpenCL device that a selector of the command line names, or
// the host executor. Start at [Choose].
package devices

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"enhance/clrt"
)

// Host selects the host executor: plain Go on all cores, without OpenCL.
const Host = "host"

// All selects all devices of the kind that [Choose] takes without a selector.
const All = "all"

// Choice is a device and the reason for it.
type Choice struct {
	Device *clrt.Device // nil: the host executor
	Index  int          // in clrt.Devices
	Why    string
}

// Choose finds the device that a selector names:
//
//   - "": a GPU if there is one, else an accelerator, else a CPU device, else the
//     host executor;
//   - "host": the host executor;
//   - "2": the device of that index in clrt.Devices;
//   - "nvidia:1" or "0:1": by platform (name part or index) and by index in it, or
//     part of the device's name;
//   - anything else: the first device whose name, or whose platform's name,
//     contains it, in either case.
//
// The error is a *Error.
func Choose(selector string) (Choice, error) {
	if selector == Host {
		return Choice{Why: "asked for"}, nil
	}
	devices, err := clrt.Devices()
	if selector == "" {
		return chooseBest(devices, err), nil
	}
	if err != nil {
		return Choice{}, &Error{Selector: selector, Problem: "no OpenCL device was found; the device host needs none", Err: err}
	}
	var infos []*clrt.DeviceInfo
	for _, d := range devices {
		infos = append(infos, d.Info())
	}
	i, why, err := match(selector, infos)
	if err != nil {
		return Choice{}, err
	}
	return Choice{Device: devices[i], Index: i, Why: why}, nil
}

// ChooseCores is [Choose] with at most that many cores of a CPU device, 0 for all.
// Other devices are as they are.
func ChooseCores(selector string, cores int) (Choice, error) {
	c, err := Choose(selector)
	if err != nil || cores < 1 || c.Device == nil || c.Device.Info().Type != clrt.CPU {
		return c, err
	}
	part, err := c.Device.Cores(cores)
	if err != nil {
		return c, &Error{Selector: selector, Problem: fmt.Sprintf("%s cannot be limited to %d cores: leave the limit out", c.Device, cores), Err: err}
	}
	c.Device = part
	return c, nil
}

// chooseBest is the default. Without any device the reason is told.
func chooseBest(devices []*clrt.Device, err error) Choice {
	for _, kind := range []clrt.DeviceType{clrt.GPU, clrt.Accelerator, clrt.CPU, clrt.Other} {
		for i, d := range devices {
			if d.Info().Type != kind {
				continue
			}
			why := "the first " + kind.String()
			if kind != clrt.GPU {
				why = fmt.Sprintf("no GPU found; the first OpenCL %s device", kind)
			}
			return Choice{Device: d, Index: i, Why: why}
		}
	}
	if err == nil {
		err = errors.New("no OpenCL device")
	}
	return Choice{Why: err.Error()}
}

// match finds a selector among devices.
func match(selector string, infos []*clrt.DeviceInfo) (int, string, error) {
	fail := func(problem string) (int, string, error) {
		return 0, "", &Error{Selector: selector, Problem: problem + " (see --list-devices)"}
	}
	if n, err := strconv.Atoi(selector); err == nil {
		if n < 0 || n >= len(infos) {
			if len(infos) == 1 {
				return fail("the only device is 0")
			}
			return fail(fmt.Sprintf("the devices are 0 to %d", len(infos)-1))
		}
		return n, "asked for by index", nil
	}
	contains := func(s, part string) bool { return strings.Contains(strings.ToLower(s), strings.ToLower(part)) }
	if platform, device, ok := strings.Cut(selector, ":"); ok && platform != "" && device != "" {
		if i, ok := matchPair(platform, device, infos, contains); ok {
			return i, "asked for by platform and device", nil
		}
	}
	for _, name := range []func(*clrt.DeviceInfo) string{
		func(d *clrt.DeviceInfo) string { return d.Name },
		func(d *clrt.DeviceInfo) string { return d.Platform },
	} {
		for i, d := range infos {
			if contains(name(d), selector) {
				return i, "asked for by name", nil
			}
		}
	}
	return fail("no device of that name")
}

// matchPair finds "platform:device".
func matchPair(platform, device string, infos []*clrt.DeviceInfo, contains func(s, part string) bool) (int, bool) {
	wantPlatform, perr := strconv.Atoi(platform)
	wantDevice, derr := strconv.Atoi(device)
	p, last, d := -1, "", 0
	for i, info := range infos {
		if p < 0 || info.Platform != last {
			p, last, d = p+1, info.Platform, -1
		}
		d++
		if perr == nil && p != wantPlatform || perr != nil && !contains(info.Platform, platform) {
			continue
		}
		if derr == nil && d == wantDevice || derr != nil && contains(info.Name, device) {
			return i, true
		}
	}
	return 0, false
}

// Split divides a selector of several devices: [All], or selectors for
// [Choose] with commas between them. A device may come twice: then two photos are
// computed on it at a time, within the memory budget of one.
func Split(selector string) ([]string, error) {
	if selector != All {
		return strings.Split(selector, ","), nil
	}
	devices, err := clrt.Devices()
	best := chooseBest(devices, err)
	if best.Device == nil {
		return []string{Host}, nil
	}
	var all []string
	for i, d := range devices {
		if d.Info().Type == best.Device.Info().Type {
			all = append(all, strconv.Itoa(i))
		}
	}
	return all, nil
}

// Error says that a device cannot be had or used.
type Error struct {
	Selector string // what was asked for; "" if the choice was the program's
	Problem  string
	Err      error // the cause, or nil
}

func (e *Error) Error() string {
	s := "device: " + e.Problem
	if e.Selector != "" {
		s = fmt.Sprintf("device %q: %s", e.Selector, e.Problem)
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }
