package main

import (
	"errors"
	"io/fs"

	"enhance/atomicfile"
	"enhance/model"
	"enhance/pipeline"
)

// loadModel loads a model and names the file in errors of reading it.
func loadModel(spec string, level int) (*model.Model, error) {
	m, err := model.LoadLevel(spec, level)
	var at *fs.PathError
	if errors.As(err, &at) {
		return nil, &pipeline.FileError{Path: spec, Err: err}
	}
	return m, err
}

// saveModel writes a model to the safetensors file path, which appears whole or not at
// all.
func saveModel(path string, m *model.Model, overwrite bool) error {
	f, err := atomicfile.Create(path, atomicfile.Options{Overwrite: overwrite})
	if err != nil {
		return err
	}
	defer f.Abort()
	if err := model.Write(f, m); err != nil {
		return err
	}
	return f.Commit()
}
