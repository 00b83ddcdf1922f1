package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestKilled: a worker that is killed before any change of the file system leaves a store
// in which no receipt lies, and another worker completes it.
func TestKilled(t *testing.T) {
	const env = "FARM_STORE_TEST_KILLED"
	if text := os.Getenv(env); text != "" { // the worker itself
		at, dir, _ := strings.Cut(text, ":")
		left, _ := strconv.Atoi(at)
		d := openDir(t, dir)
		step = func() {
			if left--; left < 0 {
				syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		}
		task, r := testTask(t, "a.dng", "s/a.png", "picture", "c")
		if _, err := publish(t, d, r, "picture"); err != nil {
			t.Fatal(err)
		}
		if err := d.Name(context.Background(), task, r, false); err != nil {
			t.Fatal(err)
		}
		return
	}
	for at := 0; ; at++ {
		dir := t.TempDir()
		c := exec.Command(os.Args[0], "-test.run", "^TestKilled$")
		c.Env = append(os.Environ(), env+"="+strconv.Itoa(at)+":"+dir)
		out, err := c.CombinedOutput()
		var exit *exec.ExitError
		killed := errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
		if err != nil && !killed {
			t.Fatalf("step %d: %v\n%s", at, err, out)
		}
		d := openDir(t, dir)
		task, r := testTask(t, "a.dng", "s/a.png", "picture", "c")
		whole := func(when string, must bool) {
			got, err := d.Receipt(context.Background(), r.Key)
			if err != nil || must && got == nil {
				t.Errorf("step %d, %s: receipt %v, %v", at, when, got, err)
			}
			if got != nil {
				path, _, err := d.Fetch(context.Background(), got)
				data, _ := os.ReadFile(path)
				if err != nil || string(data) != "picture" {
					t.Errorf("step %d, %s: a receipt stands for %q, %v", at, when, data, err)
				}
			}
			data, err := os.ReadFile(filepath.Join(dir, "s/a.png"))
			if err == nil && string(data) != "picture" || must && errors.Is(err, fs.ErrNotExist) {
				t.Errorf("step %d, %s: the output has %q, %v", at, when, data, err)
			}
		}
		whole("after the kill", false)
		if _, err := publish(t, d, r, "picture"); err != nil {
			t.Errorf("step %d: %v", at, err)
		}
		if err := d.Name(context.Background(), task, r, false); err != nil {
			t.Errorf("step %d: %v", at, err)
		}
		whole("after another worker", true)
		if !killed {
			if at < 8 {
				t.Errorf("the worker makes %d changes only: the hook is not called", at)
			}
			return
		}
	}
}
