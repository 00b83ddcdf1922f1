package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"enhance/internal/atomicfile"
	"enhance/internal/farm/queue"
)

var farmKeysCommand = &command{name: "farm keys", summary: "make keys for the users of a farm",
	usage: []string{"farm keys DIR [WORKER...]"}, run: runFarmKeys, files: true,
	about: `Makes DIR with admin.key for those who submit, worker.key for workers, both secret, and
users, their public halves, for farm serve --users. With names it makes a key for each of
these workers instead: workers with keys of their own hear nothing of each other, none can
take another's name, and one that is lost is taken out of users alone.`}

func runFarmKeys(c *call) error {
	if len(c.args) == 0 {
		return c.wants("a directory")
	}
	dir, workers := c.args[0], c.args[1:]
	seen := map[string]bool{"admin": true}
	for _, name := range workers {
		if seen[name] || !queue.IsWorkerName(name) {
			return usagef("farm keys: %q: want names of workers, each once, of letters, digits, - and _", name)
		}
		seen[name] = true
	}
	if err := atomicfile.MakeDir(dir, false); err != nil {
		return err
	}
	files, err := newKeys(dir, workers)
	if err != nil {
		return err
	}
	var made []string
	for _, f := range files {
		err := writeNew(f.path, f.text, f.mode)
		if err != nil { // no secret is left that nobody knows of
			for _, path := range made {
				err = errors.Join(err, os.Remove(path))
			}
			return err
		}
		made = append(made, f.path)
	}
	if len(workers) == 0 {
		workers = []string{"worker"}
	}
	_, err = fmt.Fprintf(c.text(), "%s has admin.key, %s.key and users\n", dir, strings.Join(workers, ".key, "))
	return err
}

// keyFile is a file that farm keys makes.
type keyFile struct {
	path, text string
	mode       os.FileMode
}

// newKeys makes a key for the admin and for each worker.
func newKeys(dir string, workers []string) (files []keyFile, err error) {
	users := "# role and public key of each user of the farm, and the name that its workers have\n"
	add := func(role queue.Role, file, name string) error {
		seed, public, err := queue.NewKey()
		files = append(files, keyFile{filepath.Join(dir, file+".key"), seed + "\n", 0o600})
		users += strings.TrimSpace(fmt.Sprintf("%s %s %s", role, public, name)) + "\n"
		return err
	}
	err = add(queue.Admin, "admin", "")
	if len(workers) == 0 {
		err = errors.Join(err, add(queue.Computing, "worker", "")) // of all workers, whatever they are called
	}
	for _, name := range workers {
		err = errors.Join(err, add(queue.Computing, name, name))
	}
	return append(files, keyFile{filepath.Join(dir, "users"), users, 0o644}), err
}

// writeNew makes a file that is not there yet; if it fails it leaves none.
func writeNew(path, text string, mode os.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already, and a key that is in use would be lost: choose another directory: %w", path, err)
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}
