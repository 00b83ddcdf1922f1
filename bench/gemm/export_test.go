package gemm

// LocalTiles is how many tiles NewLocal chooses from.
var LocalTiles = len(localTiles)

// OnlyLocalTile leaves NewLocal no choice until restore is called.
func OnlyLocalTile(i int) (restore func()) {
	all := localTiles
	localTiles = all[i : i+1]
	return func() { localTiles = all }
}

// Block is the size of a layout's blocks, 1×1 where there are none.
func Block(l Layout) (rows, cols int) {
	rows, cols = l.block()
	return max(rows, 1), max(cols, 1)
}
