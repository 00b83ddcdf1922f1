package conv

// ImplicitTiles is how many tiles ImplicitGEMM chooses from on GPUs.
var ImplicitTiles = len(implicitTiles)

// OnlyImplicitTile leaves ImplicitGEMM no choice until restore is called.
func OnlyImplicitTile(i int) (restore func()) {
	all := implicitTiles
	implicitTiles = all[i : i+1]
	return func() { implicitTiles = all }
}
