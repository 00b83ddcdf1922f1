package pipeline_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"enhance/atomicfile"
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
