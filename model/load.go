package model

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"strconv"
	"strings"

	"enhance/internal/regularfile"
	"enhance/internal/suggest"
	"enhance/model/pickle"
	"enhance/model/safetensors"
)

// AnyLevel asks for the level a source says it holds, or else its lowest.
const AnyLevel = -1

// maxRandomWidth bounds pynet-random, whose size no file bounds: 64 is 190 M parameters.
const maxRandomWidth = 64

// SpecError says why a model specification cannot be understood.
type SpecError struct{ Spec, Problem string }

func (e *SpecError) Error() string {
	return fmt.Sprintf("model %q: %s", e.Spec, e.Problem)
}

// WeightsError says why weights were refused: malformed, of an unknown network,
// or not fitting the network they claim to be.
type WeightsError struct {
	Source string
	Err    error
}

func (e *WeightsError) Error() string { return fmt.Sprintf("weights %s: %v", e.Source, e.Err) }
func (e *WeightsError) Unwrap() error { return e.Err }

// Load makes a model from a specification:
//
//   - the name of an embedded model, see Builtins; "" is Default;
//   - "pynet-random:SEED", with any of ",level=N" (0..5), ",norm1=false",
//     ",norm=false", ",width=W" (2..64) and ",end=shuffle" after it: PyNET with
//     weights from FormulaParams, for tests and benchmarks;
//   - "pynet-m-random:SEED", with ",size=tiny", ",size=fast" or ",size=best" after
//     it (tiny if left out), and ",planes=24" for masked planes: the same for pynet-m;
//   - the path of a .safetensors file;
//   - the path of a .pth or .pt file: a PyTorch state dict. It may hold the
//     outputs of other levels, and its names may begin with "module.".
//
// It returns a *SpecError, a *WeightsError, or the error of reading the file.
func Load(spec string) (*Model, error) { return LoadLevel(spec, AnyLevel) }

// LoadLevel is Load with the PyNET level whose output is wanted, or AnyLevel. A
// state dict holds all levels and does not record which one was trained.
func LoadLevel(spec string, level int) (*Model, error) {
	if level < AnyLevel || level > 5 {
		return nil, &SpecError{spec, fmt.Sprintf("level %d: want 0..5", level)}
	}
	if seed, ok := strings.CutPrefix(spec, "pynet-random:"); ok {
		return loadRandom(spec, seed, level)
	}
	if seed, ok := strings.CutPrefix(spec, "pynet-m-random:"); ok {
		return loadRandomM(spec, seed, level)
	}
	name := spec
	if name == "" {
		name = Default
	}
	if m, ok, err := loadBuiltin(name, level); ok {
		return m, err
	}
	switch strings.ToLower(filepath.Ext(spec)) {
	case ".safetensors":
		f, err := readFile(spec, safetensors.Read)
		return assembleFrom(spec, f, err, level)
	case ".pth", ".pt":
		tensors, err := readFile(spec, pickle.Read)
		f := &safetensors.File{Tensors: make(map[string]*safetensors.Tensor, len(tensors))}
		for name, t := range tensors {
			f.Tensors[name] = (*safetensors.Tensor)(t)
		}
		return assembleFrom(spec, f, err, level)
	}
	return nil, &SpecError{spec, "want " + BuiltinNames() + ", pynet-random:SEED, pynet-m-random:SEED, or a file ending in .safetensors, .pth, .pt, .onnx or .param" + suggest.Question(spec, builtinNames())}
}

// maxWeights bounds the file of a network's weights: pynet-random:1,width=64, the largest
// network, has 0.7 GiB of them. A file with holes may claim any size.
const maxWeights = 2 << 30

// readFile reads the named file with a format's reader.
func readFile[T any](path string, read func(io.ReaderAt, int64) (T, error)) (none T, err error) {
	f, size, err := regularfile.Open(path)
	if err != nil {
		return none, err
	}
	defer f.Close()
	if size > maxWeights {
		return none, &WeightsError{path, fmt.Errorf("%d bytes: no network has weights of more than %d", size, int64(maxWeights))}
	}
	return read(f, size)
}

// assembleFrom makes a model of what was read from source, or explains err.
func assembleFrom(source string, f *safetensors.File, err error, level int) (*Model, error) {
	var notSafetensors safetensors.FormatError
	var notStateDict pickle.FormatError
	if errors.As(err, &notSafetensors) || errors.As(err, &notStateDict) {
		return nil, &WeightsError{source, err}
	}
	if err != nil {
		return nil, err
	}
	tensors := make(map[string]*Tensor, len(f.Tensors))
	for name, t := range f.Tensors {
		tensors[name] = (*Tensor)(t)
	}
	m, err := assemble(tensors, f.Meta, level)
	if errors.Is(err, errLevel) { // the weights are not to blame
		return nil, &SpecError{strings.TrimSuffix(source, embedded), err.Error()}
	}
	if err != nil {
		return nil, &WeightsError{source, err}
	}
	return m, nil
}

// Assemble makes a model of tensors that source holds by the names of PyTorch's state dict. For
// errors see [LoadLevel].
func Assemble(source string, tensors map[string]*Tensor, level int) (*Model, error) {
	m, err := assemble(tensors, nil, level)
	if errors.Is(err, errLevel) {
		return nil, &SpecError{source, err.Error()}
	}
	if err != nil {
		return nil, &WeightsError{source, err}
	}
	return m, nil
}

