package exec

// Source gives the network's input: Rows begins rows [y0,y1).
//
// Ranges come in ascending order, each from where the last one ended: no row is left
// out or asked for twice. Only a plan that reads the input several times starts again
// from row 0. Every range that was begun is ended, also when the run fails, and ranges
// are ended in the order in which they were begun; the next may begin before the last
// has ended. Calls of Rows do not overlap, nor do calls of End.
type Source interface {
	Rows(y0, y1 int) (Rows, error)
}

// Sink takes the network's result: Rows begins rows [y0,y1), as it does for a Source.
// Every row comes once.
type Sink interface {
	Rows(y0, y1 int) (Rows, error)
}

// Rows is a range of rows that a Source makes or a Sink takes.
type Rows interface {
	// Row is called once for every row y of the range, in any order and from several
	// goroutines at a time. planes holds one line per channel, valid during the call: a
	// source fills them, a sink reads them.
	Row(y int, planes [][]float32)
	// End is called once, when all calls of Row have returned. An error ends the run.
	End() error
}

// lines is memory for a row of w samples of c channels.
func lines(c, w int) [][]float32 {
	ls := make([][]float32, c)
	all := make([]float32, c*w)
	for i := range ls {
		ls[i] = all[i*w : (i+1)*w]
	}
	return ls
}
