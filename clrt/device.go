package clrt

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unsafe"
)

// DeviceType says what a device is.
type DeviceType int

// The kinds of device.
const (
	Other DeviceType = iota
	CPU
	GPU
	Accelerator
)

// String returns "CPU", "GPU", "Accelerator" or "Other".
func (t DeviceType) String() string {
	switch t {
	case CPU:
		return "CPU"
	case GPU:
		return "GPU"
	case Accelerator:
		return "Accelerator"
	}
	return "Other"
}

// MarshalText writes the type as String does.
func (t DeviceType) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (t *DeviceType) UnmarshalText(p []byte) error {
	for _, c := range []DeviceType{Other, CPU, GPU, Accelerator} {
		if c.String() == string(p) {
			*t = c
			return nil
		}
	}
	return fmt.Errorf("clrt: unknown device type %q", p)
}

// DeviceInfo is what a device says of itself. Sizes are bytes.
type DeviceInfo struct {
	Platform      string     `json:"platform"`
	Name          string     `json:"name"`
	Vendor        string     `json:"vendor"`
	DriverVersion string     `json:"driver_version"`
	Version       string     `json:"version"`
	Type          DeviceType `json:"type"`
	ComputeUnits  int        `json:"compute_units"`

	GlobalMem     int64 `json:"global_mem"`
	MaxAlloc      int64 `json:"max_alloc"` // the largest single buffer
	LocalMem      int64 `json:"local_mem"` // of one work-group
	GlobalCache   int64 `json:"global_cache"`
	LocalIsGlobal bool  `json:"local_is_global"` // local memory is emulated in global memory
	BaseAlign     int   `json:"base_align"`      // required of the offset of a sub-buffer
	Unified       bool  `json:"unified"`         // host and device share their memory

	MaxWorkGroup int    `json:"max_work_group"` // work-items
	MaxWorkItem  [3]int `json:"max_work_item"`  // work-items per dimension

	Extensions        []string `json:"extensions"`
	NativeVectorFloat int      `json:"native_vector_float"` // floats in a vector register; 1 on most GPUs
	MaxClockMHz       int      `json:"max_clock_mhz"`
	TimerNS           int      `json:"timer_ns"` // resolution of Event.Times

	// NVComputeCapability is "major.minor" where the device has
	// cl_nv_device_attribute_query, else empty.
	NVComputeCapability string `json:"nv_compute_capability,omitempty"`
}

// HasExtension reports whether the device lists the extension.
func (i *DeviceInfo) HasExtension(name string) bool { return slices.Contains(i.Extensions, name) }

// Device is an OpenCL device. It lives as long as the process and needs no
// closing.
type Device struct {
	lib          *library
	platform, id uintptr
	info         DeviceInfo
	whole        *Device  // whose cores it has, see Cores; nil: it is whole
	preloaded    sync.Map // programs that were read from the cache, until they are built: func() []byte by key
}

// Info returns what the device says of itself. The result is the caller's own.
func (d *Device) Info() *DeviceInfo {
	i := d.info
	i.Extensions = slices.Clone(i.Extensions)
	return &i
}

// String returns the device's name and its platform's.
func (d *Device) String() string { return d.info.Name + " (" + d.info.Platform + ")" }

var found struct {
	sync.Mutex
	devices []*Device
}

// Devices returns all devices of all platforms. The order is that of the
// platforms' names, then the driver's own, so that it is the same in every run
// on one machine. The devices are looked up once per process. Where there are
// none the error is a *NoOpenCLError.
func Devices() ([]*Device, error) {
	found.Lock()
	defer found.Unlock()
	if found.devices == nil {
		lib, err := loadLibrary()
		if err != nil {
			return nil, err
		}
		if found.devices, err = lib.devices(); err != nil {
			return nil, err
		}
	}
	return slices.Clone(found.devices), nil
}

type platform struct {
	id   uintptr
	name string
}

func (l *library) devices() ([]*Device, error) {
	platforms, err := l.platforms()
	if err != nil {
		return nil, err
	}
	var all []*Device
	var failures []string
	for _, p := range platforms {
		ids, err := l.deviceIDs(p.id)
		if err != nil {
			failures = append(failures, fmt.Sprintf("platform %q: %v", p.name, err))
			continue
		}
		for _, id := range ids {
			d := &Device{lib: l, platform: p.id, id: id}
			if d.info, err = l.deviceInfo(id); err != nil {
				failures = append(failures, fmt.Sprintf("platform %q: %v", p.name, err))
				continue
			}
			d.info.Platform = p.name
			all = append(all, d)
		}
	}
	if len(all) == 0 {
		reason := fmt.Sprintf("%d platform(s) but no usable device", len(platforms))
		if len(failures) > 0 {
			reason += ": " + strings.Join(failures, "; ")
		}
		return nil, &NoOpenCLError{Reason: reason + "; check the driver (PoCL also says CL_DEVICE_NOT_FOUND when its cache folder, POCL_CACHE_DIR or ~/.cache/pocl, cannot be written)"}
	}
	return all, nil
}

