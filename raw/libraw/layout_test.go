//go:build (linux || darwin) && !android && !ios && (amd64 || arm64 || loong64 || riscv64)

package libraw

import (
	"errors"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unsafe"
)

// TestLayoutOfHeaders holds the table against the headers that are installed.
func TestLayoutOfHeaders(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("no C compiler: the table is not compared with headers")
	}
	if _, err := os.Stat("/usr/include/libraw/libraw.h"); err != nil {
		t.Skip("no headers of LibRaw: the table is not compared with them (Debian package libraw-dev)")
	}
	out, err := exec.Command("../../scripts/libraw-layout.sh").Output()
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(\d+)<<8 \| (\d+): `).FindStringSubmatch(string(out))
	if version == nil {
		t.Fatalf("no version in\n%s", out)
	}
	major, _ := strconv.Atoi(version[1])
	minor, _ := strconv.Atoi(version[2])
	l, ok := layouts[major<<8|minor]
	if !ok {
		t.Skipf("the headers are of version %s.%s, which the table lacks", version[1], version[2])
	}
	members := regexp.MustCompile(`(\w+): (\d+),`).FindAllStringSubmatch(string(out), -1)
	table := reflect.ValueOf(l)
	if len(members) != table.NumField() {
		t.Errorf("%d members, the table has %d", len(members), table.NumField())
	}
	for _, m := range members {
		if f := table.FieldByName(m[1]); !f.IsValid() || strconv.FormatInt(f.Int(), 10) != m[2] {
			t.Errorf("%s is %v, the headers have %s", m[1], f, m[2])
		}
	}
}

// TestLayoutsAreNotBelieved: a table that is wrong in one place is refused before
// anything is read by it.
func TestLayoutsAreNotBelieved(t *testing.T) {
	l, h, err := load()
	if err != nil {
		t.Skipf("no LibRaw to test with: %v", err)
	}
	data, err := os.ReadFile(samples + "PowerShotG2.crw")
	if err != nil {
		t.Fatal(err)
	}
	if code := l.openBuffer(h, unsafe.Pointer(&data[0]), uintptr(len(data))); code != 0 {
		t.Fatal(l.strerror(code))
	}
	confirm := func() error {
		return errors.Join(l.confirmPointers(h), l.confirmValues(h, l.take(h)))
	}
	if err := confirm(); err != nil {
		t.Fatal(err)
	}
	right := l.layout
	for name, at := range map[string]*int{
		"iparams": &l.layout.idata, "lensinfo": &l.layout.lens, "imgother": &l.layout.other, "parent_class": &l.layout.parent,
		"raw_": &l.layout.sizes, "maximum": &l.layout.maximum, "cam_mul": &l.layout.camMul, "pre_mul": &l.layout.preMul,
		"rgb_cam": &l.layout.rgbCam, "filters": &l.layout.filters,
	} {
		for _, by := range []int{-8, -4, 4, 8} {
			*at += by
			if name == "filters" { // what is read there must be a pattern to be compared
				if f := l.take(h).facts(&l.layout); f.Filters <= 1000 {
					*at = *at - by
					continue
				}
			}
			if err := confirm(); err == nil || !strings.Contains(err.Error(), "another layout") {
				t.Errorf("%s off by %d: %v", name, by, err)
			}
			l.layout = right
		}
	}
	runtime.KeepAlive(data)
}

// TestVersions: what is not in the table is not known.
func TestVersions(t *testing.T) {
	for version, want := range map[int32]bool{0x001302: false, 0x001400: true, 0x001502: true, 0x001602: true, 0x001700: false, 0x010000: false} {
		if l, ok := layoutOf(version); ok != want || ok && l.size == 0 {
			t.Errorf("version %#x: known %v, want %v", version, ok, want)
		}
	}
}
