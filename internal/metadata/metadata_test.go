package metadata

import (
	"bytes"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"enhance/raw/tiff"
)

// block is that of a photo as another program might make it.
func block(order tiff.Order) []byte {
	d := NoExif(order)
	d.First.Text(271, "Maker")
	d.First.Text(270, "\x00\x00 ")
	d.First.Shorts(tagOrientation, 6)
	d.First.Text(tagSoftware, "Firmware 1.0 of a camera")
	d.Exif.URationals(33434, 0.008)
	d.Exif.Raw(tagMakerNote, tiff.Undefined, 9, []byte("offsets!!"))
	d.Exif.Longs(tagPixelWidth, 6000)
	d.Exif.Longs(tagInterop, 8)
	d.Exif.Raw(tagExifVersion, tiff.Undefined, 4, []byte("0221"))
	d.GPS.Text(1, "N")
	return d.Encode()
}

func TestExif(t *testing.T) {
	for _, order := range []tiff.Order{binary.LittleEndian, binary.BigEndian} {
		photo, err := ParseExif(block(order))
		if err != nil {
			t.Fatal(err)
		}
		out := Exif(photo, Picture{Width: 30, Height: 20, SRGB: true, YCbCr: true, Software: "program 1"})
		d, err := ParseExif(out)
		if err != nil {
			t.Fatal(err)
		}
		want := map[*tiff.Dir]map[uint16]string{
			d.First: {271: "Maker\x00", tagOrientation: "\x00\x01", tagSoftware: "program 1\x00", tagYCbCrPosition: "\x00\x01", tagXResolution: "", tagYResolution: "", tagResolution: ""},
			d.Exif: {33434: "", tagExifVersion: "0232", tagComponents: "\x01\x02\x03\x00", tagFlashpix: "0100", tagColourSpace: "\x00\x01",
				tagPixelWidth: "\x00\x00\x00\x1e", tagPixelHeight: "\x00\x00\x00\x14"},
			d.GPS: {1: "N\x00"},
		}
		for dir, tags := range want {
			for _, v := range dir.Values() {
				data := v.Data
				if order == tiff.Order(binary.LittleEndian) && v.Type.Size() > 1 {
					data = reversed(data)
				}
				text, ok := tags[v.Tag]
				if !ok || text != "" && string(data) != text {
					t.Errorf("tag %d is %q", v.Tag, data)
				}
				delete(tags, v.Tag)
			}
			if len(tags) > 0 {
				t.Errorf("missing: %v", tags)
			}
		}
	}
}

func reversed(b []byte) []byte {
	out := make([]byte, len(b))
	for i, v := range b {
		out[len(b)-1-i] = v
	}
	return out
}

