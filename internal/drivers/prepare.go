package drivers

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"enhance/clrt"
	"enhance/internal/atomicfile"
)

// Options of [Prepare].
type Options struct {
	// Command is the executable's path and then its arguments, the name that it is
	// called by first, with which it calls [Serve].
	Command []string
	// Patience is how long a driver may take to load, compile and run; 0 for a minute, since a
	// busy machine with an empty cache takes tens of seconds.
	Patience time.Duration
	// Retry tries drivers again that an earlier process passed over.
	Retry bool
	// Spills says that tensors may have to wait with the host, so that copies run beside the kernels all the time: their
	// queues keep the channels that NVIDIA's driver gives them.
	Spills bool
	// First, if set, is called before drivers are tried that no process has tried yet, in the environment that
	// they are to see.
	First func()
	// Say, if set, is told what the user should know: one line each.
	Say func(text string)
	// Debug, if set, is told what was done.
	Debug func(text string)
}

// Prepare sees to it that loading OpenCL does no harm: drivers that fail in a child are
// passed over, by variables of this process that OpenCL's loader reads, and PoCL gets a
// folder that it can keep kernels in. Call it before OpenCL is loaded, see
// [clrt.BeforeLoading]. It returns the drivers that are passed over. The error, a
// *clrt.NoOpenCLError, says that no driver is left.
func Prepare(o Options) ([]Failure, error) {
	if o.Patience == 0 {
		o.Patience = time.Minute
	}
	for _, f := range []*func(string){&o.Say, &o.Debug} {
		if *f == nil {
			*f = func(string) {}
		}
	}
	if !o.Spills {
		fewConnections()
	}
	all := installed()
	var failed []Failure
	usable := all[:0:0]
	var cacheErr error
	for _, d := range all {
		if !d.pocl() {
			usable = append(usable, d)
			continue
		}
		if cacheErr == nil {
			cacheErr = preparePoCL(o.Say)
		}
		switch {
		case cacheErr == nil || d.Library == "": // which need not be PoCL
			usable = append(usable, d)
		default:
			failed = append(failed, Failure{d, "has no folder to keep kernels in: " + cacheErr.Error()})
		}
	}
	folders, id := verdictFolders(), key(usable)
	v := loadVerdict(folders, id, time.Now())
	if v == nil || o.Retry && len(v.Failed) > 0 {
		if v == nil && o.First != nil {
			o.First()
		}
		start := time.Now()
		var err error
		if v, err = probeAll(usable, o); err != nil {
			o.Debug(err.Error())
			return nil, nil // it is as it was without a trial
		}
		o.Debug(fmt.Sprintf("OpenCL drivers tried in %.2f s", time.Since(start).Seconds()))
		v.save(folders, id)
	}
	failed = append(failed, v.Failed...)
	if len(failed) == 0 {
		return nil, nil
	}
	for _, f := range failed {
		o.Say(f.String() + "; it is passed over: repair or remove it")
	}
	return failed, pass(all, failed, folders, id)
}

// connectionsEnv is how many channels NVIDIA's driver gives the queues of a context. With its own choice, 8, it
// takes twice as long to open a context and to end it as with one.
const connectionsEnv = "CUDA_DEVICE_MAX_CONNECTIONS"

// fewConnections has contexts of NVIDIA's driver open soon, unless the user has chosen.
func fewConnections() {
	if _, chosen := os.LookupEnv(connectionsEnv); !chosen {
		_ = os.Setenv(connectionsEnv, "1") // a wish: nothing depends on it
	}
}

