package main

import (
	"fmt"
	"os"
	"path/filepath"

	"enhance/internal/atomicfile"
	"enhance/internal/farm/queue"
)

var farmKeysCommand = &command{name: "farm keys", summary: "make keys for the users of a farm", usage: []string{"farm keys DIR"}, run: runFarmKeys, files: true,
	about: `Makes DIR with three files: admin.key for those who submit, worker.key for workers, both
secret, and users, their public halves, for farm serve --users.`}

func runFarmKeys(c *call) error {
	if len(c.args) != 1 {
		return usagef("farm keys: want one directory")
	}
	dir := c.args[0]
	if err := atomicfile.MakeDir(dir, false); err != nil {
		return err
	}
	users := "# role and public key of each user of the farm\n"
	for _, role := range []queue.Role{queue.Admin, queue.Computing} {
		seed, public, err := queue.NewKey()
		if err != nil {
			return err
		}
		if err := writeNew(filepath.Join(dir, string(role)+".key"), seed+"\n", 0o600); err != nil {
			return err
		}
		users += fmt.Sprintf("%s %s\n", role, public)
	}
	if err := writeNew(filepath.Join(dir, "users"), users, 0o644); err != nil {
		return err
	}
	_, err := fmt.Fprintf(c.text(), "%s has admin.key, worker.key and users\n", dir)
	return err
}

// writeNew makes a file that is not there yet.
func writeNew(path, text string, mode os.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if _, err = f.WriteString(text); err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}
