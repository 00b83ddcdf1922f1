package main

import (
	"io"

	"enhance/internal/tensorfile"
	"enhance/pipeline"
)

var modelInfoCommand = &command{name: "model info", summary: "print the layers, parameters and work of a network",
	usage: []string{"model info [MODEL] [--size WxH] [--json]"}, run: runModelInfo, words: builtinModels, files: true,
	about: `Prints a network's layers, parameters, work and activation memory for a mosaic of W
columns and H rows, or a picture if the network is one for pictures. A classifier is
described at its own size unless --size is given. MODEL is what -m takes.`}

func runModelInfo(c *call) error {
	if len(c.args) > 1 || len(c.args) == 1 && c.model != "" {
		return c.wants("one model")
	}
	if len(c.args) == 1 {
		c.model = c.args[0]
	}
	w, h, err := tensorfile.ParseSize(c.size)
	if err != nil {
		return err
	}
	info, err := pipeline.ModelInfo(c.model, c.levelOrAny(), h, w, c.given["size"])
	if err != nil {
		return err
	}
	return c.report(info, func(w io.Writer) error { return info.WriteText(w, !c.brief) })
}
