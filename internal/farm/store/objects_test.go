package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"enhance/internal/farm"
)

// openObjects opens a store in a server in this process.
func openObjects(t *testing.T) *Objects {
	s, err := server.NewServer(&server.Options{JetStream: true, StoreDir: t.TempDir(), DontListen: true, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not start")
	}
	nc, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err == nil {
		err = MakeObjects(t.Context(), js)
	}
	if err != nil {
		t.Fatal(err)
	}
	o, err := OpenObjects(t.Context(), js, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestObjects(t *testing.T) {
	o := openObjects(t)
	contract(t, o, func(output string) string {
		n, err := o.Named(context.Background(), output)
		if err != nil || n == nil {
			t.Fatal(n, err)
		}
		r, err := o.Receipt(context.Background(), n.Key)
		if err != nil || r == nil {
			t.Fatal(r, err)
		}
		path, done, err := o.Fetch(context.Background(), r)
		if err != nil {
			t.Fatal(err)
		}
		defer done()
		data, _ := os.ReadFile(path)
		return string(data)
	})
	outputs := map[string]bool{}
	if damaged, err := o.Outputs(t.Context(), func(output string, _ *farm.Named) bool { outputs[output] = true; return true }); damaged != 0 || err != nil || len(outputs) != 2 || !outputs["q/twin.png"] {
		t.Errorf("outputs %v, %d damaged, %v", outputs, damaged, err)
	}
}

// TestGetObject: what is not there, and bytes that are not those of the name.
func TestGetObject(t *testing.T) {
	o := openObjects(t)
	path := filepath.Join(t.TempDir(), "x")
	if err := GetObject(t.Context(), o.results, farm.Hash("none"), path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such object: %v", err)
	}
	wrong := farm.Hash("something else")
	if _, err := o.results.PutString(t.Context(), wrong, "contents"); err != nil {
		t.Fatal(err)
	}
	if err := GetObject(t.Context(), o.results, wrong, path); err == nil {
		t.Error("an object with other bytes than its name says is taken")
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("and left there")
	}
}

// FuzzParseNamed: records of names come from the network.
func FuzzParseNamed(f *testing.F) {
	f.Add([]byte(`{"output":"a.png","named":{"version":1}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if output, n, err := parseNamed(data); err == nil && (farm.CheckName(output) != nil || n == nil) {
			t.Errorf("%q: %q, %+v", data, output, n)
		}
	})
}
