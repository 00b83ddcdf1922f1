package imgio

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"math"

	"enhance/internal/colour"
	"enhance/internal/icc"
)

type pngChunk struct {
	kind string
	data []byte
}

// colourChunks say what samples mean: sRGB by its own chunk, others by a profile. gAMA and
// cHRM are for readers that know neither, cICP for those that prefer it to a profile.
func colourChunks(e colour.Encoding) []pngChunk {
	be := binary.BigEndian
	var chrm []byte
	for _, c := range []colour.Chromaticity{e.Space.White, e.Space.Red, e.Space.Green, e.Space.Blue} {
		chrm = be.AppendUint32(chrm, uint32(math.Round(1e5*c.X)))
		chrm = be.AppendUint32(chrm, uint32(math.Round(1e5*c.Y)))
	}
	var gama []byte
	switch e.Transfer {
	case colour.SRGBTransfer:
		gama = be.AppendUint32(nil, 45455)
	case colour.LinearTransfer:
		gama = be.AppendUint32(nil, 100000)
	}
	if e == colour.SRGBEncoding {
		return []pngChunk{{"sRGB", []byte{0}}, {"gAMA", gama}, {"cHRM", chrm}} // perceptual intent
	}
	return []pngChunk{{"cICP", codePoints(e)}, {"iCCP", pngProfile(e)}, {"gAMA", gama}, {"cHRM", chrm}}
}

// pngProfile is the contents of an iCCP chunk.
func pngProfile(e colour.Encoding) []byte {
	b := bytes.NewBufferString(e.Name)
	b.Write([]byte{0, 0}) // the name's end, and deflate
	z := zlib.NewWriter(b)
	z.Write(icc.Of(e)) // a Buffer takes everything
	z.Close()
	return b.Bytes()
}

// codePoints are the numbers of ITU-T H.273 for an encoding's primaries and curve, for
// components of full range; nil where programs disagree about the curve: they decode
// BT.2020's as the inverse of its formula or as a display's power of 2.4, and a profile says
// which.
func codePoints(e colour.Encoding) []byte {
	primaries := map[string]byte{colour.SRGB.Name: 1, colour.Rec2020.Name: 9, colour.DisplayP3.Name: 12}[e.Space.Name]
	curve := map[*colour.Transfer]byte{colour.LinearTransfer: 8, colour.SRGBTransfer: 13}[e.Transfer]
	if primaries == 0 || curve == 0 {
		return nil
	}
	return []byte{primaries, curve, 0, 1}
}
