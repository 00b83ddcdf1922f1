package gemm

// LocalTiles is how many tiles NewLocal chooses from.
var LocalTiles = len(localTiles)

// OnlyLocalTile leaves NewLocal no choice until restore is called.
func OnlyLocalTile(i int) (restore func()) {
	all := localTiles
	localTiles = all[i : i+1]
	return func() { localTiles = all }
}
