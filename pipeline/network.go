package pipeline

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"enhance/model"
	"enhance/model/ncnn"
	"enhance/model/onnx"
	"enhance/model/onnximport"
)

// embeddedModel is the network that is used if none is named.
const embeddedModel = model.Default

// loadedModel is a session's network.
type loadedModel struct {
	model     *model.Model
	imported  *Imported // what it was made of, if that is an ONNX or ncnn file
	modelName string    // what it was asked for by
}

// load loads the model, unless it is there, for an output of that level; nil is the one that
// its name says. An ensemble of more than 1 is made of it.
func (m *loadedModel) load(level *int, ensemble int) (err error) {
	if m.model != nil {
		return nil
	}
	l := model.AnyLevel
	if level != nil {
		l = *level
	}
	spec := m.modelName
	if spec == Classical { // what has sizes and plans has those of the default
		spec = embeddedModel
	}
	if m.model, m.imported, err = LoadModel(spec, l); err != nil || ensemble <= 1 {
		return err
	}
	if m.modelName == Classical {
		return optionErrorf("ensemble", "%s runs no network: leave it out", Classical)
	}
	if m.model, err = m.model.Ensemble(ensemble); err != nil {
		return optionErrorf("ensemble", "model %s: %v", m.modelName, err)
	}
	return nil
}

// ensemble is the number of answers that a result is the mean of, 0 without an ensemble.
func (s *Settings) ensemble() int {
	if s.Ensemble <= 1 {
		return 0
	}
	return s.Ensemble
}

// planes is how many the network takes of a photo.
func (m *loadedModel) planes() int { return m.model.Convention.Planes() }

// lines is how many lines of numbers a row of a photo becomes first: samples and their noise.
func (m *loadedModel) lines() int {
	if m.model.Convention.NoisePlanes > 0 {
		return 2
	}
	return 1
}

// Model is the session's network.
func (s *Session) Model() *model.Model { return s.model }

// ModelName is what the session's network was asked for by.
func (s *Session) ModelName() string { return s.modelName }

// Imported is a network from an ONNX file, or an ncnn one. It makes a model for each size of its input, for
// what a node computes may depend on the size.
type Imported struct {
	path string
	file *onnx.File
	any  *onnximport.Network // at a size that the file says, or at one that works
	last *onnximport.Network // At's last result, and what it was asked for
	was  model.Shape
	// classifier is what the file beside it says of a picture's way into it; nil: nothing.
	classifier *classifier
}

// isONNX reports whether a model is asked for by the name of an ONNX file.
func isONNX(spec string) bool { return strings.EqualFold(filepath.Ext(spec), ".onnx") }

// isNCNN reports whether it is by that of an ncnn file.
func isNCNN(spec string) bool { return strings.EqualFold(filepath.Ext(spec), ".param") }

// LoadModel is model.LoadLevel for ONNX and ncnn files too, whose Imported is then not nil.
func LoadModel(spec string, level int) (*model.Model, *Imported, error) {
	if strings.EqualFold(filepath.Ext(spec), ".bin") {
		return nil, nil, &model.SpecError{Spec: spec, Problem: "an ncnn network is named by its .param file, beside which its .bin file is"}
	}
	if !isONNX(spec) && !isNCNN(spec) {
		m, err := model.LoadLevel(spec, level)
		if as := new(fs.PathError); errors.As(err, &as) {
			err = &FileError{Path: spec, Err: err}
		}
		return m, nil, err
	}
	if level != model.AnyLevel {
		return nil, nil, &model.SpecError{Spec: spec, Problem: "a file of another maker's network has no levels to choose from"}
	}
	n, err := openImported(spec)
	if err != nil {
		return nil, nil, err
	}
	return n.any.Model, n, n.describe()
}

// LoadWeights is LoadModel for the weights of our networks: of an ONNX file it takes the initializers,
// which PyTorch's export names as the state dict does, and not the graph.
func LoadWeights(spec string, level int) (*model.Model, error) {
	if !isONNX(spec) {
		m, _, err := LoadModel(spec, level)
		return m, err
	}
	n := &Imported{path: spec}
	f, err := onnx.Open(spec)
	if err != nil {
		return nil, n.explain(err)
	}
	tensors := map[string]*model.Tensor{}
	for name, t := range f.Graph.Initializers {
		if !t.Type.Real() {
			continue // indices and sizes
		}
		data, err := t.Floats()
		if err != nil {
			return nil, n.explain(err)
		}
		shape := make([]int, len(t.Dims))
		for i, d := range t.Dims {
			shape[i] = int(d)
		}
		tensors[name] = &model.Tensor{Shape: shape, Data: data}
	}
	return model.Assemble(spec, tensors, level)
}

// openImported reads a file and imports it at a first size.
func openImported(path string) (*Imported, error) {
	n := &Imported{path: path}
	var err error
	open := onnx.Open
	if isNCNN(path) {
		open = ncnn.Open
	}
	if n.file, err = open(path); err != nil {
		return nil, n.explain(err)
	}
	if n.any, err = onnximport.Import(n.file, onnximport.Options{}); err == nil {
		return n, nil
	}
	for _, side := range [...]int{256, 64, 224, 512, 32} { // the file does not say: multiples of what poolings need, and what classifiers take
		any, sized := onnximport.Import(n.file, onnximport.Options{H: side, W: side, Channels: 3})
		if sized == nil {
			n.any = any
			return n, nil
		}
		err = sized
	}
	return nil, n.explain(err)
}

