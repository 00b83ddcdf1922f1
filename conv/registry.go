package conv

// Registry lists the algorithms of this package, the device's own direct one
// first. The names are the same for every device: what an algorithm cannot do on
// one, its New says.
func Registry(c Caps) []Algo {
	first := Direct(c)
	all := []Algo{first}
	for _, a := range []Algo{Rows{}, Tile{}, Simple{}, Packed{}, ImplicitGEMM{}} {
		if a.Name() != first.Name() {
			all = append(all, a)
		}
	}
	return all
}
