package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"enhance/clrt"
	"enhance/internal/compilers"
	"enhance/pipeline"
)

// On a machine where no process has tried the drivers yet, nothing is compiled either. While they are
// tried, and then the photo is read, another process of this program runs the network on a patch, which fills the
// caches with its kernels. It needs no trial: if a driver ends it, this process compiles them itself.

// warmUpArgument alone makes a process of this program one that runs a network on a patch for another.
const warmUpArgument = "__warm-up"

// warmUpSettings are what it is told, as JSON: those that decide which kernels there are.
type warmUpSettings struct {
	Model, Device, Algo, Precision string
	Level                          *int
	Ensemble, Cores                int
	NoTune                         bool
	Compilers                      int // processes that it may compile in besides itself
}

// warmUpFirst has the network run by another process, if this is the drivers' first use.
func (o *order) warmUpFirst() {
	s := &o.set
	command := o.another(warmUpArgument)
	plain := !s.Memory.Decided() && !s.HostMemory.Decided() && s.Profile == "" && !o.dryRun && s.Precision != pipeline.AutoPrecision
	if command == nil || !plain || o.compilers == nil || s.Model == pipeline.Classical || clrt.CacheDir("programs") == "" {
		return
	}
	ended := make(chan struct{})
	started := false
	o.firstUse = func() {
		most := min(runtime.GOMAXPROCS(0), runtime.NumCPU()) - 1
		if n := o.mostCompilers; n >= 0 {
			most = min(most, n)
		}
		if most < 1 {
			return
		}
		each := (most - 1) / 2
		w := warmUpSettings{s.Model, s.Device, s.Algo, s.Precision.String(), s.Level, s.Ensemble, s.Cores, s.NoTune, each}
		if started = startWarmUp(command, &w, ended); started {
			o.compilers.ShareCPU(each)
			if s.Debug != nil {
				s.Debug("another process runs the network on a patch")
			}
		}
	}
	s.AwaitKernels = func(ctx context.Context) {
		if !started {
			return
		}
		select {
		case <-ended:
		case <-ctx.Done():
		}
	}
}

// warmUpPatience is how long the process may take: a driver that hangs is found by the trial.
const warmUpPatience = 2 * time.Minute

// startWarmUp starts the process. It ends with this one, as its input does.
func startWarmUp(command []string, w *warmUpSettings, ended chan<- struct{}) bool {
	cmd := &exec.Cmd{Path: command[0], Args: command[1:]}
	in, err := cmd.StdinPipe()
	if err != nil || cmd.Start() != nil {
		return false
	}
	go func() {
		defer close(ended)
		defer time.AfterFunc(warmUpPatience, func() { _ = cmd.Process.Kill() }).Stop()
		if json.NewEncoder(in).Encode(w) != nil {
			_ = cmd.Process.Kill()
		}
		_ = cmd.Wait()
	}()
	return true
}

// warmUp is what the process does. It prints nothing: whatever goes wrong, the other process meets and tells.
func warmUp() int {
	signal.Ignore(os.Interrupt, syscall.SIGHUP) // meant for the other process, which decides
	var w warmUpSettings
	if err := json.NewDecoder(os.Stdin).Decode(&w); err != nil {
		return exitUsage
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(exitInterrupted)
	}()
	set := pipeline.Settings{Model: w.Model, Device: w.Device, Level: w.Level, Ensemble: w.Ensemble}
	set.Algo, set.NoTune, set.Cores = w.Algo, w.NoTune, w.Cores
	if set.Precision.UnmarshalText([]byte(w.Precision)) != nil || limitCores(w.Cores) != nil {
		return exitUsage
	}
	set.Compiler = compilers.New(compilers.Options{Command: ownCommand(compileArgument), Most: w.Compilers})
	s, err := pipeline.NewSession(set)
	if err == nil {
		err = s.WarmUp(context.Background())
	}
	if err != nil {
		return exitOf[pipeline.Classify(err)]
	}
	set.Compiler.Rest(true)
	return exitOK
}