// explain makes an error of the file one of weights.
func (n *Imported) explain(err error) error {
	if as := new(fs.PathError); errors.As(err, &as) {
		return &FileError{Path: n.path, Err: err}
	}
	return &model.WeightsError{Source: n.path, Err: err}
}

// Beside reports whether some of the network's weights lie in other files than its own.
func (n *Imported) Beside() bool { return n.file.Beside() }

// Network is the network at a size that works.
func (n *Imported) Network() *onnximport.Network { return n.any }

// At is the network for an input of so many rows and columns. Sizes in a file are often only those that it was
// exported at: another one is taken if no node depends on it, and otherwise refused by that node's name.
func (n *Imported) At(h, w int) (*onnximport.Network, error) {
	if n.last != nil && n.was.H == h && n.was.W == w {
		return n.last, nil
	}
	net, err := onnximport.Import(n.file, onnximport.Options{H: h, W: w, Channels: n.channels()})
	if err != nil {
		return nil, n.explain(err)
	}
	if fixed, fh, fw := n.fixed(); fixed && (fh != h || fw != w) && net.SizedBy != "" {
		if node := onnximport.Differ(n.any, net); node != "" {
			return nil, n.explain(fmt.Errorf("onnx: %s is right for the file's input of %d rows and %d columns only, not for %d and %d: export the network with dynamic sizes",
				node, fh, fw, h, w))
		}
	}
	n.last, n.was = net, model.Shape{H: h, W: w}
	return net, nil
}

// channels are those of an input whose file does not say them.
func (n *Imported) channels() int {
	if in := n.any.Inputs; len(in) == 1 {
		return in[0].C
	}
	return 0
}

// fixed reports the rows and columns that the file says, if it says any.
func (n *Imported) fixed() (fixed bool, h, w int) {
	p := n.any.Inputs[0]
	for _, v := range n.file.Graph.Inputs {
		if v.Name != p.Name {
			continue
		}
		for _, k := range [...]int{1, 2} {
			if a := p.Axes[k]; a >= 0 && a < len(v.Dims) && v.Dims[a] > 0 {
				fixed = true
			}
		}
	}
	side := func(k int) int {
		if p.Axes[k] < 0 {
			return 1
		}
		return int(p.Dims[p.Axes[k]])
	}
	return fixed, side(1), side(2)
}

// Inputs are the inputs of the session's network, which comes from an ONNX file, for so many rows and columns.
// Their channels follow each other in a [TensorJob]'s input.
func (s *Session) Inputs(h, w int) ([]onnximport.Port, error) {
	if s.imported == nil {
		return nil, &model.SpecError{Spec: s.modelName, Problem: "only networks of ONNX files have inputs with names"}
	}
	net, err := s.imported.At(h, w)
	if err != nil {
		return nil, err
	}
	return net.Inputs, nil
}

// ModelInfo is what a network costs for a mosaic of so many rows and columns, or for a picture if it is one for pictures. If
// these were not asked for, a network that does not run at them, such as a classifier, is described at its own.
func ModelInfo(spec string, level, rows, cols int, asked bool) (*model.Info, error) {
	m, n, err := LoadModel(spec, level)
	if err != nil {
		return nil, err
	}
	if n == nil || forRAW(m, spec) == nil {
		return m.Info(rows, cols)
	}
	h, w, net := rows, cols, (*onnximport.Network)(nil)
	f, err := n.fit(rows, cols)
	switch {
	case err == nil:
		h, w, net = f.H, f.W, f.Net
	case asked:
		at, exact := n.At(rows, cols) // a classifier, whose result is no picture
		if exact != nil {
			return nil, err
		}
		net = at
	default:
		net = n.any
		_, h, w = n.fixed()
		rows, cols = h, w
	}
	info, err := net.Model.Info(2*h, 2*w) // which halves them
	if err == nil {
		info.PhotoH, info.PhotoW = rows, cols
	}
	return info, err
}

// fitPicture makes the session's model that for a picture of so many rows and columns, and gives its padded sides, if the
// network is one for pictures.
func (s *Session) fitPicture(rows, cols int) (h, w int, ok bool, err error) {
	if err := s.hasNetwork(); err != nil {
		return 0, 0, false, err
	}
	if s.imported == nil || forRAW(s.model, s.modelName) == nil {
		return 0, 0, false, nil
	}
	f, err := s.imported.fit(rows, cols)
	if err == nil {
		s.model = f.Net.Model
		return f.H, f.W, true, nil
	}
	net, exact := s.imported.At(rows, cols) // a classifier, whose result is no picture
	if exact == nil {
		_, exact = net.Model.Graph.Shapes(rows, cols)
	}
	if exact != nil {
		return 0, 0, false, err
	}
	s.model = net.Model
	return rows, cols, true, nil
}

// forRAW refuses networks that do not say how a RAW photo becomes their input.
func forRAW(m *model.Model, name string) error {
	if m.Arch != onnximport.Arch || m.Meta[onnximport.MetaRAW] != "" {
		return nil
	}
	return &model.SpecError{Spec: name, Problem: "this ONNX file does not say how a RAW photo becomes its input: enhance apply runs it over pictures; " +
		"for a RAW network, describe its input in " + name + ".json (docs/onnx.md)"}
}
