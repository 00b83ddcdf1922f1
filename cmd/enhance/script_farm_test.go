package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdFreeport sets a variable to a port that nobody listens on: freeport NAME.
func cmdFreeport(ts *testscript.TestScript, neg bool, args []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(ts, err)
	defer l.Close()
	ts.Setenv(args[0], fmt.Sprint(l.Addr().(*net.TCPAddr).Port))
}

// cmdWaitport waits until somebody listens: waitport PORT.
func cmdWaitport(ts *testscript.TestScript, neg bool, args []string) {
	for range 400 {
		if conn, err := net.Dial("tcp", "127.0.0.1:"+args[0]); err == nil {
			conn.Close()
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	ts.Fatalf("nobody listens on port %s", args[0])
}

// cmdGet makes the file answer of what a URL has: get URL.
func cmdGet(ts *testscript.TestScript, neg bool, args []string) {
	answer, err := http.Get(args[0])
	check(ts, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	check(ts, err)
	if answer.StatusCode != http.StatusOK {
		ts.Fatalf("%s: %s", answer.Status, text)
	}
	check(ts, os.WriteFile(ts.MkAbs("answer"), text, 0o666))
}

// cmdSetjson sets a variable to what standard output's JSON object has at a path: setjson
// PATH NAME.
func cmdSetjson(ts *testscript.TestScript, neg bool, args []string) {
	ts.Setenv(args[1], fmt.Sprint(jsonAt(ts, args[0])))
}
