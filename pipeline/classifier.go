package pipeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"enhance/internal/regularfile"
)

// classifier is the section "classify" of the file beside a network, NET.onnx.json: how a picture becomes its input, and
// the names of its classes. The command line's choices go before it.
type classifier struct {
	Resize int       `json:"resize"` // the short side after resizing
	Crop   int       `json:"crop"`   // the side of the network's input, where its file does not say it
	Input  string    `json:"input"`  // one of SampleNames
	Mean   []float64 `json:"mean"`   // by channel, in the order and the range that Input says
	Std    []float64 `json:"std"`
	Labels string    `json:"labels"` // a file in the same folder, a name on each line

	view View
}

// isClassifier reports whether the file beside a network is of a classifier.
func isClassifier(text []byte) bool {
	var sections map[string]json.RawMessage
	return json.Unmarshal(text, &sections) == nil && sections["classify"] != nil
}

// parseClassifier reads the file beside a network.
func parseClassifier(text []byte) (*classifier, error) {
	var file struct {
		Classify *classifier `json:"classify"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		return nil, fmt.Errorf("%w: want {\"classify\": {...}} with resize, crop, input, mean, std and labels", err)
	}
	if d.More() {
		return nil, fmt.Errorf("something follows the description")
	}
	c := file.Classify
	const most = 1 << 16
	for name, n := range map[string]int{"resize": c.Resize, "crop": c.Crop} {
		if n < 0 || n > most {
			return nil, fmt.Errorf("%s is %d: want 1 to %d", name, n, most)
		}
	}
	if len(c.Mean) != len(c.Std) || len(c.Mean) != 0 && len(c.Mean) != 1 && len(c.Mean) != 3 {
		return nil, fmt.Errorf("mean has %d numbers and std %d: want one for each channel of both", len(c.Mean), len(c.Std))
	}
	for i, s := range c.Std {
		if !(s > 0) || math.IsInf(s, 0) || math.Abs(c.Mean[i]) > math.MaxFloat32 {
			return nil, fmt.Errorf("std is %g: want numbers above 0", c.Std)
		}
	}
	if c.Labels != "" && !filepath.IsLocal(filepath.FromSlash(c.Labels)) {
		return nil, fmt.Errorf("labels %q lead out of the network's folder", c.Labels)
	}
	input := c.Input
	if input == "" {
		input = SampleNames[0]
	}
	samples, err := parseSamples(input)
	if err != nil {
		return nil, fmt.Errorf("input %q: want one of %v", c.Input, SampleNames)
	}
	c.view = View{Samples: samples, Short: c.Resize, Mean: c.Mean, Std: c.Std}
	return c, nil
}

// described lets what the file beside the network says stand where the job does not.
func (s *Session) described(j *ClassifyJob) (side int, err error) {
	c := s.imported.classifier
	if c == nil {
		return classifierSide, nil
	}
	if j.View == nil {
		view := c.view
		if j.Short > 0 {
			view.Short = j.Short
		}
		j.View = &view
	}
	if j.Labels == nil && c.Labels != "" {
		if j.Labels, err = ReadLabels(filepath.Join(filepath.Dir(s.imported.path), filepath.FromSlash(c.Labels))); err != nil {
			return 0, err
		}
	}
	if c.Crop > 0 {
		return c.Crop, nil
	}
	return classifierSide, nil
}

// maxLabels is far above what names of classes take.
const maxLabels = 1 << 22

// ReadLabels reads a name for each class, one a line.
func ReadLabels(path string) ([]string, error) {
	text, err := regularfile.Read(path, maxLabels)
	if err != nil {
		return nil, &FileError{Path: path, Err: err}
	}
	var labels []string
	for line := range strings.Lines(string(text)) {
		labels = append(labels, strings.TrimRight(line, "\r\n"))
	}
	return labels, nil
}
