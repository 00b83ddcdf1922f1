package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"enhance/model"
	"enhance/pipeline"
)

func init() {
	register(&command{name: "model", summary: "import weights, tell what a model costs, run it on a bare tensor", run: runModel})
}

const modelHelp = `enhance model import FILE.pth -o FILE.safetensors [--level N]
enhance model info MODEL [--size HxW] [--json]
enhance model run -m MODEL -i in.f32 --shape C,H,W -o out.f32
(enhance model import --help and so on say more)
`

// runModel chooses among the subcommands of model.
func runModel(e *env, args []string) int {
	if len(args) > 0 {
		switch args[0] {
		case "import":
			return modelImport(e, args[1:])
		case "info":
			return modelInfo(e, args[1:])
		case "run":
			return modelRun(e, args[1:])
		case "-h", "--help":
			fmt.Fprint(e.stdout, modelHelp)
			return exitOK
		}
		return e.fail(usagef("model %s: want import, info or run: see enhance model --help", args[0]), "")
	}
	return e.fail(usagef("model: want import, info or run: see enhance model --help"), "")
}

// begin parses a subcommand's arguments and answers --help; done tells whether
// that was all, with its status.
func (e *env) begin(n *netFlags, f *pflag.FlagSet, args []string, about string) (code int, done bool) {
	switch err := n.parse(f, args); err {
	case nil:
		return exitOK, false
	case errHelp:
		fmt.Fprint(e.stdout, about, "\nFlags:\n", f.FlagUsagesWrapped(90))
		return exitOK, true
	default:
		return e.fail(err, ""), true
	}
}

const importHelp = `enhance model import FILE -o FILE.safetensors [--level N]

Reads a PyTorch state dict (zip or legacy; float32, float16, bfloat16; names may
begin with "module.") without running it, checks every tensor against the network,
and writes the weights with the network's architecture and input convention.
`

// imported is what import --json prints.
type imported struct {
	Input      string            `json:"input"`
	Output     string            `json:"output"`
	Arch       string            `json:"arch"`
	Tensors    int               `json:"tensors"`
	Parameters int64             `json:"parameters"`
	Meta       map[string]string `json:"meta"`
}

func modelImport(e *env, args []string) int {
	n, out, overwrite := &netFlags{}, "", false
	f := newFlags("model import")
	f.StringVarP(&out, "output", "o", "", "`FILE` to make, .safetensors")
	f.BoolVarP(&overwrite, "overwrite", "y", false, "replace an output that exists")
	f.StringVar(&n.levelText, "level", "", "level `N` of a PyNET that was trained, 0 to 5; without it the lowest that the file holds")
	n.declareReport(f)
	if code, done := e.begin(n, f, args, importHelp); done {
		return code
	}
	switch {
	case f.NArg() != 1:
		return e.fail(usagef("model import: want one file, not %d", f.NArg()), "")
	case out == "":
		return e.fail(usagef("model import: give the output with -o FILE.safetensors"), "")
	}
	m, err := loadModel(f.Arg(0), n.level)
	if err != nil {
		return e.fail(err, "")
	}
	if err := saveModel(out, m, overwrite); err != nil {
		return e.fail(err, "")
	}
	r := imported{Input: f.Arg(0), Output: out, Arch: m.Arch, Tensors: len(m.Params), Meta: m.Meta}
	for _, t := range m.Params {
		r.Parameters += int64(len(t.Data))
	}
	if n.json {
		return e.putJSON(r)
	}
	fmt.Fprintf(e.stderr, "%s: %s%s, %d tensors, %d parameters\n", out, m.Arch, levelOf(m), r.Tensors, r.Parameters)
	return exitOK
}

func levelOf(m *model.Model) string {
	if l := m.Meta["level"]; l != "" {
		return " level " + l
	}
	return ""
}

const infoHelp = `enhance model info [MODEL] [--size HxW] [--json]

Prints a network's layers, parameters, work and activation memory for a photo whose
mosaic has H rows and W columns. MODEL is what -m takes.
`

func modelInfo(e *env, args []string) int {
	n, size, brief := &netFlags{}, "", false
	f := newFlags("model info")
	n.declareModel(f)
	f.StringVar(&size, "size", "2880x3968", "`HxW`, rows x columns of the mosaic")
	f.BoolVar(&brief, "brief", false, "leave the table of layers out")
	n.declareReport(f)
	if code, done := e.begin(n, f, args, infoHelp); done {
		return code
	}
	if f.NArg() > 1 || f.NArg() == 1 && n.set.Model != "" {
		return e.fail(usagef("model info: want one model"), "")
	}
	if f.NArg() == 1 {
		n.set.Model = f.Arg(0)
	}
	h, w, err := pipeline.ParseSize(size)
	if err != nil {
		return e.fail(err, "")
	}
	m, err := loadModel(n.set.Model, n.level)
	if err != nil {
		return e.fail(err, "")
	}
	info, err := m.Info(h, w)
	if err != nil {
		return e.fail(err, "")
	}
	if n.json {
		return e.putJSON(info)
	}
	if err := info.WriteText(e.stdout, !brief); err != nil {
		return e.fail(err, "")
	}
	return exitOK
}
