// Command dist builds enhance for other systems and packs it: an archive for each with the
// licence, the README and the scripts of contrib/, and SHA256SUMS of all. The same commit and
// toolchain give the same bytes.
//
//	dist [-o out/dist] [-version V] [SYSTEM/PROCESSOR...]
package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// targets are the systems that are built for if none is named.
var targets = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64"}

// beside are the files and folders that go with the program.
var beside = []string{"LICENSE", "NOTICE", "README.md", "CHANGELOG.md", "MODEL_CARD.md", "contrib"}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

func run() error {
	out := flag.String("o", "out/dist", "`folder` for the archives")
	version := flag.String("version", "", "`version` in their names; by default what git describe says")
	flag.Parse()
	when, err := commitTime()
	if err != nil {
		return err
	}
	if *version == "" {
		text, err := exec.Command("git", "describe", "--tags", "--always", "--dirty").Output()
		if err != nil {
			return fmt.Errorf("git describe: %w: name a -version", err)
		}
		*version = strings.TrimSpace(string(text))
	}
	all := flag.Args()
	if len(all) == 0 {
		all = targets
	}
	if err := os.MkdirAll(*out, 0o755); err != nil {
		return err
	}
	var sums strings.Builder
	for _, target := range all {
		name, archive, err := pack(target, *version, when)
		if err != nil {
			return fmt.Errorf("%s: %w", target, err)
		}
		if err := os.WriteFile(filepath.Join(*out, name), archive, 0o644); err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(archive), name)
		fmt.Printf("%s: %d bytes\n", filepath.Join(*out, name), len(archive))
	}
	return os.WriteFile(filepath.Join(*out, "SHA256SUMS"), []byte(sums.String()), 0o644)
}

// commitTime is what files in archives are dated: SOURCE_DATE_EPOCH, or the commit's time.
func commitTime() (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		out, err := exec.Command("git", "log", "-1", "--format=%ct").Output()
		if err != nil {
			return time.Time{}, fmt.Errorf("git log: %w: set SOURCE_DATE_EPOCH", err)
		}
		text = strings.TrimSpace(string(out))
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	return time.Unix(seconds, 0).UTC(), err
}

// file is an entry of an archive.
type file struct {
	name string
	data []byte
	mode fs.FileMode
}

// pack builds for a target. It returns the archive and its name.
func pack(target, version string, when time.Time) (name string, archive []byte, err error) {
	system, processor, ok := strings.Cut(target, "/")
	if !ok {
		return "", nil, fmt.Errorf("want SYSTEM/PROCESSOR, such as %s", targets[0])
	}
	stem := fmt.Sprintf("enhance-%s-%s-%s", version, system, processor)
	program, err := build(system, processor)
	if err != nil {
		return "", nil, err
	}
	files, err := companions()
	if err != nil {
		return "", nil, err
	}
	ending := ""
	if system == "windows" {
		ending = ".exe"
	}
	files = append(files, file{"enhance" + ending, program, 0o755})
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	var b bytes.Buffer
	name = stem + ".tar.gz"
	if system == "windows" {
		name, err = stem+".zip", writeZip(&b, stem, files, when)
	} else {
		err = writeTar(&b, stem, files, when)
	}
	return name, b.Bytes(), err
}

// build compiles the program.
func build(system, processor string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "enhance-dist")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "enhance")
	c := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w -buildid=", "-o", out, "./cmd/enhance")
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+processor, "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0")
	c.Stderr = os.Stderr
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("go build: %w", err)
	}
	return os.ReadFile(out)
}

// companions are the files beside the program.
func companions() (files []file, err error) {
	for _, root := range beside {
		err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			mode := fs.FileMode(0o644)
			if bytes.HasPrefix(data, []byte("#!")) {
				mode = 0o755
			}
			files = append(files, file{filepath.ToSlash(name), data, mode})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

func writeTar(w io.Writer, folder string, files []file, when time.Time) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for _, f := range files {
		h := &tar.Header{Name: path.Join(folder, f.name), Mode: int64(f.mode), Size: int64(len(f.data)), ModTime: when, Format: tar.FormatUSTAR}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(f.data); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return z.Close()
}

func writeZip(w io.Writer, folder string, files []file, when time.Time) error {
	z := zip.NewWriter(w)
	for _, f := range files {
		h := &zip.FileHeader{Name: path.Join(folder, f.name), Method: zip.Deflate, Modified: when}
		h.SetMode(f.mode)
		to, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := to.Write(f.data); err != nil {
			return err
		}
	}
	return z.Close()
}
