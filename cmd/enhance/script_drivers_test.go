package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// poclICD registers PoCL.
const poclICD = "/etc/OpenCL/vendors/pocl.icd"

// faultydriver FILE PLACE FAULT: an OpenCL driver that does that in its constructor (0),
// its first call (1) or when it compiles (2); see internal/drivers/testdata/faulty.c. A .icd
// file beside it names it.
func cmdFaultydriver(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: faultydriver FILE PLACE FAULT")
	}
	lib := ts.MkAbs(args[0])
	pocl, err := os.ReadFile(poclICD)
	check(ts, err)
	c := exec.Command("cc", "-shared", "-fPIC", "-o", lib, "-DPLACE="+args[1], "-DFAULT="+args[2],
		fmt.Sprintf("-DPOCL=%q", strings.TrimSpace(string(pocl))), "../../internal/drivers/testdata/faulty.c", "-ldl")
	if out, err := c.CombinedOutput(); err != nil {
		ts.Fatalf("%v\n%s", err, out)
	}
	check(ts, os.WriteFile(lib+".icd", []byte(lib+"\n"), 0o644))
}

// cutall DIR SUFFIX N: every file below with that suffix is cut to N bytes; there is one.
func cmdCutall(ts *testscript.TestScript, neg bool, args []string) {
	cut := 0
	check(ts, filepath.WalkDir(ts.MkAbs(args[0]), func(name string, e fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != args[1] {
			return err
		}
		cut++
		return os.Truncate(name, int64(atoi(ts, args[2])))
	}))
	if neg || cut == 0 {
		ts.Fatalf("%s holds no file *%s", args[0], args[1])
	}
}