func (l *library) platforms() ([]platform, error) {
	var n uint32
	r := l.call(symGetPlatformIDs, 0, 0, uintptr(unsafe.Pointer(&n)))
	if int32(r) == codePlatformNotFound || int32(r) == 0 && n == 0 {
		return nil, &NoOpenCLError{Reason: l.path + " finds no platform; install an OpenCL driver: the one of your GPU, or pocl-opencl-icd (Debian, Ubuntu) for the processor (on Linux it registers itself in /etc/OpenCL/vendors)"}
	}
	if err := check(symGetPlatformIDs, r, ""); err != nil {
		return nil, err
	}
	ids := make([]uintptr, n)
	r = l.call(symGetPlatformIDs, uintptr(n), uintptr(unsafe.Pointer(&ids[0])), 0)
	if err := check(symGetPlatformIDs, r, ""); err != nil {
		return nil, err
	}
	ps := make([]platform, 0, n)
	for _, id := range ids {
		name, err := l.info(symGetPlatformInfo, id, platformName)
		if err != nil {
			return nil, err
		}
		ps = append(ps, platform{id, strings.TrimSpace(infoString(name))})
	}
	slices.SortStableFunc(ps, func(a, b platform) int { return strings.Compare(a.name, b.name) })
	return ps, nil
}

// deviceIDs returns the devices of a platform. That it has none is an error
// here so that the caller can say which platform it was.
func (l *library) deviceIDs(platform uintptr) ([]uintptr, error) {
	var n uint32
	r := l.call(symGetDeviceIDs, platform, deviceTypeAll, 0, 0, uintptr(unsafe.Pointer(&n)))
	if err := check(symGetDeviceIDs, r, ""); err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, errors.New("no devices")
	}
	ids := make([]uintptr, n)
	r = l.call(symGetDeviceIDs, platform, deviceTypeAll, uintptr(n), uintptr(unsafe.Pointer(&ids[0])), 0)
	return ids, check(symGetDeviceIDs, r, "")
}

// Parameters of clGetPlatformInfo and clGetDeviceInfo (cl.h, cl_ext.h).
const (
	platformName = 0x0902

	deviceTypeAll = 0xFFFFFFFF

	deviceType                = 0x1000
	deviceMaxComputeUnits     = 0x1002
	deviceMaxWorkGroupSize    = 0x1004
	deviceMaxWorkItemSizes    = 0x1005
	deviceMaxClockFrequency   = 0x100C
	deviceMaxMemAllocSize     = 0x1010
	deviceMemBaseAddrAlign    = 0x1019 // bits
	deviceGlobalMemCacheSize  = 0x101E
	deviceGlobalMemSize       = 0x101F
	deviceLocalMemType        = 0x1022
	deviceLocalMemSize        = 0x1023
	deviceTimerResolution     = 0x1025
	deviceName                = 0x102B
	deviceVendor              = 0x102C
	deviceDriverVersion       = 0x102D
	deviceVersion             = 0x102F
	deviceExtensions          = 0x1030
	deviceHostUnifiedMemory   = 0x1035
	deviceNativeVectorFloat   = 0x103A
	deviceNVCapabilityMajor   = 0x4000
	deviceNVCapabilityMinor   = 0x4001
	localMemTypeGlobal        = 2
	extNVDeviceAttributeQuery = "cl_nv_device_attribute_query"
)

// deviceInfo asks for everything but the platform's name.
func (l *library) deviceInfo(id uintptr) (DeviceInfo, error) {
	q := infoReader{lib: l, id: id}
	i := DeviceInfo{
		Name:              q.str(deviceName),
		Vendor:            q.str(deviceVendor),
		DriverVersion:     q.str(deviceDriverVersion),
		Version:           q.str(deviceVersion),
		ComputeUnits:      int(q.num(deviceMaxComputeUnits)),
		GlobalMem:         q.num(deviceGlobalMemSize),
		MaxAlloc:          q.num(deviceMaxMemAllocSize),
		LocalMem:          q.num(deviceLocalMemSize),
		GlobalCache:       q.num(deviceGlobalMemCacheSize),
		LocalIsGlobal:     q.num(deviceLocalMemType) == localMemTypeGlobal,
		MaxWorkGroup:      int(q.num(deviceMaxWorkGroupSize)),
		BaseAlign:         max(1, int(q.num(deviceMemBaseAddrAlign)/8)),
		Unified:           q.num(deviceHostUnifiedMemory) != 0,
		Extensions:        strings.Fields(q.str(deviceExtensions)),
		NativeVectorFloat: int(q.num(deviceNativeVectorFloat)),
		MaxClockMHz:       int(q.num(deviceMaxClockFrequency)),
		TimerNS:           int(q.num(deviceTimerResolution)),
	}
	switch t := q.num(deviceType); {
	case t&4 != 0:
		i.Type = GPU
	case t&8 != 0:
		i.Type = Accelerator
	case t&2 != 0:
		i.Type = CPU
	}
	sizes := q.raw(deviceMaxWorkItemSizes)
	for d := range i.MaxWorkItem {
		if len(sizes) >= 8*(d+1) {
			i.MaxWorkItem[d] = int(infoUint(sizes[8*d:]))
		}
	}
	if i.HasExtension(extNVDeviceAttributeQuery) {
		i.NVComputeCapability = fmt.Sprintf("%d.%d", q.num(deviceNVCapabilityMajor), q.num(deviceNVCapabilityMinor))
	}
	return i, q.err
}

// infoReader asks a device for several values and keeps the first error.
type infoReader struct {
	lib *library
	id  uintptr
	err error
}

func (q *infoReader) raw(param uint32) []byte {
	p, err := q.lib.info(symGetDeviceInfo, q.id, param)
	if err != nil && q.err == nil {
		q.err = err
	}
	return p
}

func (q *infoReader) str(param uint32) string { return strings.TrimSpace(infoString(q.raw(param))) }

func (q *infoReader) num(param uint32) int64 { return int64(infoUint(q.raw(param))) }
