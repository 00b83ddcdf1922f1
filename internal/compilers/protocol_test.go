package compilers

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"enhance/clrt"
)

func TestMessages(t *testing.T) {
	var b bytes.Buffer
	sent := []string{"", "x", strings.Repeat("long ", 1000), "\x00\xff"}
	for _, s := range sent {
		if err := writeMessage(&b, kindBinary, s[:len(s)/2], s[len(s)/2:]); err != nil {
			t.Fatal(err)
		}
	}
	all := bytes.Clone(b.Bytes())
	for _, want := range sent {
		k, got, err := readMessage(&b)
		if k != kindBinary || string(got) != want || err != nil {
			t.Fatalf("read %c %d bytes, %v, want %d bytes", k, len(got), err, len(want))
		}
	}
	if _, _, err := readMessage(&b); err != io.EOF {
		t.Errorf("at the end: %v, want EOF", err)
	}
	for _, n := range []int{1, 4, len(all) - 1} {
		r := bytes.NewReader(all[:n])
		var err error
		for err == nil {
			_, _, err = readMessage(r)
		}
		if err != io.ErrUnexpectedEOF {
			t.Errorf("cut at %d: %v, want an unexpected EOF", n, err)
		}
	}
	huge := binary.LittleEndian.AppendUint32([]byte{'B'}, maxPayload+1)
	if _, _, err := readMessage(bytes.NewReader(huge)); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("a huge message: %v", err)
	}
}

func TestPrograms(t *testing.T) {
	for _, c := range [][2]string{{"", ""}, {"-DX", "kernel"}, {"", "kernel"}, {"-DX", ""}} {
		var b bytes.Buffer
		if err := writeProgram(&b, c[0], c[1]); err != nil {
			t.Fatal(err)
		}
		k, payload, err := readMessage(&b)
		if k != kindProgram || err != nil {
			t.Fatal(k, err)
		}
		if o, s, err := parseProgram(payload); o != c[0] || s != c[1] || err != nil {
			t.Errorf("%q came as %q, %q, %v", c, o, s, err)
		}
	}
	for _, bad := range []string{"", "abc", "\x01\x00\x00\x00", "\xff\xff\xff\xffx"} {
		if _, _, err := parseProgram([]byte(bad)); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

// someHello is a first message.
func someHello(version int) []byte {
	text, _ := json.Marshal(hello{version, clrt.Identity{Index: 1, Name: "n"}})
	var b bytes.Buffer
	_ = writeMessage(&b, kindDevice, string(text))
	return b.Bytes()
}

// shout is a compiler that knows one error.
func shout(source, options string) ([]byte, error) {
	if source == "bad" {
		return nil, errors.New("bad source")
	}
	return []byte(strings.ToUpper(source) + options), nil
}

func TestServe(t *testing.T) {
	var in, out bytes.Buffer
	in.Write(someHello(protocolVersion))
	for _, s := range []string{"one", "bad", "two"} {
		if err := writeProgram(&in, "-x", s); err != nil {
			t.Fatal(err)
		}
	}
	err := serve(&in, &out, func(id clrt.Identity) (builder, error) {
		if id != (clrt.Identity{Index: 1, Name: "n"}) {
			t.Errorf("device %+v", id)
		}
		return shout, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"R", "BONE-x", "Fbad source", "BTWO-x"} {
		k, p, err := readMessage(&out)
		if got := string(k) + string(p); got != want || err != nil {
			t.Errorf("answer %q, %v, want %q", got, err, want)
		}
	}
	for name, in := range map[string][]byte{
		"Empty":        nil,
		"WrongVersion": someHello(protocolVersion + 1),
		"WrongKind":    {'P', 0, 0, 0, 0},
		"NoJSON":       {'D', 1, 0, 0, 0, '{'},
		"NoProgram":    append(someHello(protocolVersion), 'P', 0, 0, 0, 0),
		"SecondDevice": append(someHello(protocolVersion), someHello(protocolVersion)...),
		"CutProgram":   append(someHello(protocolVersion), 'P', 9, 0, 0, 0, 'x'),
	} {
		if err := serve(bytes.NewReader(in), io.Discard, func(clrt.Identity) (builder, error) { return shout, nil }); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	out.Reset()
	err = serve(bytes.NewReader(someHello(protocolVersion)), &out, func(clrt.Identity) (builder, error) { return nil, errors.New("no such device") })
	if k, p, _ := readMessage(&out); err != nil || k != kindFailed || string(p) != "no such device" {
		t.Errorf("without a device: %v, answer %c %q", err, k, p)
	}
}

// FuzzServe wants that whatever comes is answered at most once a message, by whole
// messages.
func FuzzServe(f *testing.F) {
	f.Add([]byte{})
	f.Add(someHello(protocolVersion))
	f.Add(append(someHello(protocolVersion), "P\x07\x00\x00\x00\x01\x00\x00\x00-ab"...))
	f.Add(append(someHello(protocolVersion), "P\xff\xff\xff\xff"...))
	f.Fuzz(func(t *testing.T, in []byte) {
		var out bytes.Buffer
		_ = serve(bytes.NewReader(in), &out, func(clrt.Identity) (builder, error) { return shout, nil })
		answers := 0
		for out.Len() > 0 {
			k, _, err := readMessage(&out)
			if err != nil || k != kindReady && k != kindBinary && k != kindFailed {
				t.Fatalf("answer %d: kind %q, %v", answers, k, err)
			}
			answers++
		}
		if answers > len(in)/5 {
			t.Fatalf("%d answers to %d bytes", answers, len(in))
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
