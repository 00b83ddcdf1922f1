package imgio

import "fmt"

// OrientedSize returns the upright size of a picture stored as w×h with an EXIF
// orientation: 5..8 exchange the sides.
func OrientedSize(w, h, orientation int) (int, int) {
	if orientation >= 5 && orientation <= 8 {
		return h, w
	}
	return w, h
}

// Oriented returns a writer of stored rows that turns the picture upright and
// passes it to w. stored is the size and depth of the rows to come; w must have
// been made for OrientedSize of it. Orientations are EXIF's: 1 upright, 2
// mirrored, 3 upside down, 4 both, 5 transposed, 6 to be turned clockwise by 90
// degrees, 7 transposed along the other diagonal, 8 to be turned anticlockwise.
//
// 1 and 2 stream. The others cannot begin before the last row has come: they
// hold the picture in 3·Width·Height·Bits/8 bytes and write it all in Close.
// Close also closes w.
func Oriented(w RowWriter, stored Header, orientation int) (RowWriter, error) {
	if err := stored.validate(anyFormat); err != nil {
		return nil, err
	}
	p := progress{format: "picture", h: stored}
	switch {
	case orientation == 1:
		return w, nil
	case orientation == 2:
		return &mirrored{progress: p, w: w, row: make([]uint16, stored.pixel()*stored.Width)}, nil
	case orientation >= 3 && orientation <= 8:
		size := stored.rowBytes() * int64(stored.Height)
		if size/int64(stored.Height) != stored.rowBytes() || int64(int(size)) != size {
			return nil, fmt.Errorf("turn a picture of %dx%d pixels: %w", stored.Width, stored.Height, ErrTooLarge)
		}
		return &turned{progress: p, w: w, orientation: orientation}, nil
	}
	return nil, fmt.Errorf("orientation %d: %w: must be 1..8", orientation, ErrHeader)
}

// mirrored reverses each row.
type mirrored struct {
	progress
	w   RowWriter
	row []uint16
}

func (m *mirrored) WriteRow(rgb []uint16) error {
	if err := m.next(len(rgb)); err != nil {
		return err
	}
	n := m.h.pixel()
	for i := 0; i < len(rgb); i += n {
		copy(m.row[len(rgb)-n-i:][:n], rgb[i:i+n])
	}
	if err := m.w.WriteRow(m.row); err != nil {
		m.err = err
	}
	return m.err
}

func (m *mirrored) Close() error {
	if err := m.finish(); err != nil {
		return err
	}
	return m.w.Close()
}

// turned keeps the stored picture, packed as packRow does it.
type turned struct {
	progress
	w           RowWriter
	orientation int
	data        []byte
}

func (t *turned) WriteRow(rgb []uint16) error {
	if err := t.next(len(rgb)); err != nil {
		return err
	}
	packRow(t.room(), rgb, t.h.Bits)
	return nil
}

func (t *turned) WriteBytes(rgb []byte) error {
	if err := t.nextBytes(len(rgb)); err != nil {
		return err
	}
	copy(t.room(), rgb)
	return nil
}

// room is that for the row that came last.
func (t *turned) room() []byte {
	if t.data == nil { // not before there is something to hold
		t.data = make([]byte, t.h.rowBytes()*int64(t.h.Height))
	}
	return t.data[int64(t.rows-1)*t.h.rowBytes():][:t.h.rowBytes()]
}

// source returns the stored pixel that stands at (0, 0) upright, and the steps
// in stored pixels for one pixel to the right and one row down.
func (t *turned) source() (start, right, down int) {
	w, h := t.h.Width, t.h.Height
	switch t.orientation {
	case 3:
		return w*h - 1, -1, -w
	case 4:
		return w * (h - 1), 1, -w
	case 5:
		return 0, w, 1
	case 6:
		return w * (h - 1), -w, 1
	case 7:
		return w*h - 1, -w, -1
	default: // 8
		return w - 1, w, -1
	}
}

// turnRows is how many upright rows are gathered together. Of a transposed
// picture they share the cache lines that each touches in every stored row.
const turnRows = 16

func (t *turned) Close() error {
	if err := t.finish(); err != nil {
		return err
	}
	defer func() { t.data = nil }()
	width, height := OrientedSize(t.h.Width, t.h.Height, t.orientation)
	start, right, down := t.source()
	size := t.h.pixel()
	rows := make([]uint16, turnRows*size*width)
	for y := 0; y < height; y += turnRows {
		n := min(turnRows, height-y)
		for x := range width {
			for k := range n {
				t.pixel(rows[size*(k*width+x):][:size], start+x*right+(y+k)*down)
			}
		}
		for k := range n {
			if err := t.w.WriteRow(rows[size*k*width:][:size*width]); err != nil {
				return err
			}
		}
	}
	return t.w.Close()
}

// pixel unpacks one. An 8-bit sample times 257 rounds back to itself.
func (t *turned) pixel(dst []uint16, i int) {
	if t.h.Bits == 8 {
		s := t.data[3*i:][:3]
		dst[0], dst[1], dst[2] = uint16(s[0])*257, uint16(s[1])*257, uint16(s[2])*257
		return
	}
	s := t.data[2*len(dst)*i:][:2*len(dst)]
	for k := range dst {
		dst[k] = uint16(s[2*k])<<8 | uint16(s[2*k+1])
	}
}
