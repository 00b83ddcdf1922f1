package compilers

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"enhance/clrt"
)

// requests are what a parent writes.
func requests(all ...any) []byte {
	var b bytes.Buffer
	for _, r := range all {
		_ = json.NewEncoder(&b).Encode(r)
	}
	return b.Bytes()
}

// someHello is a first request.
func someHello(version int) hello {
	return hello{version, clrt.Identity{Index: 1, Name: "n"}}
}

// echo is a compiler that knows one error.
func echo(source, options string) ([]byte, error) {
	if source == "bad" {
		return nil, errors.New("bad source")
	}
	return []byte(source + options), nil
}

func TestServe(t *testing.T) {
	source := func(text string) program { return program{"-x", []byte(text)} }
	var out bytes.Buffer
	in := requests(someHello(protocolVersion), source("one"), source("bad"), source("\x00\xff"))
	err := serve(bytes.NewReader(in), &out, func(id clrt.Identity) (builder, error) {
		if id != (clrt.Identity{Index: 1, Name: "n"}) {
			t.Errorf("device %+v", id)
		}
		return echo, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	replies := json.NewDecoder(&out)
	for _, want := range []reply{{}, {Binary: []byte("one-x")}, {Error: "bad source"}, {Binary: []byte("\x00\xff-x")}} {
		var r reply
		if err := replies.Decode(&r); err != nil || string(r.Binary) != string(want.Binary) || r.Error != want.Error {
			t.Errorf("reply %+v, %v, want %+v", r, err, want)
		}
	}
	good := requests(someHello(protocolVersion))
	for name, in := range map[string][]byte{
		"Empty":        nil,
		"WrongVersion": requests(someHello(protocolVersion + 1)),
		"WrongKind":    requests(source("one")),
		"NoJSON":       []byte("D\x01"),
		"CutHello":     good[:len(good)-4],
		"NoProgram":    append(requests(someHello(protocolVersion)), "7"...),
		"SecondDevice": append(requests(someHello(protocolVersion)), good...),
		"CutProgram":   requests(someHello(protocolVersion), source("long"))[:len(good)+9],
	} {
		if err := serve(bytes.NewReader(in), io.Discard, func(clrt.Identity) (builder, error) { return echo, nil }); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	out.Reset()
	err = serve(bytes.NewReader(good), &out, func(clrt.Identity) (builder, error) { return nil, errors.New("no such device") })
	if got := out.String(); err != nil || got != `{"Error":"no such device"}`+"\n" {
		t.Errorf("without a device: %v, answer %q", err, got)
	}
}

// FuzzServe wants that whatever comes is answered at most once a value, by whole
// replies.
func FuzzServe(f *testing.F) {
	f.Add([]byte{})
	f.Add(requests(someHello(protocolVersion)))
	f.Add(requests(someHello(protocolVersion), program{"-a", []byte("b")}, program{"", []byte("bad")}))
	f.Add(append(requests(someHello(protocolVersion)), `{"Source":"####"}`...))
	f.Fuzz(func(t *testing.T, in []byte) {
		var out bytes.Buffer
		_ = serve(bytes.NewReader(in), &out, func(clrt.Identity) (builder, error) { return echo, nil })
		replies := json.NewDecoder(&out)
		for answers := 0; ; answers++ {
			var r reply
			if err := replies.Decode(&r); err == io.EOF {
				return
			} else if err != nil || answers > len(in)/2 {
				t.Fatalf("answer %d to %d bytes: %v", answers, len(in), err)
			}
		}
	})
}

func TestMost(t *testing.T) {
	const gib = 1 << 30
	cpu, gpu := clrt.DeviceInfo{Type: clrt.CPU, GlobalMem: 4 * gib}, clrt.DeviceInfo{Type: clrt.GPU, GlobalMem: 24 * gib}
	big, shared, checker := gpu, gpu, cpu
	big.GlobalMem, shared.Unified, shared.GlobalMem, checker.Platform = 140*gib, true, gib, "Oclgrind"
	for _, c := range []struct {
		name  string
		info  clrt.DeviceInfo
		cores int
		free  int64
		want  int
	}{
		{"OneCore", cpu, 1, -1, 0},
		{"TwoCores", cpu, 2, -1, 1},
		{"LittleHostMemory", cpu, 8, 4 * gib, 2},
		{"NoHostMemory", cpu, 8, 0, 0},
		{"DeviceMemory", gpu, 16, 64 * gib, 6},
		{"Many", big, 64, 512 * gib, maxProcesses},
		{"SharedMemory", shared, 4, 64 * gib, 3},
		{"Checker", checker, 8, 64 * gib, 0},
	} {
		if got := most(&c.info, c.cores, c.free); got != c.want {
			t.Errorf("%s: %d processes, want %d", c.name, got, c.want)
		}
	}
}
