package colour

// Encoding is what a picture's codes mean: a linear RGB space and a transfer curve.
type Encoding struct {
	Name     string // "Display P3", for people and profiles
	Space    Space
	Transfer *Transfer
}

// The encodings that pictures are written in. Display P3 has the curve of sRGB.
var (
	SRGBEncoding          = Encoding{"sRGB", SRGB, SRGBTransfer}
	DisplayP3Encoding     = Encoding{"Display P3", DisplayP3, SRGBTransfer}
	Rec2020Encoding       = Encoding{"Rec. 2020", Rec2020, Rec2020Transfer}
	LinearSRGBEncoding    = Encoding{"linear sRGB", SRGB, LinearTransfer}
	LinearP3Encoding      = Encoding{"linear Display P3", DisplayP3, LinearTransfer}
	LinearRec2020Encoding = Encoding{"linear Rec. 2020", Rec2020, LinearTransfer}
)

// Linear reports whether codes are in proportion to light.
func (e Encoding) Linear() bool { return e.Transfer == LinearTransfer }
