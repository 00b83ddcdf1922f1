package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"enhance/internal/imgio"
	"enhance/model"
	"enhance/pipeline/facts"
)

// This file runs networks that say what a picture shows: classifiers.

// View is how a picture becomes a classifier's input: its short side is resized, and of the result
// the middle is taken.
type View struct {
	Samples Samples
	// Mean is subtracted from the samples of each channel, and Std divides them; nil: neither.
	Mean, Std []float64
	// Short is the short side after resizing; 0: 256/224 of the network's side, and that side itself
	// where it is less than 128.
	Short int
}

// ViewNames are the names of Views' samples.
var ViewNames = append([]string{"imagenet"}, SampleNames...)

// ParseView reads one of ViewNames; "" is imagenet for networks of three channels and rgb01 for
// others.
func ParseView(name string) (*View, error) {
	v := &View{Samples: Samples{Scale: 1}}
	if name == "imagenet" {
		v.Mean, v.Std = imageNetMean[:], imageNetStd[:]
		return v, nil
	}
	var err error
	if v.Samples, err = parseSamples(name); err != nil {
		return nil, optionErrorf("input", "%q: want %s: the order of the colours and the range of the samples", name, strings.Join(ViewNames, ", "))
	}
	return v, nil
}

// ClassifyJob is a picture for a classifier.
type ClassifyJob struct {
	Input  string
	View   *View // nil: what the file beside the network says, or imagenet for networks of three channels, rgb01 for others
	Short  int   // View.Short where View is nil
	Labels []string
	Top    int // how many classes to report
}

// imageNetMean and imageNetStd are of samples of 0..1, red first, as torchvision's networks were
// trained.
var imageNetMean, imageNetStd = [3]float64{0.485, 0.456, 0.406}, [3]float64{0.229, 0.224, 0.225}

// classifierSide is the side of inputs whose file does not say it.
const classifierSide = 224

// Classify runs the session's network on a picture and reports the likeliest classes. For errors
// see the function [Classify].
func (s *Session) Classify(ctx context.Context, j ClassifyJob) (*facts.ClassifyReport, error) {
	if s.imported == nil {
		return nil, &model.SpecError{Spec: s.modelName, Problem: "classify takes networks for pictures, as ONNX files; this one is for RAW photos: enhance PHOTO"}
	}
	m, err := imgio.ReadRGB16(j.Input)
	if err = PictureError(j.Input, err); err != nil {
		return nil, err
	}
	rep := &facts.ClassifyReport{Input: j.Input, Picture: [2]int{m.Height, m.Width}}
	channels := s.model.Graph.Nodes[0].C
	if channels != 1 && channels != 3 {
		return rep, s.imported.explain(fmt.Errorf("it takes %d channels: classify gives it a picture, which has 1 or 3; model run takes any network", channels))
	}
	side, err := s.described(&j)
	if err != nil {
		return rep, err
	}
	view := View{Samples: Samples{Scale: 1}, Short: j.Short}
	if channels == 3 {
		view.Mean, view.Std = imageNetMean[:], imageNetStd[:]
	}
	if j.View != nil {
		view = *j.View
	}
	if len(view.Mean) > 0 && len(view.Mean) != channels {
		return rep, optionErrorf("input", "a mean of %d colours, as imagenet has, and the network takes %d channels: rgb01 is the name for 0 to 1", len(view.Mean), channels)
	}
	h, w := side, side
	if fixed, fh, fw := s.imported.fixed(); fixed {
		h, w = fh, fw
	}
	data, err := view.tensor(m, channels, h, w)
	if err != nil {
		return rep, err
	}
	out, run, err := s.RunTensor(ctx, TensorJob{Input: Tensor{Shape: model.Shape{C: channels, H: h, W: w}, Data: data}})
	rep.Run = run
	if err != nil {
		return rep, err
	}
	if out.H != 1 || out.W != 1 || out.C < 2 {
		return rep, s.imported.explain(fmt.Errorf("it makes %v: classify takes networks that make a number for each class; model run takes any", out.Shape))
	}
	if j.Labels != nil && len(j.Labels) != out.C {
		return rep, optionErrorf("labels", "%d labels for a network of %d classes", len(j.Labels), out.C)
	}
	rep.Softmax = !s.endsInSoftmax(h, w)
	rep.Classes = likeliest(out.Data, j.Labels, j.Top, rep.Softmax)
	return rep, nil
}

// endsInSoftmax reports whether the network's result is a softmax.
func (s *Session) endsInSoftmax(h, w int) bool {
	net, err := s.imported.At(h, w)
	return err == nil && net.Model.Graph.Nodes[net.Model.Graph.Out].Op == model.OpSoftmax
}

