package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"enhance/internal/devices"
	"enhance/internal/farm"
	"enhance/internal/farm/queue"
	"enhance/internal/farm/s3"
	"enhance/internal/farm/store"
	"enhance/internal/farm/work"
	"enhance/internal/printable"
	"enhance/internal/tempdir"
	"enhance/pipeline"
)

// asAdmin joins the farm that the flags name as who submits and looks, for as long as do
// runs. abandon is called if the process has to end before do does; nil: nothing is.
func (c *call) asAdmin(abandon func(), do func(ctx context.Context, q *queue.Queue) error) error {
	if abandon == nil {
		abandon = func() {}
	}
	ctx, stop := interruptible(c.env, abandon)
	defer stop()
	q, err := queue.Connect(ctx, c.farmOptionsOf(queue.Admin))
	if err != nil {
		return err
	}
	defer q.Close()
	return do(ctx, q)
}

func (c *call) farmOptionsOf(role queue.Role) queue.Options {
	return queue.Options{URL: c.nats, KeyFile: c.key, Creds: c.creds, CA: c.ca, Role: role, Name: c.cmd.name, Say: func(text string) { c.note("%s", text) }}
}

// policy is what the flags say of the farm.
func (c *call) policy() (farm.Policy, error) {
	p := farm.DefaultPolicy()
	switch {
	case c.farmOptions.lease < 2 || c.farmOptions.lease > 24*3600:
		return p, usagef("--lease: %d: want 2 to 86400 seconds", c.farmOptions.lease)
	case c.attempts < 1 || c.attempts > 100:
		return p, usagef("--attempts: %d: want 1 to 100", c.attempts)
	case c.queueBound < 1:
		return p, usagef("--queue-bound: %d: want at least 1", c.queueBound)
	}
	p.Lease, p.Attempts, p.Queue = seconds(c.farmOptions.lease), c.attempts, int64(c.queueBound)
	return p, nil
}

// openStore opens the store of results in a shared folder.
func openStore(dir string) (*store.Dir, error) {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		return nil, usagef("%s is a file: give a directory for the pictures", dir)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: give the directory for the pictures, which must be there: all machines of a farm share it", err)
	}
	return store.OpenDir(dir)
}

// workerOptions has what a worker needs besides its queue.
func (c *call) workerOptions(name, device string, q *queue.Client) (work.Options, error) {
	command := c.another(farmMake)
	if command == nil {
		return work.Options{}, errNoSelf
	}
	if device != "" {
		command = append(command, "--device="+device)
	}
	for _, f := range flagsOf(farmMake) {
		if (f.name == "mem" || f.name == "host-mem" || f.name == "jobs") && c.given[f.name] {
			command = append(command, "--"+f.name+"="+valueOf(f, &c.options))
		}
	}
	files, err := tempdir.New("farm")
	if err != nil {
		return work.Options{}, err
	}
	return work.Options{
		Name: name, Queue: q, Maker: newChildMaker(command), Files: files, Check: checkSetting,
		Tell: func(text string) { c.note("%s: %s", name, text) },
	}, nil
}

// workerDevices are the devices of a machine that workers compute on, one each.
func (c *call) workerDevices() ([]string, error) {
	all, err := devices.Split(c.device)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, d := range all {
		if seen[d] {
			return nil, usagef("--device: %s is named twice: a worker has a device for itself", d)
		}
		seen[d] = true
	}
	return all, nil
}

// newWorkerName is a name that no other worker has. It begins with that of the worker's key, if
// the farm has one.
func newWorkerName(key string) string {
	if key != "" {
		return fmt.Sprintf("%s-%d-%s", key, os.Getpid(), strings.ToLower(rand.Text()[:6]))
	}
	host, err := os.Hostname()
	if err != nil {
		host = "worker"
	}
	clean := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, host)
	return fmt.Sprintf("%s-%d-%s", clean, os.Getpid(), strings.ToLower(rand.Text()[:6]))
}

