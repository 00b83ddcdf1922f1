package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"enhance/internal/farm/s3test"
)

// s3Servers are the object stores of scripts that run.
var s3Servers sync.Map // of *s3test.Server, by URL

// cmdS3serve starts an object store in memory and has the script's environment name it:
// s3serve [careless].
func cmdS3serve(ts *testscript.TestScript, neg bool, args []string) {
	s := s3test.New()
	s.Careless = len(args) > 0
	ts.Defer(s.Close)
	s3Servers.Store(s.URL, s)
	for name, value := range map[string]string{"AWS_ENDPOINT_URL": s.URL, "AWS_REGION": s3test.Region, "AWS_ACCESS_KEY_ID": s3test.Access, "AWS_SECRET_ACCESS_KEY": s3test.Secret} {
		ts.Setenv(name, value)
	}
}

// cmdS3 changes the object store: s3 put KEY FILE, s3 get KEY FILE, s3 rm KEY-PART (every
// object whose name contains it).
func cmdS3(ts *testscript.TestScript, neg bool, args []string) {
	found, _ := s3Servers.Load(ts.Getenv("AWS_ENDPOINT_URL"))
	s := found.(*s3test.Server)
	switch args[0] {
	case "put":
		s.Put(args[1], []byte(ts.ReadFile(args[2])))
	case "get":
		data := s.Get(args[1])
		if data == nil {
			ts.Fatalf("there is no %s in %q", args[1], s.Keys())
		}
		check(ts, os.WriteFile(ts.MkAbs(args[2]), data, 0o666))
	case "rm":
		n := 0
		for _, k := range s.Keys() {
			if strings.Contains(k, args[1]) {
				s.Delete(k)
				n++
			}
		}
		if n == 0 {
			ts.Fatalf("no %s in %q", args[1], s.Keys())
		}
	}
}

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
