package onnximport

import (
	"fmt"
	"slices"

	"enhance/model"
)

// Differ names the first node by which two imports of one file differ, "" if they are the same network.
func Differ(a, b *Network) string {
	for i := range a.Model.Graph.Nodes {
		if i >= len(b.Model.Graph.Nodes) {
			return a.Nodes[a.Model.Graph.Nodes[i].Name]
		}
		if n, o := &a.Model.Graph.Nodes[i], &b.Model.Graph.Nodes[i]; !sameNode(n, o) {
			return a.Nodes[n.Name]
		}
	}
	if n := len(a.Model.Graph.Nodes); n < len(b.Model.Graph.Nodes) {
		return b.Nodes[b.Model.Graph.Nodes[n].Name]
	}
	for _, p := range a.Model.Graph.Params() {
		x, y := a.Model.Params[p.Name], b.Model.Params[p.Name]
		if y == nil || !slices.Equal(x.Shape, y.Shape) || !slices.Equal(x.Data, y.Data) {
			return p.Name
		}
	}
	return ""
}

func sameNode(a, b *model.Node) bool {
	x, y := *a, *b
	x.In, y.In = nil, nil
	return fmt.Sprint(x) == fmt.Sprint(y) && slices.Equal(a.In, b.In)
}
