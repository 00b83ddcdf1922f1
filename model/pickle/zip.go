package pickle

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"strings"
)

// readZip reads the format of PyTorch 1.6 and later: an uncompressed zip file
// with NAME/data.pkl and the storages as NAME/data/KEY.
func readZip(r io.ReaderAt, size int64) (map[string]*Tensor, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, zipError(err)
	}
	files, root, err := index(z, size)
	if err != nil {
		return nil, err
	}
	if f := files[root+"byteorder"]; f != nil {
		order, err := content(f, int64(f.UncompressedSize64))
		if err != nil {
			return nil, err
		}
		if string(order) != "little" {
			return nil, formatError("byte order is %.20q: want little", order)
		}
	}
	f := files[root+"data.pkl"]
	if f.UncompressedSize64 > maxPickle {
		return nil, formatError("zip entry %q of %d bytes: want at most %d", f.Name, f.UncompressedSize64, maxPickle)
	}
	text, err := content(f, int64(f.UncompressedSize64))
	if err != nil {
		return nil, err
	}
	v, err := run(newInput(bytes.NewReader(text), int64(len(text))), &storages{byKey: make(map[string]*storage)})
	if err != nil {
		return nil, err
	}
	return collect(v, size, func(s *storage) ([]byte, error) {
		f := files[root+"data/"+s.key]
		if f == nil {
			return nil, formatError("storage %q is missing from the zip file", s.key)
		}
		if s.numel > size/s.dtype.size {
			return nil, formatError("storage %q of %d %s is larger than the file", s.key, s.numel, s.dtype.name)
		}
		return content(f, s.numel*s.dtype.size)
	})
}

// index lists the entries, refusing what PyTorch does not write and what could
// unpack to more than the file, and finds the folder that data.pkl is in.
func index(z *zip.Reader, size int64) (files map[string]*zip.File, root string, err error) {
	files = make(map[string]*zip.File, len(z.File))
	left := uint64(size)
	for _, f := range z.File {
		if files[f.Name] != nil {
			return nil, "", formatError("zip entry %q is there twice", f.Name)
		}
		if f.Method != zip.Store || f.UncompressedSize64 != f.CompressedSize64 {
			return nil, "", formatError("zip entry %q is compressed: PyTorch stores entries as they are", f.Name)
		}
		if f.UncompressedSize64 > left {
			return nil, "", formatError("zip entry %q of %d bytes: the entries together are larger than the file", f.Name, f.UncompressedSize64)
		}
		left -= f.UncompressedSize64
		files[f.Name] = f
		if folder, ok := strings.CutSuffix(f.Name, "data.pkl"); ok && strings.Count(folder, "/") == 1 && strings.HasSuffix(folder, "/") {
			if root != "" {
				return nil, "", formatError("zip file holds both %sdata.pkl and %s", root, f.Name)
			}
			root = folder
		}
	}
	if root == "" {
		return nil, "", formatError("zip file without NAME/data.pkl: not made by torch.save")
	}
	return files, root, nil
}

// content reads an entry that must have n bytes, and checks its checksum.
func content(f *zip.File, n int64) ([]byte, error) {
	if f.UncompressedSize64 != uint64(n) {
		return nil, formatError("zip entry %q has %d bytes, its use wants %d", f.Name, f.UncompressedSize64, n)
	}
	r, err := f.Open()
	if err != nil {
		return nil, zipError(err)
	}
	defer r.Close()
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, zipError(err)
	}
	// The checksum is compared when the end is read.
	switch extra, err := r.Read(make([]byte, 1)); {
	case extra > 0:
		return nil, formatError("zip entry %q is longer than it says", f.Name)
	case err != io.EOF:
		return nil, zipError(err)
	}
	return b, nil
}

// zipError tells a damaged zip file from an error of reading it.
func zipError(err error) error {
	if errors.Is(err, zip.ErrFormat) || errors.Is(err, zip.ErrChecksum) || errors.Is(err, zip.ErrAlgorithm) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return formatError("damaged zip file: %v", err)
	}
	return err
}
