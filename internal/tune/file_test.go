package tune

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"enhance/pipeline/facts"
)

func summed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return text + "sum\t" + hex.EncodeToString(sum[:]) + "\n"
}

func TestStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	s := In(dir, someDevice)
	if table, dropped := s.Load(); len(table.Choices) != 0 || dropped != "" {
		t.Errorf("without a file: %+v, %q", table, dropped)
	}
	release, err := s.Lock(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Save(someTable()); err != nil {
		t.Fatal(err)
	}
	release()
	if table, dropped := s.Load(); len(table.Choices) != 2 || dropped != "" {
		t.Errorf("after Save: %+v, %q", table, dropped)
	}
	other := someDevice
	other.Driver = "1.3"
	if o := In(dir, other); o.Path() == s.Path() {
		t.Error("another driver shares the file")
	} else if err := os.Rename(s.Path(), o.Path()); err != nil {
		t.Fatal(err)
	} else if table, dropped := o.Load(); len(table.Choices) != 0 || !strings.Contains(dropped, "not of P, a device, 12 GB, 1.3") {
		t.Errorf("another driver's file: %+v, %q", table, dropped)
	}
}

func TestDamagedFileIsDropped(t *testing.T) {
	s := In(t.TempDir(), someDevice)
	for name, data := range map[string][]byte{"Empty": nil, "Text": []byte("hello"), "Cut": someTable().Format()[:100], "Huge": make([]byte, maxFile+10)} {
		if err := os.WriteFile(s.Path(), data, 0o644); err != nil {
			t.Fatal(err)
		}
		if table, dropped := s.Load(); len(table.Choices) != 0 || !strings.Contains(dropped, s.Path()) {
			t.Errorf("%s: %+v, %q", name, table, dropped)
		}
	}
	if err := os.Remove(s.Path()); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(s.Path(), 0o755); err != nil {
		t.Fatal(err)
	}
	if table, dropped := s.Load(); len(table.Choices) != 0 || dropped == "" {
		t.Errorf("a directory: %+v, %q", table, dropped)
	}
}

func TestNoCacheFolder(t *testing.T) {
	if err := os.WriteFile(filepath.Join(t.TempDir(), "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, s := range []Store{{}, In("", someDevice), In("/proc/self/nowhere", someDevice)} {
		if table, dropped := s.Load(); len(table.Choices) != 0 || dropped != "" && s.Path() == "" {
			t.Errorf("%+v: %+v, %q", s, table, dropped)
		}
		if _, err := s.Lock(t.Context(), nil); !errors.Is(err, ErrNoCache) {
			t.Errorf("%+v: Lock: %v", s, err)
		}
	}
	if err := (Store{}).Save(someTable()); !errors.Is(err, ErrNoCache) {
		t.Errorf("Save: %v", err)
	}
}

// TestConcurrent: under the lock nobody loses what another found, and readers
// see whole files only.
func TestConcurrent(t *testing.T) {
	s := In(t.TempDir(), someDevice)
	stop := make(chan struct{})
	var readers, writers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				if _, dropped := s.Load(); dropped != "" {
					t.Error(dropped)
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for i := range 8 {
		writers.Go(func() {
			release, err := s.Lock(t.Context(), nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer release()
			table, dropped := s.Load()
			table.Choices[fmt.Sprint("key ", i)] = facts.Choice{Algo: "a", Default: "b"}
			if err := s.Save(table); err != nil || dropped != "" {
				t.Error(err, dropped)
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	if table, _ := s.Load(); len(table.Choices) != 8 {
		t.Errorf("%d of 8 findings are left", len(table.Choices))
	}
}

func TestLockWaitsAndGivesUp(t *testing.T) {
	s := In(t.TempDir(), someDevice)
	release, err := s.Lock(t.Context(), func() { t.Error("waited for nobody") })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*lockPoll)
	defer cancel()
	waited := false
	if _, err := s.Lock(ctx, func() { waited = true }); !errors.Is(err, context.DeadlineExceeded) || !waited {
		t.Errorf("a held lock: %v, waited %v", err, waited)
	}
	time.AfterFunc(lockPoll, release)
	again, err := s.Lock(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	again()
}
