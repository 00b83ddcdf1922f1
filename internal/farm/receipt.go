package farm

import (
	"fmt"
)

// Key names a result: a SHA-256 in hexadecimal digits.
type Key string

// Facts are all that decides the bytes of a picture.
type Facts struct {
	Photo      string // SHA-256 of the photo's file
	Model      string // SHA-256 of the network's weights and form
	Look       string // Order.Look
	Generation string // of the kernels and of the code around them
	Class      string // of the device: devices of one class make the same bytes
}

// Key is the name of the result.
func (f *Facts) Key() Key {
	return Key(Hash("result", f.Photo, f.Model, f.Look, f.Generation, f.Class))
}

// Receipt says what a result is and how it was made. It lies beside the result, and a
// result without one does not count.
type Receipt struct {
	Version   int    `json:"version"`
	Key       Key    `json:"key"`
	Photo     string `json:"photo"`   // SHA-256 of the photo's file
	Picture   string `json:"picture"` // SHA-256 of the result
	Bytes     int64  `json:"bytes"`   // of the result
	Extension string `json:"extension"`
	// Source is a name that the photo had, for people and for the check by another worker.
	Source string `json:"source"`
	Order  Order  `json:"order"`

	Model      string `json:"model"` // SHA-256
	Generation string `json:"generation"`
	Class      string `json:"class"`
	Device     string `json:"device"` // as reports name it
	Program    string `json:"program"`
	Worker     string `json:"worker"`
	// Made is the worker's own clock, RFC 3339: for people only.
	Made       string  `json:"made"`
	Seconds    float64 `json:"seconds"`
	PeakDevice int64   `json:"peak_device_bytes"`
	PeakHost   int64   `json:"peak_host_bytes"`
}

// Facts are those that the key is made of.
func (r *Receipt) Facts() *Facts {
	return &Facts{Photo: r.Photo, Model: r.Model, Look: r.Order.Look(), Generation: r.Generation, Class: r.Class}
}

// Complete fills in the version and the key.
func (r *Receipt) Complete() {
	r.Version, r.Key = formatVersion, r.Facts().Key()
}

// ParseReceipt reads what Encode wrote. A receipt whose key is not that of its facts is
// none.
func ParseReceipt(data []byte) (*Receipt, error) {
	var r Receipt
	if err := parse("receipt", data, &r); err != nil {
		return nil, err
	}
	bad := func(format string, args ...any) (*Receipt, error) {
		return nil, &FormatError{"receipt", fmt.Sprintf(format, args...)}
	}
	if err := r.Order.check(); err != nil {
		return bad("%v", err)
	}
	switch {
	case r.Version != formatVersion:
		return bad("its version is %d, and this program reads %d", r.Version, formatVersion)
	case r.Key != r.Facts().Key():
		return bad("its key is not that of its contents")
	case !IsHash(r.Photo) || !IsHash(r.Picture) || !IsHash(r.Model):
		return bad("a SHA-256 is missing")
	case r.Bytes < 1:
		return bad("the picture has %d bytes", r.Bytes)
	case CheckName(r.Source) != nil:
		return bad("the photo's name is %q", r.Source)
	}
	if err := checkExtension(r.Extension, maxPictureExtension); err != nil {
		return bad("%v", err)
	}
	return &r, nil
}

// Encode is the receipt as JSON.
func (r *Receipt) Encode() []byte { return encode(r) }

// Named is the record of a name: which result it has, and what of. With it a submission
// skips a photo without reading it, and the main command's --skip-existing tells a picture
// of this order from one of another.
type Named struct {
	Version  int    `json:"version"`
	Key      Key    `json:"key"`
	Look     string `json:"look"` // Order.LookID
	Photo    string `json:"photo"`
	Bytes    int64  `json:"bytes"`
	Modified int64  `json:"modified"`
}

// NewNamed is the record of a task that has a result.
func NewNamed(t *Task, r *Receipt) *Named {
	return &Named{Version: formatVersion, Key: r.Key, Look: r.Order.LookID(), Photo: t.Photo, Bytes: t.Bytes, Modified: t.Modified}
}

// ParseNamed reads what Encode wrote.
func ParseNamed(data []byte) (*Named, error) {
	var n Named
	if err := parse("record of a name", data, &n); err != nil {
		return nil, err
	}
	if n.Version != formatVersion || !IsHash(string(n.Key)) || !IsID(n.Look) || CheckName(n.Photo) != nil {
		return nil, &FormatError{"record of a name", "its version, key, order or photo is not one"}
	}
	return &n, nil
}

// Encode is the record as JSON.
func (n *Named) Encode() []byte { return encode(n) }

// Of reports whether the record says that the task is done with the order's settings, as
// far as the photo's name, size and time tell.
func (n *Named) Of(t *Task, o *Order) bool {
	return n.Look == o.LookID() && n.Photo == t.Photo && n.Bytes == t.Bytes && n.Modified == t.Modified
}
