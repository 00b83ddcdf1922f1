package conv

import (
	"fmt"
	"slices"
	"strings"
)

// Registry lists the algorithms of this package, the device's own direct one
// first. The names are the same for every device: what an algorithm cannot do on
// one, its New says.
func Registry(c Caps) []Algo {
	first := Direct(c)
	all := []Algo{first}
	for _, a := range []Algo{Rows{}, Tile{}, Simple{}, Packed{}, ImplicitGEMM{}, Im2col{}} {
		if a.Name() != first.Name() {
			all = append(all, a)
		}
	}
	return all
}

// ByName finds an algorithm by its name; "direct" is the direct one of the
// device's kind.
func ByName(c Caps, name string) (Algo, error) {
	if name == "direct" {
		return Direct(c), nil
	}
	names := []string{"direct"}
	for _, a := range Registry(c) {
		if a.Name() == name {
			return a, nil
		}
		names = append(names, a.Name())
	}
	slices.Sort(names)
	return nil, fmt.Errorf("conv: no algorithm is named %q; there are %s", name, strings.Join(names, ", "))
}
