package pipeline_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"enhance/internal/atomicfile"
	"enhance/pipeline"
)

// TestKeepsPhoto: no output replaces what it is made from, even where replacing is
// allowed.
func TestKeepsPhoto(t *testing.T) {
	before, err := os.ReadFile("../testdata/raw/colorchart.dng")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "photo.dng")
	if err := os.WriteFile(path, before, 0o644); err != nil {
		t.Fatal(err)
	}
	job := func(out string) pipeline.Job {
		return pipeline.Job{Input: path, Output: pipeline.Output{Path: out, Format: pipeline.PNG, Overwrite: true}}
	}
	refused := func(t *testing.T, set pipeline.Settings, j pipeline.Job) {
		t.Helper()
		_, err := pipeline.Enhance(t.Context(), pipeline.Options{Settings: set, Job: j})
		if !errors.Is(err, atomicfile.ErrKept) || pipeline.Classify(err) != pipeline.ClassOption {
			t.Errorf("%v, want ErrKept, an error of options", err)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, before) {
			t.Errorf("the photo is not what it was (%v)", err)
		}
	}
	t.Run("picture", func(t *testing.T) {
		refused(t, pipeline.Settings{Device: pipeline.HostDevice}, job(path))
	})
	t.Run("drawing", func(t *testing.T) {
		needOpenCL(t)
		j := job(filepath.Join(t.TempDir(), "out.png"))
		j.PlanDrawing, j.DryRun = path, true
		refused(t, pipeline.Settings{}, j)
	})
}

// TestOutputsChecked: a dry run refuses what the run would refuse, and both a drawing
// of the picture's name; nothing is made.
func TestOutputsChecked(t *testing.T) {
	dir := t.TempDir()
	there := filepath.Join(dir, "there.png")
	if err := os.WriteFile(there, []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		out  pipeline.Output
		svg  string
		want pipeline.Class
	}{
		"exists":       {pipeline.Output{Path: there}, "", pipeline.ClassExists},
		"no directory": {pipeline.Output{Path: filepath.Join(dir, "none", "a.png")}, "", pipeline.ClassIO},
		"drawn over":   {pipeline.Output{Path: there, Overwrite: true}, filepath.Join(dir, ".", "x", "..", "there.png"), pipeline.ClassOption},
		"drawn first":  {pipeline.Output{Path: filepath.Join(dir, "new.png")}, filepath.Join(dir, "new.png"), pipeline.ClassOption},
	} {
		for _, dry := range []bool{true, false} {
			_, err := pipeline.Enhance(t.Context(), pipeline.Options{Settings: pipeline.Settings{Device: pipeline.HostDevice},
				Job: pipeline.Job{Input: "../testdata/raw/colorchart.dng", Output: c.out, PlanDrawing: c.svg, DryRun: dry}})
			if got := pipeline.Classify(err); got != c.want {
				t.Errorf("%s, dry %t: %v is of class %d, want %d", name, dry, err, got, c.want)
			}
		}
	}
	come := pipeline.Output{Path: filepath.Join(dir, "none", "a.png"), DirToCome: true}
	if _, err := pipeline.Enhance(t.Context(), pipeline.Options{Settings: pipeline.Settings{Device: pipeline.HostDevice},
		Job: pipeline.Job{Input: "../testdata/raw/colorchart.dng", Output: come, DryRun: true}}); err != nil {
		t.Errorf("a directory to come: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v is there (%v)", entries, err)
	}
	if text, err := os.ReadFile(there); err != nil || string(text) != "precious" {
		t.Errorf("%q (%v)", text, err)
	}
}