// probeAll tries each driver by itself, at the same time, and then all good ones together.
func probeAll(all []Driver, o Options) (*verdict, error) {
	v := &verdict{Version: verdictVersion, Made: time.Now().UTC()}
	if len(all) == 0 {
		return v, nil
	}
	scratch, err := os.MkdirTemp("", "enhance-drivers-")
	if err != nil {
		return nil, fmt.Errorf("%w: %v", errNoChild, err)
	}
	defer os.RemoveAll(scratch)
	results, errs := make([]result, len(all)), make([]error, len(all))
	var wg sync.WaitGroup
	for i, d := range all {
		wg.Go(func() {
			env := os.Environ()
			if d.Library != "" {
				dir := filepath.Join(scratch, fmt.Sprint(i))
				if errs[i] = register(dir, []Driver{d}); errs[i] != nil {
					return
				}
				env = narrow(env, dir)
			}
			results[i], errs[i] = probe(o.Command, env, o.Patience)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	var good []int
	for i, r := range results {
		for _, d := range r.devices {
			o.Debug(strings.TrimSuffix(fmt.Sprintf("driver %s: %s: %s", all[i], d.Name, d.Problem), ": "))
		}
		if r.problem == "" {
			good = append(good, i)
			continue
		}
		v.Failed = append(v.Failed, Failure{all[i], r.problem})
		v.chance = v.chance || r.chance
	}
	return v, v.together(all, good, results, scratch, o)
}

// together tries the drivers that are good by themselves in one process. If they fail
// there, the one with the best device stays.
func (v *verdict) together(all []Driver, good []int, results []result, scratch string, o Options) error {
	if len(good) < 2 {
		return nil
	}
	dir := filepath.Join(scratch, "together")
	var some []Driver
	best := good[0]
	for _, i := range good {
		some = append(some, all[i])
		if rank(results[i].best()) > rank(results[best].best()) {
			best = i
		}
	}
	if err := register(dir, some); err != nil {
		return err
	}
	r, err := probe(o.Command, narrow(os.Environ(), dir), o.Patience)
	if err != nil || r.problem == "" {
		return err
	}
	v.chance = v.chance || r.chance
	for _, i := range good {
		if i != best {
			v.Failed = append(v.Failed, Failure{all[i], fmt.Sprintf("cannot be used beside %s: together they make a process that %s", all[best], r.problem)})
		}
	}
	return nil
}

func rank(t clrt.DeviceType) int {
	return map[clrt.DeviceType]int{clrt.GPU: 3, clrt.Accelerator: 2, clrt.CPU: 1}[t]
}

// vendorsSuffix ends the names of folders of .icd files.
const vendorsSuffix = ".vendors"

// pass has this process, and those that it starts, see only the drivers that did not fail.
func pass(all []Driver, failed []Failure, folders []string, id string) error {
	var left []Driver
	for _, d := range all {
		bad := false
		for _, f := range failed {
			bad = bad || f.Driver == d
		}
		if !bad {
			left = append(left, d)
		}
	}
	if len(left) == 0 {
		return &clrt.NoOpenCLError{Reason: failed[0].String()}
	}
	if len(folders) == 0 { // they are for a list now
		own, err := ownTemporary()
		if err != nil {
			return &clrt.NoOpenCLError{Reason: fmt.Sprintf("%s, and there is no folder to list the other drivers in: %v", failed[0], err)}
		}
		folders = []string{own}
	}
	var dir string
	var err error
	for _, folder := range folders {
		dir = filepath.Join(folder, id+vendorsSuffix)
		if err = register(dir, left); err == nil {
			break
		}
	}
	if err != nil {
		return &clrt.NoOpenCLError{Reason: fmt.Sprintf("%s, and the other drivers cannot be listed: %v", failed[0], err)}
	}
	_ = os.Unsetenv(icdFilenames)
	_ = os.Unsetenv(vendorPath)
	return os.Setenv(icdVendors, dir)
}

// register makes a folder of .icd files.
func register(dir string, all []Driver) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for i, d := range all {
		name, text := filepath.Join(dir, fmt.Sprintf("%d.icd", i)), d.Library+"\n"
		if old, err := os.ReadFile(name); err == nil && string(old) == text {
			continue
		}
		if err := writeFile(name, []byte(text)); err != nil {
			return err
		}
	}
	stale, err := filepath.Glob(filepath.Join(dir, "*.icd"))
	for _, name := range stale {
		var n int
		if _, serr := fmt.Sscanf(filepath.Base(name), "%d.icd", &n); serr != nil || n >= len(all) {
			err = errors.Join(err, os.Remove(name))
		}
	}
	return err
}

// narrow is an environment in which the loader sees the drivers of a folder only.
func narrow(env []string, dir string) []string {
	var kept []string
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		if name != icdFilenames && name != icdVendors && name != vendorPath {
			kept = append(kept, v)
		}
	}
	return append(kept, icdVendors+"="+dir)
}

// writeFile writes a file that other processes see whole or not at all.
func writeFile(path string, text []byte) error {
	f, err := atomicfile.Create(path, atomicfile.Options{Overwrite: true})
	if err != nil {
		return err
	}
	defer f.Abort()
	if _, err := f.Write(text); err != nil {
		return err
	}
	return f.Commit()
}
