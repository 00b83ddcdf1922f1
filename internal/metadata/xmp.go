package metadata

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
)

// MaxXMP is the largest packet that is taken: with more it is a store of something else.
const MaxXMP = 1 << 20

// maxDepth bounds how deep elements lie in one another. Programs write ten levels or so.
const maxDepth = 64

// Namespaces of XMP (XMP specification part 2 and Adobe's).
const (
	nsTIFF      = "http://ns.adobe.com/tiff/1.0/"
	nsExif      = "http://ns.adobe.com/exif/1.0/"
	nsXMP       = "http://ns.adobe.com/xap/1.0/"
	nsPhotoshop = "http://ns.adobe.com/photoshop/1.0/"
	nsCameraRaw = "http://ns.adobe.com/camera-raw-settings/1.0/"
	nsNote      = "http://ns.adobe.com/xmp/note/" // where a JPEG's extension lies
)

// ofSource are the properties that are about the source's pixels, not about the photo:
// how they are stored, and a small picture of them.
var ofSource = map[string][]string{
	nsTIFF: {"ImageWidth", "ImageLength", "BitsPerSample", "Compression", "PhotometricInterpretation", "Orientation", "SamplesPerPixel",
		"PlanarConfiguration", "YCbCrSubSampling", "YCbCrPositioning", "XResolution", "YResolution", "ResolutionUnit", "NativeDigest", "Software"},
	nsExif:      {"ColorSpace", "PixelXDimension", "PixelYDimension", "CompressedBitsPerPixel", "ComponentsConfiguration", "NativeDigest"},
	nsXMP:       {"Thumbnails", "CreatorTool"},
	nsPhotoshop: {"ColorMode", "ICCProfile"},
	nsNote:      {"HasExtendedXMP"},
}

// XMP returns a packet without the properties that are about the source's pixels. Of a
// finished picture it also leaves out the settings of Adobe's raw converters, which they
// would apply once more. The rest is unchanged, byte for byte. The error, of a packet that is too
// large or not well-formed XML, wraps ErrMalformed.
func XMP(packet []byte, finished bool) ([]byte, error) {
	packet = bytes.TrimRight(packet, "\x00")
	if len(packet) > MaxXMP {
		return nil, fmt.Errorf("%w XMP: %d bytes, at most %d are taken", ErrMalformed, len(packet), MaxXMP)
	}
	x := xmpFilter{in: packet, finished: finished, dec: xml.NewDecoder(bytes.NewReader(packet))}
	if err := x.run(); err != nil {
		return nil, fmt.Errorf("%w XMP: %w", ErrMalformed, err)
	}
	return append(x.out, packet[x.copied:]...), nil
}

// xmpFilter copies a packet but for what is left out.
type xmpFilter struct {
	in       []byte
	out      []byte
	copied   int // bytes of in that are in out or were left out
	finished bool
	dec      *xml.Decoder
	open     []xmpElement
	rdf      bool // an element of RDF was met
	skipped  int  // depth of the element that is left out with all in it; 0: none
}

// xmpElement is an element that is open.
type xmpElement struct {
	name   xml.Name          // as written
	spaces map[string]string // prefixes that it declares
}

const nsRDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

func (x *xmpFilter) run() error {
	for {
		start := int(x.dec.InputOffset())
		t, err := x.dec.RawToken()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		end := int(x.dec.InputOffset())
		switch t := t.(type) {
		case xml.StartElement:
			err = x.start(t, start, end)
		case xml.EndElement:
			err = x.end(t, end)
		case xml.Directive:
			err = errors.New("it has a document type")
		}
		if err != nil {
			return err
		}
	}
	switch {
	case len(x.open) > 0:
		return fmt.Errorf("element %s is not ended", x.open[len(x.open)-1].name.Local)
	case !x.rdf:
		return errors.New("it has no rdf:RDF element")
	}
	return nil
}

// start opens an element.
func (x *xmpFilter) start(t xml.StartElement, start, end int) error {
	if len(x.open) == maxDepth {
		return fmt.Errorf("elements lie more than %d deep", maxDepth)
	}
	e := xmpElement{name: t.Name}
	for i, a := range t.Attr {
		if slices.ContainsFunc(t.Attr[:i], func(b xml.Attr) bool { return a.Name == b.Name }) {
			return fmt.Errorf("element %s has attribute %s twice", t.Name.Local, a.Name.Local)
		}
		if a.Name.Space == "xmlns" {
			if e.spaces == nil {
				e.spaces = map[string]string{}
			}
			e.spaces[a.Name.Local] = a.Value
		}
	}
	x.open = append(x.open, e)
	if x.skipped > 0 {
		return nil
	}
	space, err := x.space(t.Name)
	if err != nil {
		return err
	}
	x.rdf = x.rdf || space == nsRDF && t.Name.Local == "RDF"
	if x.leftOut(space, t.Name.Local) {
		x.copyTo(start)
		x.skipped = len(x.open)
		return nil
	}
	return x.attributes(t, start, end)
}

// attributes copies a start tag, without the attributes that are left out.
func (x *xmpFilter) attributes(t xml.StartElement, start, end int) error {
	var kept []xml.Attr
	for _, a := range t.Attr {
		space, err := x.space(a.Name)
		if err != nil {
			return err
		}
		if a.Name.Space == "xmlns" || a.Name.Space == "" || !x.leftOut(space, a.Name.Local) {
			kept = append(kept, a)
		}
	}
	if len(kept) == len(t.Attr) {
		return nil
	}
	x.copyTo(start)
	x.out = append(append(x.out, '<'), written(t.Name)...)
	for _, a := range kept {
		x.out = append(append(append(x.out, ' '), written(a.Name)...), '=', '"')
		var value bytes.Buffer
		if err := xml.EscapeText(&value, []byte(a.Value)); err != nil {
			return err
		}
		x.out = append(append(x.out, value.Bytes()...), '"')
	}
	if x.in[end-2] == '/' {
		x.out = append(x.out, '/')
	}
	x.out = append(x.out, '>')
	x.copied = end
	return nil
}

func written(n xml.Name) string {
	if n.Space == "" {
		return n.Local
	}
	return n.Space + ":" + n.Local
}

// end closes an element.
func (x *xmpFilter) end(t xml.EndElement, end int) error {
	n := len(x.open)
	if n == 0 || x.open[n-1].name != t.Name {
		return fmt.Errorf("element %s ends where another is open", t.Name.Local)
	}
	if x.skipped == n {
		x.copied, x.skipped = end, 0
	}
	x.open = x.open[:n-1]
	return nil
}

// copyTo copies up to offset end.
func (x *xmpFilter) copyTo(end int) {
	x.out = append(x.out, x.in[x.copied:end]...)
	x.copied = end
}

// space is the namespace that a name's prefix stands for; "" without a prefix.
func (x *xmpFilter) space(n xml.Name) (string, error) {
	switch n.Space {
	case "", "xmlns", "xml":
		return "", nil
	}
	for i := len(x.open) - 1; i >= 0; i-- {
		if s, ok := x.open[i].spaces[n.Space]; ok {
			return s, nil
		}
	}
	return "", fmt.Errorf("prefix %s is not declared", n.Space)
}

func (x *xmpFilter) leftOut(space, name string) bool {
	return space == nsCameraRaw && x.finished || slices.Contains(ofSource[space], name)
}
