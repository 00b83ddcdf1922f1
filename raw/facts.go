package raw

import (
	"fmt"
	"io"

	"enhance/raw/dng"
	"enhance/raw/opcode"
	"enhance/raw/tiff"
)

// Facts are what a file says about its photo, and what will be done about it.
type Facts struct {
	// Photo is nil if the photo is not read; Refused says why then.
	Photo   *PhotoFacts `json:"photo,omitempty"`
	Refused string      `json:"refused,omitempty"`
	// Images are all pictures in a TIFF-structured file, previews too.
	Images  []dng.Directory `json:"images,omitempty"`
	Opcodes []OpcodeFact    `json:"opcodes,omitempty"`
}

// OpcodeFact is an operation that a DNG file asks for.
type OpcodeFact struct {
	List     int    `json:"list"`
	Name     string `json:"name"`
	Version  string `json:"version"` // of DNG that introduced it
	Optional bool   `json:"optional"`
	Done     string `json:"done"` // where it is applied, or why not
}

// Inspect opens the named file for its facts alone. A photo that is not read is no
// error: an error means that the file itself cannot be opened.
func Inspect(path string, opt Options) (*Facts, error) {
	file, size, err := openFile(path, "name the photos in it")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return InspectReader(file, size, opt), nil
}

// InspectReader is Inspect for the photo in the first size bytes of r.
func InspectReader(r io.ReaderAt, size int64, opt Options) *Facts {
	opt.Linear = true
	f := &Facts{Images: directories(r, size)}
	p, err := open(r, size, opt)
	if err != nil {
		f.Refused = err.Error()
		return f
	}
	defer p.Close()
	f.Photo = photoFacts(p.Meta())
	f.Opcodes = p.opcodeFacts()
	return f
}

// directories lists a TIFF's images; of other files there are none.
func directories(r io.ReaderAt, size int64) []dng.Directory {
	head := make([]byte, min(4, size))
	if tiff.ReadFull(r, head, 0) != nil || !tiff.Sniff(head) {
		return nil
	}
	list, err := dng.Directories(r, size)
	if err != nil {
		return nil // Refused says what is damaged
	}
	return list
}

// opcodeFacts says of every operation what is done about it.
func (p *Photo) opcodeFacts() []OpcodeFact {
	var out []OpcodeFact
	for i, list := range p.opcodes {
		for _, op := range list {
			out = append(out, OpcodeFact{List: i + 1, Name: op.ID.String(), Optional: op.Optional,
				Version: fmt.Sprintf("%d.%d", op.Version[0], op.Version[1]), Done: p.doneAbout(op, i+1)})
		}
	}
	return out
}

func (p *Photo) doneAbout(op opcode.Operation, list int) string {
	switch _, trims := op.Params.(*opcode.TrimBounds); {
	case op.Problem != "":
		return "not applied: " + op.Problem
	case trims:
		return "the crop is cut"
	case list == 1:
		return "applied to the samples as stored"
	case list == 2 && !p.meta.Linear:
		return "applied to the mosaic"
	case list == 2 || p.inRows(op):
		return "applied to the rows as they are read"
	}
	return "applied to the developed picture"
}

// inRows reports whether an operation of list 3 is done before Lens.
func (p *Photo) inRows(op opcode.Operation) bool {
	n := len(p.opcodes[2]) - p.waiting
	for i := range n {
		if p.opcodes[2][i].Params == op.Params {
			return true
		}
	}
	return false
}