// errLevel is of levels asked of networks that have none.
var errLevel = errors.New("has no levels to choose from")

func errNoLevels(arch string, level int) error {
	return fmt.Errorf("%s %w, and level %d is asked for: leave --level out", arch, errLevel, level)
}

// loadRandom reads the options after "pynet-random:".
func loadRandom(spec, text string, level int) (*Model, error) {
	fields := strings.Split(text, ",")
	seed := fields[0]
	if seed == "" {
		return nil, &SpecError{spec, "want a seed after pynet-random:"}
	}
	o := PyNETOptions{Level: AnyLevel, Width: 32, InstanceNorm: true, InstanceNormLevel1: true}
	for _, field := range fields[1:] {
		key, value, _ := strings.Cut(field, "=")
		var err error
		switch key {
		case "level":
			o.Level, err = strconv.Atoi(value)
		case "width":
			o.Width, err = strconv.Atoi(value)
		case "norm":
			o.InstanceNorm, err = strconv.ParseBool(value)
		case "norm1":
			o.InstanceNormLevel1, err = strconv.ParseBool(value)
		case "end":
			o.End, err = parsePyNETEnd(value)
		default:
			return nil, &SpecError{spec, fmt.Sprintf("unknown option %q: want level, width, norm, norm1 or end", key)}
		}
		if err != nil || key == "level" && o.Level < 0 {
			return nil, &SpecError{spec, fmt.Sprintf("%s cannot be %q", key, value)}
		}
	}
	if level != AnyLevel && o.Level != AnyLevel && level != o.Level {
		return nil, &SpecError{spec, fmt.Sprintf("level %d is asked for beside it", level)}
	}
	o.Level = max(o.Level, level, 0)
	if err := o.Validate(); err != nil {
		return nil, &SpecError{spec, err.Error()}
	}
	if o.Width < 2 || o.Width > maxRandomWidth {
		return nil, &SpecError{spec, fmt.Sprintf("width %d: want 2..%d", o.Width, maxRandomWidth)}
	}
	g := PyNET(o)
	meta := map[string]string{"source": spec}
	o.toMeta(meta)
	return &Model{Arch: "pynet", Graph: g, Params: FormulaParams(seed, g), Convention: pynetConvention(o.Level), Meta: meta}, nil
}

// assemble makes a checked model from tensors and what their file says of them.
func assemble(tensors map[string]*Tensor, meta map[string]string, level int) (*Model, error) {
	tensors = stripModule(tensors)
	m := &Model{Arch: meta["arch"], Params: tensors, Meta: make(map[string]string)}
	maps.Copy(m.Meta, meta)
	if m.Arch == "" {
		switch {
		case tensors["conv_l1_d1.conv_3a.conv2d.weight"] != nil:
			m.Arch = "pynet"
		case tensors["skip.weight"] != nil: // which a PyNET may have too
			m.Arch = "pynet-s"
		default:
			return nil, errors.New("neither metadata nor tensor names say that they are for one of the program's networks; networks of others run as they are, from ONNX and ncnn files: enhance apply")
		}
	}
	var err error
	switch m.Arch {
	case "pynet-s":
		err = m.assemblePyNETS(level)
	case "pynet":
		err = m.assemblePyNET(level, meta["arch"] == "")
	case "pynet-m":
		err = m.assemblePyNETM(level)
	default:
		err = fmt.Errorf("unknown architecture %q: want pynet, pynet-s or pynet-m", m.Arch)
	}
	if err == nil {
		err = m.takeCodes()
	}
	if err == nil {
		err = m.Convention.fromMeta(meta)
	}
	if text, ok := meta[metaNoiseLeft]; ok && err == nil {
		m.NoiseLeft, err = ParseNoiseLeft(text)
	}
	if have, want := m.inputs(), m.Convention.Planes(); err == nil && have != want {
		err = fmt.Errorf("the network takes %d planes, metadata %s and %s make it %d", have, metaSamples, metaNoise, want)
	}
	if err == nil {
		err = m.Validate()
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// stripModule removes the prefix that PyTorch's DataParallel puts before every name.
func stripModule(tensors map[string]*Tensor) map[string]*Tensor {
	out := make(map[string]*Tensor, len(tensors))
	for name, t := range tensors {
		rest, ok := strings.CutPrefix(name, "module.")
		if !ok {
			return tensors
		}
		out[rest] = t
	}
	return out
}

// inputs is the number of planes that the network takes, 0 without a graph.
func (m *Model) inputs() int {
	if m.Graph == nil {
		return 0
	}
	return m.Graph.Nodes[0].C
}

// outputs gives the first dimension of a tensor, 0 if there is none.
func (m *Model) outputs(name string) int {
	if t := m.Params[name]; t != nil && len(t.Shape) > 0 {
		return t.Shape[0]
	}
	return 0
}

func (m *Model) assemblePyNETS(level int) error {
	if level > 0 {
		return errNoLevels("pynet-s", level)
	}
	var widths [4]int
	for i := range widths {
		widths[i] = m.outputs(fmt.Sprintf("conv_l%d_d1.conv_3a.conv2d.weight", i+1))
	}
	if err := checkPyNETSWidths(widths); err != nil {
		return fmt.Errorf("from the shapes of the tensors: %w", err)
	}
	m.Graph = PyNETS(widths)
	m.Convention = pynetsConvention()
	return nil
}
