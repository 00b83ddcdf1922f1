// Package model holds a network as data: its graph, its parameters and the
// rules by which a RAW mosaic becomes its input and its output a picture.
//
// Where to look:
//
//   - graph.go, validate.go, flow.go, shapes.go: the graph, the closed list of operations,
//     what makes a graph valid, and the size of every value for a given input;
//     attributes.go, attributescheck.go: the attributes of operations.
//   - build.go, pynet.go, pynets.go, pynetm.go: making graphs; the architectures.
//   - ensemble.go, keepnoise.go: models made of a model before it runs.
//   - params.go, formula.go: parameters and their checks; weights made from a formula.
//   - builtin.go: the models that come with the program.
//   - load.go, load_pynet.go, load_pynetm.go, convention.go, describe.go, save.go: from a name or a file to
//     a Model, and back; curve.go: how light is encoded for a network.
//   - cost.go, info.go: what a model costs in work, parameters and memory.
//   - hash.go: a name for a graph and its parameters.
//
// Package ref runs a Model on the host and is the definition of every operation;
// packages safetensors and pickle read weight files. Nothing here knows OpenCL.
package model
