package model

import (
	"fmt"
	"slices"
	"strings"
)

// Until is the model cut short: its result is the value of the named node, and
// nodes and parameters that this does not need are left out. The parameters are
// shared with m. It serves to look into a network. The output kind and scale of
// the convention still speak of the whole network.
func (m *Model) Until(node string) (*Model, error) {
	at := slices.IndexFunc(m.Graph.Nodes, func(n Node) bool { return n.Name == node })
	if at < 0 {
		return nil, fmt.Errorf("the network has no node %q%s", node, m.Graph.similar(node))
	}
	cut := *m
	whole := &Graph{Nodes: m.Graph.Nodes, Out: at}
	needed := whole.Needed()
	needed[0] = true
	cut.Graph = &Graph{}
	index := make([]int, len(whole.Nodes))
	for i, n := range whole.Nodes {
		if !needed[i] {
			continue
		}
		n.In = slices.Clone(n.In)
		for k, in := range n.In {
			n.In[k] = index[in]
		}
		index[i] = len(cut.Graph.Nodes)
		cut.Graph.Nodes = append(cut.Graph.Nodes, n)
	}
	cut.Graph.Out = index[at]
	cut.Params = make(map[string]*Tensor)
	for _, p := range cut.Graph.Params() {
		cut.Params[p.Name] = m.Params[p.Name]
	}
	return &cut, nil
}

// similar names nodes that may have been meant.
func (g *Graph) similar(name string) string {
	var near []string
	for i := range g.Nodes {
		n := g.Nodes[i].Name
		if name != "" && (strings.Contains(n, name) || strings.HasPrefix(name, n)) {
			near = append(near, n)
		}
	}
	const few = 8
	switch {
	case len(near) == 0:
		return fmt.Sprintf(": its %d nodes are called like %q", len(g.Nodes), g.Nodes[len(g.Nodes)/2].Name)
	case len(near) > few:
		near = append(near[:few], "...")
	}
	return ": there are " + strings.Join(near, ", ")
}
