//go:build (linux || darwin) && !android && !ios && (amd64 || arm64 || loong64 || riscv64)

package libraw

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"enhance/raw/rawerr"
)

// mutant damages a file: some bits or bytes, most of them in the first kilobytes, where
// headers are, or its end.
func mutant(data []byte, r *rand.Rand) []byte {
	b := append([]byte(nil), data...)
	if r.IntN(4) == 0 {
		return b[:1+r.IntN(len(b)-1)]
	}
	for range 1 + r.IntN(30) {
		at := r.IntN(len(b))
		if r.IntN(3) > 0 {
			at = r.IntN(min(len(b), 4096))
		} else if r.IntN(2) == 0 { // a CRW's directory is at its end
			at = len(b) - 1 - r.IntN(min(len(b), 4096))
		}
		switch r.IntN(3) {
		case 0:
			b[at] ^= 1 << r.IntN(8)
		case 1:
			b[at] = byte(r.Uint32())
		default:
			b[at] = 0xff
		}
	}
	return b
}

// TestMutants: damaged files give rows or an error about the photo, and the process
// stays within what it said that it would hold.
func TestMutants(t *testing.T) {
	read(t, sample(t, "DC50.kdc"))
	count := 25
	if os.Getenv("ENHANCE_LONG") != "" {
		count *= 10
	}
	r := rand.New(rand.NewPCG(16, 2))
	outcomes := map[string]int{}
	for _, name := range []string{"PowerShotG2.crw", "DC50.kdc", "DC120.kdc"} {
		data, err := os.ReadFile(filepath.Join(samples, name))
		if err != nil {
			t.Fatal(err)
		}
		for i := range count {
			path := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(path, mutant(data, r), 0o666); err != nil {
				t.Fatal(err)
			}
			what := readMutant(t, path)
			outcomes[what]++
			if t.Failed() {
				t.Fatalf("mutant %d of %s", i, name)
			}
		}
	}
	t.Log(outcomes)
	if outcomes["rows"] == 0 || outcomes["error"] == 0 {
		t.Errorf("outcomes %v: the mutants test nothing", outcomes)
	}
}

func readMutant(t *testing.T, path string) string {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	im, err := Open(f, command(t))
	var damaged *rawerr.FormatError
	var unsupported *rawerr.UnsupportedError
	var unknown *UnknownError
	switch {
	case errors.As(err, &damaged):
		return "error"
	case errors.As(err, &unsupported):
		return "refused"
	case errors.As(err, &unknown):
		return "unknown"
	case err != nil:
		t.Errorf("%T %v", err, err)
		return "wrong"
	}
	defer im.Close()
	row := make([]uint16, im.Meta.Width)
	for _, y := range []int{0, im.Meta.Height / 2, im.Meta.Height - 1} {
		if err := im.ReadRows(y, 1, row); err != nil {
			t.Error(err)
		}
	}
	if peak := im.Peak(); peak > im.Bytes() {
		t.Errorf("the process held %d bytes, at most %d were said", peak, im.Bytes())
	}
	return "rows"
}
