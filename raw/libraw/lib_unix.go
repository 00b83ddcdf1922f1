//go:build (linux || darwin) && !android && !ios && (amd64 || arm64 || loong64 || riscv64)

package libraw

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
)

// library are the functions of LibRaw's C interface that are used. handle is a
// libraw_data_t.
type library struct {
	path   string
	layout layout

	version     func() string
	number      func() int32
	init        func(flags uint32) (handle unsafe.Pointer)
	openBuffer  func(handle, data unsafe.Pointer, size uintptr) int32
	unpack      func(handle unsafe.Pointer) int32
	recycleData func(handle unsafe.Pointer)
	strerror    func(code int32) string
	onDamage    func(handle unsafe.Pointer, callback, data uintptr)

	rawWidth, rawHeight, width, height, maximum func(handle unsafe.Pointer) int32
	iparams, lensInfo, imgOther                 func(handle unsafe.Pointer) unsafe.Pointer
	camMul, preMul                              func(handle unsafe.Pointer, i int32) float32
	rgbCam                                      func(handle unsafe.Pointer, row, col int32) float32
	colour                                      func(handle unsafe.Pointer, row, col int32) int32
}

func (l *library) table() map[string]any {
	return map[string]any{
		"libraw_version": &l.version, "libraw_versionNumber": &l.number, "libraw_init": &l.init, "libraw_open_buffer": &l.openBuffer,
		"libraw_unpack": &l.unpack, "libraw_recycle_datastream": &l.recycleData, "libraw_strerror": &l.strerror,
		"libraw_set_dataerror_handler": &l.onDamage,
		"libraw_get_raw_width":         &l.rawWidth, "libraw_get_raw_height": &l.rawHeight, "libraw_get_iwidth": &l.width, "libraw_get_iheight": &l.height,
		"libraw_get_color_maximum": &l.maximum, "libraw_get_iparams": &l.iparams, "libraw_get_lensinfo": &l.lensInfo,
		"libraw_get_imgother": &l.imgOther, "libraw_get_cam_mul": &l.camMul, "libraw_get_pre_mul": &l.preMul, "libraw_get_rgb_cam": &l.rgbCam, "libraw_COLOR": &l.colour,
	}
}

// libraries lists the names that LibRaw has, newest first, the reentrant build.
func libraries() (names []string) {
	if p := os.Getenv(LibraryEnv); p != "" {
		return []string{p}
	}
	if runtime.GOOS == "darwin" {
		for _, dir := range []string{"", "/opt/homebrew/lib/", "/usr/local/lib/"} {
			names = append(names, dir+"libraw_r.dylib")
		}
		return names
	}
	for so := newestSoname; so >= oldestSoname; so-- {
		names = append(names, fmt.Sprintf("libraw_r.so.%d", so))
	}
	return append(names, "libraw_r.so")
}

// Sonames of 0.20 to 0.22 and some to come: what version a library really is it says
// itself.
const (
	oldestSoname = 20
	newestSoname = 30
)

// load loads the first LibRaw whose layout is known and confirmed. The errors are for
// people: what is wrong, not what to do.
func load() (*library, unsafe.Pointer, error) {
	var why error
	for _, name := range libraries() {
		so, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err != nil {
			if os.Getenv(LibraryEnv) != "" {
				why = fmt.Errorf("%s cannot be loaded: %v", name, err)
			}
			continue
		}
		l := &library{path: name}
		h, err := l.bind(so)
		if err == nil {
			return l, h, nil
		}
		if why == nil {
			why = err
		}
	}
	if why == nil {
		why = errNotInstalled
	}
	return nil, nil, why
}

// bind finds the functions and makes a handle.
func (l *library) bind(so uintptr) (unsafe.Pointer, error) {
	for name, f := range l.table() {
		sym, err := purego.Dlsym(so, name)
		if err != nil {
			return nil, fmt.Errorf("%s lacks %s", l.path, name)
		}
		purego.RegisterFunc(f, sym)
	}
	var ok bool
	if l.layout, ok = layoutOf(l.number()); !ok {
		return nil, fmt.Errorf("LibRaw %s (%s) is not known here: %s are", l.name(), l.path, knownVersions)
	}
	h := l.init(0)
	if h == nil {
		return nil, fmt.Errorf("LibRaw %s (%s) does not start", l.name(), l.path)
	}
	return h, l.confirmPointers(h)
}

// layoutError is a LibRaw whose struct is not where the layout says.
type layoutError struct{ what string }

func (e *layoutError) Error() string { return e.what }

