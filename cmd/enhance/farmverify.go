package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"enhance/internal/farm"
	"enhance/internal/farm/store"
	"enhance/internal/farm/work"
	"enhance/internal/printable"
	"enhance/internal/tempdir"
	"enhance/pipeline/compare"
	"enhance/pipeline/facts"
)

var farmVerifyCommand = &command{name: "farm verify", summary: "compute a sample of results again and compare",
	usage: []string{"farm verify OUT --photos DIR [--sample N] [-g DEVICE] [-m FILE]",
		"farm verify s3://BUCKET/PREFIX --photos s3://BUCKET/PREFIX"}, run: runFarmVerify, files: true,
	about: `Takes results of a store at random, makes them again on this machine, and compares: on a
device of the class that made a result the bytes must be the same; on another the PSNR is
printed. The stored bytes are held against their receipts first. The exit status is 1 if
bytes differ that must not, or if no result could be made again.

A store keeps no weights. Give -m FILE, --dcp FILE or --defects FILE with the file that a
submission was given: it is recognized by its contents. Results of other files are passed
over and counted.`}

// verified is the comparison of one result.
type verified struct {
	Photo  string          `json:"photo"`
	Key    farm.Key        `json:"key"`
	Class  string          `json:"class"`
	Same   bool            `json:"same_bytes"`
	Equal  bool            `json:"same_class"`
	CPSNR  *facts.Decibels `json:"cpsnr,omitempty"`
	Wrong  string          `json:"wrong,omitempty"` // what must not be
	Passed string          `json:"passed_over,omitempty"`
	again  bool            // it was made again
}

func runFarmVerify(c *call) error {
	switch {
	case len(c.args) != 1 || c.photosRoot == "":
		return c.wants("the directory or s3:// URL of results, and --photos")
	case c.check < 0:
		return usagef("farm verify: --sample: %d: want at least 1, or 0 for all", c.check)
	}
	devices, err := c.workerDevices()
	if err != nil {
		return err
	}
	if len(devices) > 1 {
		return usagef("farm verify computes on one device: choose it with -g")
	}
	o, err := c.workerOptions("verify", devices[0], nil)
	if err != nil {
		return err
	}
	defer tempdir.Remove(o.Files)
	defer o.Maker.Close()
	ctx, stop := interruptible(c.env, func() { tempdir.Remove(o.Files) })
	defer stop()
	files, err := c.filesGiven()
	if err != nil {
		return err
	}
	d, err := c.openToRead(ctx, c.args[0], o.Files)
	if err != nil {
		return err
	}
	defer d.close()
	photos, err := c.openPhotos(ctx, o.Files)
	if err != nil {
		return err
	}
	sample, damaged, err := sampleReceipts(ctx, d, c.check)
	if err != nil {
		return err
	}
	v := &verifier{call: c, store: d, photos: photos, options: o, files: files}
	return v.verifyAll(ctx, sample, damaged)
}

// verifyAll verifies a sample and prints what became of each. damaged receipts count as wrong.
func (v *verifier) verifyAll(ctx context.Context, sample []*farm.Receipt, damaged int) error {
	all := []verified{}
	wrong, passed, again := damaged, 0, 0
	for _, r := range sample {
		one := v.verify(ctx, r)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if one.Wrong != "" {
			wrong++
		}
		if one.Passed != "" {
			passed++
		}
		if one.again {
			again++
		}
		all = append(all, one)
		if !v.json {
			fmt.Fprintln(v.text(), one.line())
		}
	}
	if damaged > 0 {
		v.note("%d receipts are damaged", damaged)
	}
	err := v.report(all, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%d %s computed again, %d wrong, %d passed over\n", again, plural(again, "result"), wrong, passed)
		return err
	})
	if err == nil && again == 0 {
		v.note("no result was computed again, so that nothing is verified")
	}
	if err == nil && (wrong > 0 || again == 0) {
		err = ended(exitFailed)
	}
	return err
}

// sampleReceipts takes n receipts at random, all for 0, in the order of photos.
func sampleReceipts(ctx context.Context, s store.Store, n int) (sample []*farm.Receipt, damaged int, err error) {
	seen := 0
	damaged, err = s.Receipts(ctx, func(r *farm.Receipt) bool {
		seen++
		if n == 0 || len(sample) < n {
			sample = append(sample, r)
		} else if i := rand.IntN(seen); i < n {
			sample[i] = r
		}
		return true
	})
	slices.SortFunc(sample, func(a, b *farm.Receipt) int { return cmp.Compare(a.Source, b.Source) })
	return sample, damaged, err
}

