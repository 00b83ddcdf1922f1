package clrt

import (
	"fmt"
	"sync"
	"unsafe"
)

// partitionByCounts asks clCreateSubDevices for devices of given numbers of
// compute units (CL_DEVICE_PARTITION_BY_COUNTS); the list ends in zero, as does
// the list of properties.
const partitionByCounts = 0x1087

// subDevices keeps what Cores made: like all devices they live as long as the
// process.
var subDevices struct {
	sync.Mutex
	made map[subDevice]*Device
}

type subDevice struct {
	parent uintptr
	units  int
}

// Cores returns the device that computes on n of d's compute units alone, d itself
// if it has no more than that. It fails for n below 1, and where the driver cannot
// divide the device, as few but those of CPUs can.
func (d *Device) Cores(n int) (*Device, error) {
	if n < 1 {
		return nil, fmt.Errorf("clrt: %d compute units of %s: want at least 1", n, d)
	}
	if n >= d.info.ComputeUnits {
		return d, nil
	}
	subDevices.Lock()
	defer subDevices.Unlock()
	key := subDevice{d.id, n}
	if s := subDevices.made[key]; s != nil {
		return s, nil
	}
	properties := [4]uintptr{partitionByCounts, uintptr(n), 0, 0}
	var id uintptr
	var made uint32
	r := d.lib.call(symCreateSubDevices, d.id, uintptr(unsafe.Pointer(&properties)), 1, uintptr(unsafe.Pointer(&id)), uintptr(unsafe.Pointer(&made)))
	if err := check(symCreateSubDevices, r, fmt.Sprintf("%d of %d compute units of %s", n, d.info.ComputeUnits, d)); err != nil {
		return nil, err
	}
	s := &Device{lib: d.lib, platform: d.platform, id: id, whole: d}
	if d.whole != nil {
		s.whole = d.whole
	}
	var err error
	if s.info, err = d.lib.deviceInfo(id); err != nil {
		return nil, err
	}
	s.info.Platform = d.info.Platform
	if subDevices.made == nil {
		subDevices.made = map[subDevice]*Device{}
	}
	subDevices.made[key] = s
	return s, nil
}