func TestExifOfNothing(t *testing.T) {
	photo, err := ParseExif(nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := ParseExif(Exif(photo, Picture{Software: "p"}))
	if err != nil || !d.First.Has(tagSoftware) || d.Exif.Has(tagPixelWidth) || d.GPS.Len() > 0 {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestExifMalformed(t *testing.T) {
	good := block(binary.LittleEndian)
	loop := bytes.Clone(good)
	n := int(binary.LittleEndian.Uint16(loop[8:]))
	binary.LittleEndian.PutUint32(loop[10+12*n:], 8) // the directory follows itself
	for name, b := range map[string][]byte{
		"another kind": []byte("JFIF and so on"),
		"cut short":    good[:len(good)/2],
		"a header":     good[:8],
		"a loop":       loop,
		"BigTIFF":      tiff.NewDir(binary.LittleEndian, true).EncodeFile(),
	} {
		if _, err := ParseExif(b); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

const packet = `<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/">
 <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
  <rdf:Description rdf:about="" xmlns:tiff="http://ns.adobe.com/tiff/1.0/" xmlns:c="http://ns.adobe.com/camera-raw-settings/1.0/"
    xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xmp="http://ns.adobe.com/xap/1.0/" tiff:Orientation="6" tiff:Make="A &amp; B &lt;C&gt;" c:Exposure2012="+1">
   <dc:title><rdf:Alt><rdf:li xml:lang="x-default">Chart &amp; more</rdf:li></rdf:Alt></dc:title>
   <tiff:ImageWidth>4000</tiff:ImageWidth>
   <xmp:Thumbnails><rdf:Alt><rdf:li>base64</rdf:li></rdf:Alt></xmp:Thumbnails>
   <c:Look><rdf:Description c:Name="x"/></c:Look><c:HasCrop/>
   <xmp:Rating>4</xmp:Rating>
  </rdf:Description>
 </rdf:RDF>
</x:xmpmeta>
<?xpacket end="w"?>`

func TestXMP(t *testing.T) {
	for _, finished := range []bool{true, false} {
		out, err := XMP([]byte(packet+"\x00\x00"), finished)
		if err != nil {
			t.Fatal(err)
		}
		for text, want := range map[string]bool{"Orientation": false, "ImageWidth": false, "Thumbnails": false, "base64": false,
			"Exposure2012": !finished, "c:Look": !finished, "HasCrop": !finished, `c:Name="x"`: !finished,
			"Chart &amp; more": true, "<xmp:Rating>4<": true, `tiff:Make="A &amp; B &lt;C&gt;"`: true, `<?xpacket end="w"?>`: true, `rdf:about=""`: true} {
			if strings.Contains(string(out), text) != want {
				t.Errorf("finished %v: %q is there: %v\n%s", finished, text, !want, out)
			}
		}
		again, err := XMP(out, finished)
		if err != nil || !bytes.Equal(again, out) {
			t.Errorf("a second time: %v\n%s", err, again)
		}
	}
	plain := strings.NewReplacer(` tiff:Orientation="6"`, "", "   <tiff:ImageWidth>4000</tiff:ImageWidth>\n", "").Replace(packet)
	start, end := strings.Index(plain, "   <xmp:Thumb"), strings.Index(plain, "   <xmp:Rating")
	plain = plain[:start] + plain[end:]
	if out, err := XMP([]byte(plain), false); err != nil || string(out) != plain {
		t.Errorf("a packet with nothing to leave out was changed: %v\n%s", err, out)
	}
}

func TestXMPMalformed(t *testing.T) {
	rdf := func(inner string) string {
		return `<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#">` + inner + `</r:RDF>`
	}
	for name, text := range map[string]string{
		"empty":           "",
		"no RDF":          "<a/>",
		"an open element": rdf("<r:a>"),
		"another end":     rdf("<r:a></r:b>"),
		"no XML":          "RIFF",
		"cut short":       packet[:len(packet)/2],
		"a document type": "<!DOCTYPE x [<!ENTITY a 'b'>]>" + rdf(""),
		"an entity":       rdf("&a;"),
		"a prefix":        rdf("<p:a/>"),
		"twice":           rdf(`<r:a r:x="1" r:x="2"/>`),
		"no text":         rdf("\xff\xfe"),
		"deep":            strings.Repeat("<a>", 80) + strings.Repeat("</a>", 80),
		"large":           rdf(strings.Repeat(" ", MaxXMP)),
	} {
		if out, err := XMP([]byte(text), true); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v\n%.200s", name, err, out)
		}
	}
}

// FuzzXMP holds what comes out against the standard library's parser: it is well-formed, has nothing
// that was to be left out, and is stable.
func FuzzXMP(f *testing.F) {
	f.Add([]byte(packet), true)
	f.Add([]byte(packet), false)
	f.Add([]byte(`<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" r:x='a"b&#9;'><r:a/></r:RDF>`), true)
	f.Fuzz(func(t *testing.T, b []byte, finished bool) {
		out, err := XMP(b, finished)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		dec := xml.NewDecoder(bytes.NewReader(out))
		for {
			tok, err := dec.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%v in %q of %q", err, out, b)
			}
			if e, ok := tok.(xml.StartElement); ok && e.Name.Space == nsXMP && e.Name.Local == "Thumbnails" {
				t.Fatalf("%q of %q", out, b)
			}
		}
		again, err := XMP(out, finished)
		if err != nil || !bytes.Equal(again, out) {
			t.Fatalf("a second time: %v, %q of %q", err, again, out)
		}
	})
}

// FuzzExif makes a block of any bytes that are taken for one, which can be read again.
func FuzzExif(f *testing.F) {
	f.Add(block(binary.LittleEndian))
	f.Add(block(binary.BigEndian))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := ParseExif(b)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		out := Exif(d, Picture{Width: 3, Height: 2, Software: "p"})
		again, err := ParseExif(out)
		if err != nil {
			t.Fatal(err)
		}
		if second := Exif(again, Picture{Width: 3, Height: 2, Software: "p"}); !bytes.Equal(second, out) {
			t.Fatalf("a second time: %q of %q", second, out)
		}
	})
}