// verifier computes results again.
type verifier struct {
	*call
	store   store.Store
	photos  work.Photos
	options work.Options
	files   map[string]string // paths by SHA-256
}

// filesGiven are the files of the command line that orders may name, by their SHA-256.
func (c *call) filesGiven() (map[string]string, error) {
	files := map[string]string{}
	for _, f := range flagsOf(c.cmd.name) {
		if !isSetting(f) || !c.given[f.name] {
			continue
		}
		path := valueOf(f, &c.options)
		if f.isWord(path) {
			return nil, usagef("farm verify: --%s %s is no file: the receipts say which of the program's own was taken", f.name, path)
		}
		file, err := fileOf(path)
		if err != nil {
			return nil, err
		}
		if files[file.SHA256], err = filepath.Abs(path); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// settingFile gives a file that an order names, and its description, the names that they have
// for a worker.
func (v *verifier) settingFile(f *farm.File) (string, error) {
	path := v.files[f.SHA256]
	if path == "" {
		return "", fmt.Errorf("its settings name a file %s with the SHA-256 %.12s, which was not given", f.Extension, f.SHA256)
	}
	name := work.FileName(v.options.Files, f)
	if f.Beside != nil {
		description, err := fileOf(path + ".json")
		switch {
		case err != nil:
			return "", err
		case description.SHA256 != f.Beside.SHA256:
			return "", fmt.Errorf("it was made with another description than %s.json", path)
		}
		if err := linkOnce(path+".json", name+".json"); err != nil {
			return "", err
		}
	}
	return name, linkOnce(path, name)
}

// linkOnce makes a symbolic link unless it is there.
func linkOnce(path, name string) error {
	if err := os.Symlink(path, name); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func (v *verifier) verify(ctx context.Context, r *farm.Receipt) verified {
	one := verified{Photo: r.Source, Key: r.Key, Class: r.Class}
	stored, done, err := v.store.Fetch(ctx, r)
	if err == nil {
		defer done()
		var f *farm.File
		if f, err = fileOf(stored); err == nil && f.SHA256 != r.Picture {
			err = errors.New("the stored bytes are not those of the receipt")
		}
	}
	if err != nil {
		one.Wrong = err.Error()
		return one
	}
	again := filepath.Join(v.options.Files, "again"+r.Extension)
	defer os.Remove(again)
	a, err := v.makeAgain(ctx, r, again)
	if err != nil {
		one.Passed = err.Error()
		return one
	}
	one.again = true
	one.Equal = a.Class == r.Class && a.Generation == r.Generation && a.Model == r.Model
	made, err := fileOf(again)
	switch {
	case err != nil:
		one.Passed = err.Error()
	case made.SHA256 == r.Picture:
		one.Same = true
	case one.Equal:
		one.Wrong = "its device class, kernels and network are those of this machine, and its bytes are not"
	default:
		if c, err := compare.Pictures(ctx, compare.Job{Before: stored, After: again}); err == nil {
			one.CPSNR = &c.CPSNR
		} else {
			one.Passed = err.Error()
		}
	}
	return one
}

// makeAgain makes the picture of a receipt from its photo, and says what it was made with.
func (v *verifier) makeAgain(ctx context.Context, r *farm.Receipt, picture string) (*work.Ability, error) {
	p, err := v.photos.Fetch(ctx, &farm.Task{Photo: r.Source})
	if errors.Is(err, fs.ErrNotExist) { // a submitter sent it
		p, err = v.photos.Fetch(ctx, &farm.Task{Photo: r.Source, Content: r.Photo})
	}
	if err != nil {
		return nil, err
	}
	defer p.Done()
	if p.SHA256 != r.Photo {
		return nil, errors.New("the photo is another than the one that the result was made of")
	}
	flags, err := work.Flags(&r.Order, checkSetting, v.settingFile)
	if err != nil {
		return nil, err
	}
	a, err := v.options.Maker.Open(ctx, flags)
	if err == nil {
		_, err = v.options.Maker.Make(ctx, &work.Request{Flags: flags, Root: p.Root, Photo: p.Name, Picture: picture})
	}
	return a, err
}

func (v *verified) line() string {
	text := "the same bytes"
	switch {
	case v.Wrong != "":
		text = "WRONG: " + v.Wrong
	case v.Passed != "":
		text = "passed over: " + v.Passed
	case !v.Same && v.CPSNR != nil:
		text = fmt.Sprintf("made by %s: PSNR %.1f dB", v.Class, float64(*v.CPSNR))
	}
	return printable.Line(v.Photo + ": " + text)
}
