package model

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strings"
)

// This file makes quantised networks of others. A weight file holds the steps and zeros of codes in its metadata, by the
// names of the values that they are of, the weights of convolutions of codes as integers, and beside each X.weight
// the factors of its outputs as X.scales.

// metaCodes is the metadata key of codes: a JSON object of CodeSteps by the name of the value.
const metaCodes = "codes"

// CodeStep is how a value is quantised: see OpQuantize. Codes are unsigned.
type CodeStep struct {
	Step float32 `json:"step"`
	Zero int     `json:"zero"`
}

// CodesFor gives codes for samples from least to greatest, of which 0 is made one.
func CodesFor(least, greatest float32) CodeStep {
	least, greatest = min(least, 0), max(greatest, 0)
	step := (greatest - least) / 255
	if !(step >= minStep) {
		return CodeStep{Step: 1}
	}
	return CodeStep{Step: step, Zero: int(math.RoundToEven(float64(-least / step)))}
}

// scalesOf is the name of the factors beside a weight, "" if there can be none.
func scalesOf(weight string) string {
	if name, ok := strings.CutSuffix(weight, ".weight"); ok {
		return name + ".scales"
	}
	return ""
}

// Quantizable lists the convolutions of a graph that Quantize can turn into convolutions of codes, in order:
// square ones of stride 1 whose weight no other node has, but neither those that read the network's input nor
// the last ones before its result, which lose most and are little work.
func (g *Graph) Quantizable() (convs []int) {
	uses := map[string]int{}
	read := make([]bool, len(g.Nodes)) // by a convolution, or what leads to one
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		n := &g.Nodes[i]
		uses[n.Weight]++
		for _, in := range n.In {
			read[in] = read[in] || read[i] || n.Op.Convolves()
		}
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if n.Op == OpConv && n.K > 0 && n.K <= maxQuantKernel && read[i] && n.In[0] != 0 && uses[n.Weight] == 1 && scalesOf(n.Weight) != "" {
			convs = append(convs, i)
		}
	}
	return convs
}

// Quantize makes convolutions of codes of those in convs, which are of [Graph.Quantizable]; codes has the codes of what they
// read, by the name of the value. The weights of each output become integers of -127..127 by one factor. The model m stays
// as it is.
func Quantize(m *Model, convs []int, codes map[string]CodeStep) (*Model, error) {
	q := *m
	q.Params, q.Meta = maps.Clone(m.Params), maps.Clone(m.Meta)
	if q.Meta == nil {
		q.Meta = map[string]string{}
	}
	used := map[string]CodeStep{}
	for _, i := range convs {
		n := &m.Graph.Nodes[i]
		value := m.Graph.Nodes[n.In[0]].Name
		step, ok := codes[value]
		if !ok {
			return nil, fmt.Errorf("no codes are given for %q, which convolution %q reads", value, n.Name)
		}
		used[value] = step
		w := m.Params[n.Weight]
		integers, factors := make([]float32, len(w.Data)), make([]float32, n.C)
		for o, each := 0, len(w.Data)/n.C; o < n.C; o++ {
			row := w.Data[o*each:][:each]
			largest := float32(0)
			for _, v := range row {
				largest = max(largest, v, -v)
			}
			if largest == 0 {
				continue
			}
			by := largest / 127
			for k, v := range row {
				integers[o*each+k] = float32(math.RoundToEven(float64(v / by)))
			}
			factors[o] = by * step.Step
		}
		q.Params[n.Weight] = &Tensor{Shape: w.Shape, Data: integers}
		q.Params[scalesOf(n.Weight)] = &Tensor{Shape: []int{n.C}, Data: factors}
	}
	text, err := json.Marshal(used)
	if err != nil {
		return nil, err
	}
	q.Meta[metaCodes] = string(text)
	if err := q.takeCodes(); err != nil {
		return nil, err
	}
	return &q, q.Validate()
}

// takeCodes puts the codes that the metadata speaks of into the graph.
func (m *Model) takeCodes() error {
	text, ok := m.Meta[metaCodes]
	if !ok {
		return nil
	}
	var codes map[string]CodeStep
	if err := json.Unmarshal([]byte(text), &codes); err != nil {
		return fmt.Errorf("metadata %s: %w", metaCodes, err)
	}
	g := &Graph{}
	at, made := make([]int, len(m.Graph.Nodes)), map[string]int{}
	for i := range m.Graph.Nodes {
		n := m.Graph.Nodes[i]
		n.In = nil
		for _, in := range m.Graph.Nodes[i].In {
			n.In = append(n.In, at[in])
		}
		if scales := scalesOf(n.Weight); n.Op == OpConv && scales != "" && m.Params[scales] != nil {
			value := m.Graph.Nodes[m.Graph.Nodes[i].In[0]].Name
			step, ok := codes[value]
			if !ok {
				return fmt.Errorf("metadata %s says nothing of %q, which convolution %q reads", metaCodes, value, n.Name)
			}
			if _, ok := made[value]; !ok {
				made[value] = len(g.Nodes)
				g.Nodes = append(g.Nodes, Node{Name: value + ".codes", Op: OpQuantize, In: n.In, Step: step.Step, Zero: step.Zero})
			}
			n.Op, n.Scales, n.In = OpQuantConv, scales, []int{made[value]}
		}
		at[i] = len(g.Nodes)
		g.Nodes = append(g.Nodes, n)
	}
	for value := range codes {
		if _, ok := made[value]; !ok {
			return fmt.Errorf("metadata %s speaks of %q, which no convolution with factors reads", metaCodes, value)
		}
	}
	g.Out = at[m.Graph.Out]
	m.Graph = g
	return nil
}
