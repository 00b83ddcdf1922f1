package onnx

import (
	"bufio"
	"errors"
	"io"
	"path/filepath"

	"enhance/internal/regularfile"

	"google.golang.org/protobuf/encoding/protowire"
)

// maxFile is the largest file that is read. Protocol buffers end there; larger networks keep
// their weights in files beside it.
const maxFile = 1<<31 - 1

// File is the content of an ONNX file.
type File struct {
	IR       int64            // version of the format
	Opsets   map[string]int64 // version of the operations by domain; "" is ONNX's own
	Producer string
	Meta     map[string]string
	Graph    *Graph
	// Format is that of the files which the network was read from; "" is ONNX.
	Format string
	// Functions are the names of operations that the file defines itself.
	Functions []string

	size int64
	dir  string // of external data; "" allows none

	external int64 // bytes of external data that tensors have
	beside   bool  // some tensor has its data in another file
}

// Beside reports whether some of the file's tensors have their data in other files.
func (f *File) Beside() bool { return f.beside }

// Size is the file's size in bytes.
func (f *File) Size() int64 { return f.size }

// Open reads a file. It returns a [FormatError], or the error of reading the file.
func Open(path string) (*File, error) {
	r, size, err := regularfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if size > maxFile {
		return nil, formatError("%d bytes: a protocol buffer has %d at most; save the weights as external data", size, maxFile)
	}
	if err := outline(r, size); err != nil {
		return nil, err
	}
	b := make([]byte, size)
	if _, err = io.ReadFull(r, b); errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, formatError("the file became shorter while it was read")
	}
	if err != nil {
		return nil, err
	}
	return Parse(b, filepath.Dir(path))
}

// outline checks the fields of the outer message before all of a file is read, so that a large file of
// another kind takes no memory.
func outline(r io.ReaderAt, size int64) error {
	for at, graph := int64(0), false; ; {
		if at == size {
			if !graph {
				return formatError("the file holds no graph")
			}
			return nil
		}
		head := bufio.NewReaderSize(io.NewSectionReader(r, at, min(size-at, 32)), 32)
		b, err := head.Peek(int(min(size-at, 32)))
		if err != nil {
			return err
		}
		num, wire, n := protowire.ConsumeTag(b)
		if n < 0 || num > 100 {
			return formatError("not an ONNX file: byte %d does not begin a field", at)
		}
		at, b = at+int64(n), b[n:]
		length := uint64(0)
		switch wire {
		case protowire.VarintType:
			_, n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			length, n = protowire.ConsumeVarint(b)
			graph = graph || num == 7
		case protowire.Fixed32Type:
			n = 4
		case protowire.Fixed64Type:
			n = 8
		default:
			n = -1
		}
		if n < 0 {
			return formatError("not an ONNX file: field %d at byte %d is malformed", num, at)
		}
		if at += int64(n); at > size || length > uint64(size-at) {
			return formatError("field %d ends beyond the file, which has %d bytes: it is cut short, or not an ONNX file", num, size)
		}
		at += int64(length)
	}
}

// Parse reads a file's bytes, which its tensors keep. Folder is where external data may lie; "" allows none.
func Parse(b []byte, folder string) (*File, error) {
	f := &File{Opsets: map[string]int64{}, Meta: map[string]string{}, size: int64(len(b)), dir: folder}
	p := &parser{file: f}
	err := fields("model", b, func(d field) error {
		switch d.num {
		case 1:
			return d.integer("model", &f.IR)
		case 2:
			return d.text("model", &f.Producer)
		case 7:
			if f.Graph != nil {
				return formatError("the model has two graphs")
			}
			b, err := d.message("model")
			if err != nil {
				return err
			}
			f.Graph, err = p.graph(b)
			return err
		case 8:
			return p.opset(d)
		case 14:
			return p.meta(d)
		case 25:
			return p.function(d)
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case f.Graph == nil:
		return nil, formatError("the file holds no graph")
	case f.Opsets[""] == 0 && f.Opsets["ai.onnx"] == 0:
		return nil, formatError("the file does not say which version of ONNX's operations it uses")
	case f.Opsets[""] == 0:
		f.Opsets[""] = f.Opsets["ai.onnx"]
	}
	return f, nil
}

// parser counts what the lists of a file hold.
type parser struct {
	file  *File
	items int
}

// maxItems bounds nodes, attributes, tensors and names: each takes some hundred bytes of memory
// for as few as two of the file.
const maxItems = 1 << 20

func (p *parser) count(what string) error {
	if p.items++; p.items > maxItems {
		return formatError("%s: more than %d nodes, attributes, names and tensors", what, maxItems)
	}
	return nil
}

func (p *parser) opset(d field) error {
	b, err := d.message("opset")
	if err != nil {
		return err
	}
	var domain string
	var version int64
	err = fields("opset", b, func(d field) error {
		switch d.num {
		case 1:
			return d.text("opset", &domain)
		case 2:
			return d.integer("opset", &version)
		}
		return nil
	})
	if err != nil {
		return err
	}
	p.file.Opsets[domain] = version
	return p.count("opset")
}

func (p *parser) meta(d field) error {
	key, value, err := pair(d, "metadata")
	if err != nil {
		return err
	}
	p.file.Meta[key] = value
	return p.count("metadata")
}

// pair reads a key and a value.
func pair(d field, what string) (key, value string, err error) {
	b, err := d.message(what)
	if err != nil {
		return "", "", err
	}
	err = fields(what, b, func(d field) error {
		switch d.num {
		case 1:
			return d.text(what, &key)
		case 2:
			return d.text(what, &value)
		}
		return nil
	})
	return key, value, err
}

func (p *parser) function(d field) error {
	b, err := d.message("function")
	if err != nil {
		return err
	}
	var name string
	err = fields("function", b, func(d field) error {
		if d.num == 1 {
			return d.text("function", &name)
		}
		return nil
	})
	p.file.Functions = append(p.file.Functions, name)
	return errors.Join(err, p.count("function"))
}
