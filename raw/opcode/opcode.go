// Package opcode reads the opcode lists of DNG files and applies them to rows
// of samples (Adobe DNG specification 1.7, chapter "Opcode List Processing").
//
// A file has up to three lists: list 1 is for the samples as stored, list 2 for
// the mosaic after linearization and mapping to 0..1, list 3 for the camera RGB
// after demosaicing. Parse reads a list; the file's length bounds all that it
// allocates. A Chain applies operations to rows that it asks for as it needs
// them: no image is held. Warps, which move pixels, are left to package
// raw/warp; Operation.Params tells them apart.
//
// Every number of a list is big-endian, whatever the byte order of the file.
package opcode

import (
	"fmt"

	"enhance/raw/rawerr"
)

// ID is the number of an operation.
type ID uint32

// The operations of DNG 1.7.
const (
	WarpRectilinearID  ID = 1
	WarpFisheyeID      ID = 2
	VignetteRadialID   ID = 3
	BadConstantID      ID = 4
	BadListID          ID = 5
	TrimBoundsID       ID = 6
	MapTableID         ID = 7
	MapPolynomialID    ID = 8
	GainMapID          ID = 9
	DeltaPerRowID      ID = 10
	DeltaPerColumnID   ID = 11
	ScalePerRowID      ID = 12
	ScalePerColumnID   ID = 13
	WarpRectilinear2ID ID = 14
)

var names = map[ID]string{
	WarpRectilinearID: "WarpRectilinear", WarpFisheyeID: "WarpFisheye", VignetteRadialID: "FixVignetteRadial",
	BadConstantID: "FixBadPixelsConstant", BadListID: "FixBadPixelsList", TrimBoundsID: "TrimBounds",
	MapTableID: "MapTable", MapPolynomialID: "MapPolynomial", GainMapID: "GainMap",
	DeltaPerRowID: "DeltaPerRow", DeltaPerColumnID: "DeltaPerColumn",
	ScalePerRowID: "ScalePerRow", ScalePerColumnID: "ScalePerColumn", WarpRectilinear2ID: "WarpRectilinear2",
}

// String is the name that the specification gives the operation.
func (id ID) String() string {
	if n, ok := names[id]; ok {
		return n
	}
	return fmt.Sprintf("opcode %d", uint32(id))
}

// Operation is one entry of a list.
type Operation struct {
	ID       ID
	Version  [4]byte // the DNG version that introduced it
	Optional bool    // a reader that does not know it may skip it
	Preview  bool    // it may be skipped for a preview

	// Params is one of the types of this package (*GainMap, *BadList, ...), nil
	// if Problem is not empty.
	Params any
	// Problem says why an optional operation cannot be applied: it is unknown, or
	// its parameters are damaged.
	Problem string
}

const (
	flagOptional = 1
	flagPreview  = 2
)

// maxOperations is far above what cameras write.
const maxOperations = 1 << 12

// Parse reads a list. where names it in errors, for example "OpcodeList2". An
// operation that is not optional and cannot be read is an error: of kind
// UnsupportedError if it is unknown, FormatError if it is damaged.
func Parse(b []byte, where string) ([]Operation, error) {
	p := &parser{b: b, where: where}
	n := p.uint32()
	if n > maxOperations {
		return nil, rawerr.Formatf(where, "claims %d operations, more than %d", n, maxOperations)
	}
	var list []Operation
	for i := range n {
		op := Operation{ID: ID(p.uint32())}
		copy(op.Version[:], p.bytes(4))
		flags := p.uint32()
		op.Optional, op.Preview = flags&flagOptional != 0, flags&flagPreview != 0
		body := p.bytes(int64(p.uint32()))
		if p.short {
			return nil, rawerr.Formatf(where, "operation %d of %d lies outside the list of %d bytes", i+1, n, len(b))
		}
		if err := op.read(body, where); err != nil {
			return nil, err
		}
		list = append(list, op)
	}
	if p.short {
		return nil, rawerr.Formatf(where, "%d bytes are too few for a list", len(b))
	}
	return list, nil
}

// read decodes the parameters.
func (op *Operation) read(body []byte, where string) error {
	read, ok := readers[op.ID]
	if !ok {
		if !op.Optional {
			return &rawerr.UnsupportedError{Feature: fmt.Sprintf("%v in %s, which the file says must not be skipped", op.ID, where)}
		}
		op.Problem = "it is unknown"
		return nil
	}
	p := &parser{b: body, where: where}
	params, problem := read(p)
	switch {
	case problem != "":
	case p.short:
		problem = fmt.Sprintf("its %d bytes are too few", len(body))
	case len(p.b) > 0:
		problem = fmt.Sprintf("%d bytes are left over after its parameters", len(p.b))
	default:
		op.Params = params
		return nil
	}
	if !op.Optional {
		return rawerr.Formatf(where, "%v: %s", op.ID, problem)
	}
	op.Problem = problem
	return nil
}

var readers = map[ID]func(p *parser) (params any, problem string){
	WarpRectilinearID:  func(p *parser) (any, string) { return readRectilinear(p, 4, false) },
	WarpRectilinear2ID: func(p *parser) (any, string) { return readRectilinear(p, 15, true) },
	WarpFisheyeID:      readFisheye,
	VignetteRadialID:   readVignette,
	BadConstantID:      readBadConstant,
	BadListID:          readBadList,
	TrimBoundsID:       readTrim,
	MapTableID:         readTable,
	MapPolynomialID:    readPolynomial,
	GainMapID:          readGainMap,
	DeltaPerRowID:      func(p *parser) (any, string) { return readPerLine(p, false, false) },
	DeltaPerColumnID:   func(p *parser) (any, string) { return readPerLine(p, true, false) },
	ScalePerRowID:      func(p *parser) (any, string) { return readPerLine(p, false, true) },
	ScalePerColumnID:   func(p *parser) (any, string) { return readPerLine(p, true, true) },
}