// settingsOf are the settings of an order: flags of the command line that decide how a
// picture looks. Files that they name are sent to the farm by their contents.
func (o *order) settingsOf() (settings []farm.Setting, files map[string]*farm.File, err error) {
	files = map[string]*farm.File{}
	for _, f := range flagsOf(o.cmd.name) {
		if !isSetting(f) || !o.given[f.name] {
			continue
		}
		s := farm.Setting{Name: f.name, Value: valueOf(f, &o.options)}
		if f.files && !f.isWord(s.Value) && isFile(s.Value) {
			if s.File, err = fileOf(s.Value); err != nil {
				return nil, nil, err
			}
		}
		if f.name == "model" && s.Value != pipeline.Classical {
			if err := o.checkNetwork(s.Value, s.File); err != nil {
				return nil, nil, err
			}
		}
		if s.File != nil {
			files[s.Value] = s.File
			if s.File.Beside != nil {
				files[s.Value+".json"] = s.File.Beside
			}
			s.Value = ""
		}
		settings = append(settings, s)
	}
	return settings, files, nil
}

// checkNetwork refuses a network that no worker could open. To an ONNX network's file it adds the
// description that makes it one for RAW photos (docs/onnx.md). f is nil if path names no file.
func (o *order) checkNetwork(path string, f *farm.File) (err error) {
	if f != nil && f.Extension == ".param" {
		return usagef("-m: a farm takes no ncnn network: import its weights, or use the main command with --shard")
	}
	_, n, err := pipeline.LoadModel(path, o.levelOrAny())
	if err != nil {
		return err
	}
	switch {
	case n == nil || f == nil: // no ONNX network
		return nil
	case n.Beside():
		return usagef("-m: %s has weights in other files, which do not travel through a farm: save the network as one file", path)
	case !isFile(path + ".json"):
		return usagef("-m: %s is a network for pictures: for a RAW network, describe its input in %s.json (docs/onnx.md)", path, path)
	}
	f.Beside, err = fileOf(path + ".json")
	return err
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// fileOf names a file by its contents.
func fileOf(path string) (*farm.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &pipeline.FileError{Path: path, Err: err}
	}
	defer f.Close()
	sum, n, err := store.SumOf(f)
	if err != nil {
		return nil, &pipeline.FileError{Path: path, Err: err}
	}
	ext := strings.ToLower(filepath.Ext(path))
	return &farm.File{SHA256: sum, Bytes: n, Extension: ext}, nil
}

// checkSetting refuses a setting that an order may not have: a worker opens no file that
// an order names by its path.
func checkSetting(s *farm.Setting) error {
	f := settingFlag(s.Name)
	switch {
	case f == nil:
		return fmt.Errorf("--%s is no setting of pictures that this version knows", printable.Text(s.Name))
	case s.File != nil && !f.files:
		return fmt.Errorf("--%s takes no file", s.Name)
	case s.File == nil && f.files && !f.isWord(s.Value) && (f.name != "model" || strings.ContainsAny(s.Value, `/\.`)): // a model without an extension is no file
		return fmt.Errorf("--%s: %s is a path, and a worker opens no path that an order names", s.Name, printable.Text(s.Value))
	}
	return nil
}

// exitOfFailure is the exit status of a failure that a worker or its process reports.
var exitOfFailure = map[farm.Class]int{
	"": exitDefect, farm.Option: exitUsage, farm.Input: exitInput, farm.IO: exitIO, farm.Device: exitDevice, farm.Memory: exitBudget, farm.Exists: exitExists, farm.Result: exitFailed,
}

// farmStatus is the exit status of errors that only farms have, exitOK for others.
func farmStatus(err error) int {
	var failure *farm.Failure
	switch {
	case errors.As(err, new(*queue.OptionError)), errors.As(err, new(*s3.OptionError)), errors.As(err, new(*queue.RefusedError)):
		return exitUsage
	case errors.As(err, new(*farm.FormatError)), errors.As(err, new(*store.DamagedError)), errors.As(err, new(*queue.UnknownOrderError)):
		return exitInput
	case errors.As(err, &failure):
		return exitOfFailure[failure.Class]
	case errors.As(err, new(*queue.Error)), errors.As(err, new(*queue.OccupiedError)), errors.As(err, new(*s3.Error)), errors.Is(err, store.ErrFull):
		if pipeline.Classify(err) == pipeline.ClassInterrupted {
			return exitInterrupted
		}
		return exitIO
	}
	return exitOK
}
