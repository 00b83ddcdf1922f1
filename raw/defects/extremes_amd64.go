package defects

// extremeUnits sets bit x of above where own[x] is above its eight neighbours, two columns
// away in the three rows, and of below where it is below them, for x in from to to-1, which
// are multiples of 16 and not equal. Two samples before and after are read too.
//
//go:noescape
func extremeUnits(above, below *uint64, up, own, down *uint16, from, to int)

const hasExtremeUnits = true