// name is the version: "0.21.2".
func (l *library) name() string { return strings.TrimSuffix(l.version(), "-Release") }

func (l *library) strange(what string) error {
	return &layoutError{fmt.Sprintf("LibRaw %s (%s) was built with another layout: %s", l.name(), l.path, what)}
}

// confirmPointers holds the layout against functions that return the addresses of its
// parts, and the last member against the object that it must point at.
func (l *library) confirmPointers(h unsafe.Pointer) error {
	y := &l.layout
	for _, c := range []struct {
		name string
		got  unsafe.Pointer
		want int
	}{{"iparams", l.iparams(h), y.idata}, {"lensinfo", l.lensInfo(h), y.lens}, {"imgother", l.imgOther(h), y.other}} {
		if c.got != unsafe.Add(h, c.want) {
			return l.strange(fmt.Sprintf("%s is %d bytes from the start, want %d", c.name, uintptr(c.got)-uintptr(h), c.want))
		}
	}
	// The object begins with its table of virtual functions, then comes the struct.
	if parent := *(*uintptr)(unsafe.Add(h, y.parent)); parent != uintptr(h)-unsafe.Sizeof(parent) {
		return l.strange(fmt.Sprintf("parent_class is not at %d", y.parent))
	}
	return nil
}

// confirmValues holds the layout against functions that return values of a photo.
func (l *library) confirmValues(h unsafe.Pointer, s snapshot) error {
	y := &l.layout
	type check struct {
		name      string
		got, want float64
	}
	checks := []check{
		{"raw_height", float64(s.u16(y.sizes)), float64(l.rawHeight(h))}, {"raw_width", float64(s.u16(y.sizes + 2)), float64(l.rawWidth(h))},
		{"iheight", float64(s.u16(y.sizes + 12)), float64(l.height(h))}, {"iwidth", float64(s.u16(y.sizes + 14)), float64(l.width(h))},
		{"maximum", float64(s.u32(y.maximum)), float64(uint32(l.maximum(h)))},
	}
	for i := range 4 {
		checks = append(checks, check{"cam_mul", s.float(y.camMul + 4*i), finite(float64(l.camMul(h, int32(i))))},
			check{"pre_mul", s.float(y.preMul + 4*i), finite(float64(l.preMul(h, int32(i))))})
	}
	f := s.facts(y)
	for i := range 9 {
		checks = append(checks, check{"rgb_cam", f.RGBCam[i/3][i%3], finite(float64(l.rgbCam(h, int32(i/3), int32(i%3))))})
	}
	if f.Filters == filtersXTrans {
		for i, c := range f.XTrans {
			checks = append(checks, check{"xtrans", float64(c), float64(l.colour(h, int32(i/6), int32(i%6)))})
		}
	}
	if f.Filters > 1000 { // a filter array of 8 rows and 2 columns
		for i := range 16 {
			checks = append(checks, check{"filters", float64(f.index(i/2, i%2)), float64(l.colour(h, int32(i/2), int32(i%2)))})
		}
	}
	for _, c := range checks {
		if c.got != c.want || math.IsNaN(c.want) {
			return l.strange(fmt.Sprintf("%s is %g there, want %g", c.name, c.got, c.want))
		}
	}
	return nil
}

// confirmDecoded holds the copy that decoding makes of the sizes against the sizes.
func (l *library) confirmDecoded(s snapshot) error {
	for i := range 6 {
		if a, b := s.u16(l.layout.sizes+2*i), s.u16(l.layout.rawSizes+2*i); a != b {
			return l.strange(fmt.Sprintf("rawdata.sizes has %d, want %d", b, a))
		}
	}
	return nil
}

// take copies the struct.
func (l *library) take(h unsafe.Pointer) snapshot {
	return append(snapshot(nil), unsafe.Slice((*byte)(h), l.layout.size)...)
}

// samples are those of the whole image, masked borders included, and the samples from
// one row to the next; nil if there is no mosaic. They stay LibRaw's.
func (l *library) samples(h unsafe.Pointer, s snapshot) (all []uint16, stride int) {
	image := *(*unsafe.Pointer)(unsafe.Add(h, l.layout.rawImage))
	height, width, pitch := s.u16(l.layout.sizes), s.u16(l.layout.sizes+2), int(s.u32(l.layout.pitch))
	if image == nil || pitch%2 != 0 || pitch < 2*width || pitch > 2*largestSide {
		return nil, 0
	}
	return unsafe.Slice((*uint16)(image), height*pitch/2), pitch / 2
}
