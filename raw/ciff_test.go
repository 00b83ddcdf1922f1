package raw

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
)

// TestCutCRW: a file that is cut short is damaged, whatever LibRaw calls it.
func TestCutCRW(t *testing.T) {
	data, err := os.ReadFile(samples + "PowerShotG2.crw")
	if err != nil {
		t.Fatal(err)
	}
	if err := checkCIFF(bytes.NewReader(data), int64(len(data))); err != nil {
		t.Errorf("whole: %v", err)
	}
	moved := bytes.Clone(data)
	moved[len(moved)-3] ^= 1 // the directory would lie elsewhere
	for name, b := range map[string][]byte{"100 bytes": data[:100], "1000 bytes": data[:1000], "a third": data[:len(data)/3], "4 bytes missing": data[:len(data)-4],
		"1 byte missing": data[:len(data)-1], "the heap's middle missing": append(bytes.Clone(data[:5000]), data[len(data)/2:]...), "another offset": moved} {
		var damaged *FormatError
		if err := checkCIFF(bytes.NewReader(b), int64(len(b))); !errors.As(err, &damaged) || !strings.Contains(err.Error(), "damaged or cut short") {
			t.Errorf("%s: %v", name, err)
		}
	}
	opt := viaLibRaw(t)
	for _, n := range []int{100, 1000, 1e5, 1e6, len(data) - 1000} {
		var damaged *FormatError
		if _, err := openBytes(data[:n], opt); !errors.As(err, &damaged) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

func FuzzCIFF(f *testing.F) {
	f.Add([]byte("II\x1a\x00\x00\x00HEAPCCDR\x02\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x05\x20\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		err := checkCIFF(bytes.NewReader(b), int64(len(b)))
		if err != nil && !errors.As(err, new(*FormatError)) {
			t.Error(err)
		}
	})
}
