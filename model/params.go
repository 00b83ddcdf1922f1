package model

import (
	"fmt"
	"math"
	"slices"
	"sort"
)

// Validate checks that the graph is valid and that the parameters are exactly
// those it asks for, each of the right shape and without NaN or infinity.
// Errors name the parameter and, for a wrong shape, both shapes.
func (m *Model) Validate() error {
	if m.Graph == nil {
		return fmt.Errorf("model has no graph")
	}
	if err := m.Graph.Validate(); err != nil {
		return err
	}
	if err := m.Convention.validate(); err != nil {
		return err
	}
	if err := checkParams(m.Graph.Params(), m.Params); err != nil {
		return err
	}
	return checkCodes(m.Graph, m.Params)
}

// checkParams compares parameters with what a graph asks for.
func checkParams(want []ParamSpec, have map[string]*Tensor) error {
	wanted := make(map[string]bool, len(want))
	for _, spec := range want {
		wanted[spec.Name] = true
		t := have[spec.Name]
		if t == nil {
			return fmt.Errorf("tensor %q (%v) is missing", spec.Name, spec.Shape)
		}
		if !slices.Equal(t.Shape, spec.Shape) {
			return fmt.Errorf("tensor %q has shape %v, the network wants %v", spec.Name, t.Shape, spec.Shape)
		}
		if int64(len(t.Data)) != elems(spec.Shape) {
			return fmt.Errorf("tensor %q has %d values, its shape %v wants %d", spec.Name, len(t.Data), spec.Shape, elems(spec.Shape))
		}
		for i, v := range t.Data {
			if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
				return fmt.Errorf("tensor %q holds %v at index %d: weights must be finite", spec.Name, v, i)
			}
		}
	}
	var extra []string
	for name := range have {
		if !wanted[name] {
			extra = append(extra, name)
		}
	}
	if len(extra) > 0 {
		sort.Strings(extra)
		return fmt.Errorf("tensor %q is not one of the network's (%d such)", extra[0], len(extra))
	}
	return nil
}