// likeliest are the top classes, the likeliest first, of equal ones the first. With softmax, values
// become probabilities.
func likeliest(values []float32, labels []string, top int, softmax bool) []facts.Class {
	all := make([]facts.Class, len(values))
	sum, most := 0.0, float64(slices.Max(values))
	for i, v := range values {
		all[i] = facts.Class{Index: i, Value: float64(v), Probability: float64(v)}
		if softmax {
			all[i].Probability = math.Exp(float64(v) - most)
		}
		sum += all[i].Probability
		if labels != nil {
			all[i].Label = labels[i]
		}
	}
	if softmax {
		for i := range all {
			all[i].Probability /= sum
		}
	}
	slices.SortStableFunc(all, func(a, b facts.Class) int { return cmp.Compare(b.Value, a.Value) })
	return all[:min(top, len(all))]
}

// tensor resizes a picture and takes h×w of its middle, as planes.
func (v *View) tensor(m *imgio.RGB16, channels, h, w int) ([]float32, error) {
	short := v.Short
	if short == 0 {
		if short = min(h, w); short >= 128 {
			short = (short*256 + 112) / 224
		}
	}
	if short < min(h, w) {
		return nil, optionErrorf("short-side", "%d: the network takes %dx%d, which is more", short, w, h)
	}
	// The other side is rounded down, as torchvision does.
	height, width := short, int(int64(short)*int64(m.Width)/int64(m.Height))
	if m.Width < m.Height {
		height, width = int(int64(short)*int64(m.Height)/int64(m.Width)), short
	}
	if height < h || width < w {
		return nil, optionErrorf("short-side", "%d: the picture becomes %dx%d, and the network takes %dx%d: use a larger one", short, width, height, w, h)
	}
	top, left := halfEven(height-h), halfEven(width-w)
	rows, columns := triangles(m.Height, height)[top:top+h], triangles(m.Width, width)[left:left+w]
	// Rows that are needed, made narrower.
	narrow := map[int][]float64{}
	for _, r := range rows {
		for y := r.first; y < r.first+len(r.weights); y++ {
			if narrow[y] != nil {
				continue
			}
			line, row := make([]float64, 3*w), m.Row(y)
			for x, c := range columns {
				for i, weight := range c.weights {
					for k := range 3 {
						line[3*x+k] += weight * float64(row[3*(c.first+i)+k])
					}
				}
			}
			narrow[y] = line
		}
	}
	out := make([]float32, channels*h*w)
	for y, r := range rows {
		for x := range w {
			var rgb [3]float64
			for i, weight := range r.weights {
				for k := range 3 {
					rgb[k] += weight * narrow[r.first+i][3*x+k] / 65535
				}
			}
			for c := range channels {
				out[(c*h+y)*w+x] = float32(v.sample(rgb, c, channels))
			}
		}
	}
	return out, nil
}

// halfEven is half of n, of odd n the even one of both, as Python rounds.
func halfEven(n int) int {
	half := n / 2
	if n%2 == 1 && half%2 == 1 {
		half++
	}
	return half
}

// sample is what the network takes for channel c of n of a colour of 0..1. One channel is luma
// by Rec. 601, as of Pillow.
func (v *View) sample(rgb [3]float64, c, n int) float64 {
	code := 0.299*rgb[0] + 0.587*rgb[1] + 0.114*rgb[2]
	switch {
	case n > 1 && v.Samples.BGR:
		code = rgb[2-c]
	case n > 1:
		code = rgb[c]
	}
	sample := v.Samples.Offset + v.Samples.Scale*code
	if len(v.Mean) > 0 {
		sample = (sample - v.Mean[c]) / v.Std[c]
	}
	return sample
}

// weighted are consecutive samples and their weights.
type weighted struct {
	first   int
	weights []float64
}

// triangles are what each of n samples made of m ones is: bilinear interpolation, with a triangle
// as wide as the scale where m > n, as of Pillow's and of torchvision's antialiased resizing.
func triangles(m, n int) []weighted {
	scale := float64(m) / float64(n)
	support := max(scale, 1)
	out := make([]weighted, n)
	for i := range out {
		centre := (float64(i) + 0.5) * scale
		first, end := max(int(centre-support+0.5), 0), min(int(centre+support+0.5), m)
		sum := 0.0
		for k := first; k < end; k++ {
			w := max(1-math.Abs((float64(k)-centre+0.5)/support), 0)
			out[i].weights = append(out[i].weights, w)
			sum += w
		}
		for k := range out[i].weights {
			out[i].weights[k] /= sum
		}
		out[i].first = first
	}
	return out
}
