package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"enhance/internal/boundtest"
)

func TestFrames(t *testing.T) {
	want := Request{Args: []string{"--wb=auto"}, Input: []byte("a\xff.dng"), Output: []byte("a.png"), Stream: true}
	text, err := frame(want, maxRequest)
	if err != nil {
		t.Fatal(err)
	}
	var got Request
	if err := readFrame(bytes.NewReader(text), maxRequest, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	if _, err := frame(Request{Args: []string{strings.Repeat("x", maxRequest)}}, maxRequest); err == nil {
		t.Error("a message that is too large was made")
	}
	for end := range len(text) {
		if err := readFrame(bytes.NewReader(text[:end]), maxRequest, &got); !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut after %d bytes: %v", end, err)
		}
	}
	for _, bad := range []string{"\xff\xff\xff\xff{}", "\x00\x00\x00\x04null", "\x00\x00\x00\x02[]", "\x00\x00\x00\x04{}{}", `{"unknown":1}`, "\x00\x00\x00\x00"} {
		if bad[0] == '{' {
			bad = "\x00\x00\x00" + string(rune(len(bad))) + bad
		}
		if err := readFrame(strings.NewReader(bad), maxRequest, &got); err == nil && bad[4:] != "null" {
			t.Errorf("%q was read", bad)
		}
	}
}

// FuzzRequest: whatever comes, a request is read whole or refused, and no more is held than came.
func FuzzRequest(f *testing.F) {
	text, err := frame(Request{Args: []string{"--wb=auto"}, Input: []byte("a"), Output: []byte("b")}, maxRequest)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(text[:9])
	f.Add([]byte("\x00\x03\xff\xff{"))
	f.Add([]byte("\x00\x00\x00\x04{}{}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var r Request
		in := bytes.NewReader(text)
		var err error
		boundtest.Run(t, len(text), 1<<16, 256, func() { err = readFrame(in, maxRequest, &r) })
		if err != nil {
			return
		}
		again, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var same Request
		if err := json.Unmarshal(again, &same); err != nil || !reflect.DeepEqual(r, same) {
			t.Errorf("%+v became %+v (%v)", r, same, err)
		}
	})
}
