package defects

// band is the rows around one, reach above and below it, reflected at the photo's border.
type band struct {
	rows          [patchSide][]uint16
	y             int // of the row in the middle
	width, height int
}

// bandOf gives the rows around row y.
func bandOf(w *window, y int) band {
	b := band{y: y, width: w.width, height: w.height}
	for i := range b.rows {
		b.rows[i] = w.row(y + i - reach)
	}
	return b
}

// spot is a sample and those at most reach rows and columns away.
type spot struct {
	rows *[patchSide][]uint16
	at   int // column of the sample in rows
	y, x int // its place in the photo
	// inside says that nothing around is beyond the photo's border, where rows are reflected.
	inside        bool
	width, height int

	edge struct { // rows whose columns are reflected too
		rows  [patchSide][]uint16
		whole [patchSide * patchSide]uint16
	}
}

// move makes q the spot of column x of a band.
func (q *spot) move(b *band, x int) {
	q.rows, q.at = &b.rows, x
	q.y, q.x, q.width, q.height = b.y, x, b.width, b.height
	within := x >= reach && x < b.width-reach
	q.inside = within && b.inside()
	if within {
		return
	}
	for i, row := range &b.rows {
		line := q.edge.whole[i*patchSide:][:patchSide]
		for j := range line {
			line[j] = row[mirror(x+j-reach, b.width)]
		}
		q.edge.rows[i] = line
	}
	q.rows, q.at = &q.edge.rows, reach
}

// inside says that no row around is beyond the photo's border.
func (b *band) inside() bool { return b.y >= reach && b.y < b.height-reach }

// is reports whether the sample dy rows and dx columns away is the spot's own, reflected.
func (q *spot) is(dy, dx int) bool {
	if q.inside {
		return dy == 0 && dx == 0
	}
	return mirror(q.y+dy, q.height) == q.y && mirror(q.x+dx, q.width) == q.x
}

// row is the samples of the row dy below, from reach columns before the spot's to reach after.
func (q *spot) row(dy int) *[patchSide]uint16 {
	return (*[patchSide]uint16)(q.rows[reach+dy][q.at-reach:])
}
