package onnxtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// This file writes whole networks from papers with weights from a seed, in place of trained ones.

// Whole are the networks of [WholeNet] and the sides of their inputs.
var Whole = map[string]int{"alexnet": 224, "overfeat": 231, "vgg16": 224, "vgg19": 224, "inception": 224, "resnet34": 224, "resnet50": 224, "mobilenet": 224, "mobilenetv2": 224, "srvgg": 32}

// WholeNet is a network by name with a divisor-th of its published channels, nil if there is none:
//
//	alexnet      Krizhevsky 2014, "One weird trick", as torchvision has it, with LRN as in 2012
//	overfeat     Sermanet et al. 2014, the fast model
//	vgg16        Simonyan and Zisserman 2015, configuration D
//	vgg19        the same, configuration E
//	inception    Szegedy et al. 2015: GoogLeNet
//	resnet34     He et al. 2016, batch norms included
//	resnet50     the same, with bottlenecks
//	mobilenet    Howard et al. 2017: depthwise and 1×1 convolutions, batch norms, ReLU6
//	mobilenetv2  Sandler et al. 2018: inverted residuals, linear bottlenecks
//	srvgg        Real-ESRGAN's SRVGGNetCompact: 64 channels, 16 convolutions, PReLU, ×4
//
// All but the last make 1,000 logits.
func WholeNet(name string, divisor int, seed uint64) *Net {
	build := map[string]func(*wholeNet){"alexnet": alexNet, "overfeat": overFeat, "vgg16": vgg16, "vgg19": vgg19, "inception": inception,
		"resnet34": resNet34, "resnet50": resNet50, "mobilenet": mobileNet, "mobilenetv2": mobileNetV2, "srvgg": srvgg}[name]
	if build == nil {
		return nil
	}
	side := int64(Whole[name])
	b := &wholeNet{Net: &Net{Opset: 17, Inputs: []Value{{"x", []int64{1, 3, side, side}}}}, rng: rand.New(rand.NewPCG(seed, 41)), at: "x", channels: 3, divisor: divisor}
	if name == "srvgg" { // any size
		b.Inputs[0].Dims = []int64{1, 3, -1, -1}
	}
	build(b)
	b.Nodes[len(b.Nodes)-1].Out[0] = "y"
	b.Outputs = []Value{{"y", []int64{1, 1000}}}
	if name == "srvgg" {
		b.Outputs[0].Dims = []int64{1, 3, -1, -1}
	}
	return b.Net
}

// wholeNet appends nodes to the last value.
type wholeNet struct {
	*Net
	rng      *rand.Rand
	at       string // the last value
	channels int    // of it
	divisor  int
}

// node appends an operation on the last value and inputs, and makes its result the last value.
func (b *wholeNet) node(op string, attrs map[string]any, inputs ...string) {
	name := fmt.Sprintf("%s_%d", op, len(b.Nodes))
	b.Nodes = append(b.Nodes, Node{Op: op, Name: name, In: append([]string{b.at}, inputs...), Out: []string{name}, Attrs: attrs})
	b.at = name
}

// normal appends a constant of that spread, in single precision as it is stored.
func (b *wholeNet) normal(mean, spread float64, dims ...int64) string {
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	t := Tensor{Name: fmt.Sprintf("c%d", len(b.Init)), Dims: dims, Floats: make([]float32, n)}
	for i := range t.Floats {
		t.Floats[i] = float32(mean + spread*b.rng.NormFloat64())
	}
	b.Init = append(b.Init, t)
	return t.Name
}

// scaled is a published number of channels in this network.
func (b *wholeNet) scaled(channels int) int { return max(channels/b.divisor, 4) }

// conv appends a convolution to outs channels in as many groups as said.
func (b *wholeNet) conv(outs, k, stride, pad, groups int) {
	each := b.channels / groups
	w := b.normal(0, math.Sqrt(2/float64(each*k*k)), int64(outs), int64(each), int64(k), int64(k))
	bias := b.normal(0, 0.1, int64(outs))
	p, s := int64(pad), int64(stride)
	b.node("Conv", map[string]any{"pads": []int64{p, p, p, p}, "strides": []int64{s, s}, "group": groups}, w, bias)
	b.channels = outs
}

func (b *wholeNet) batchNorm(gain float64) {
	n := int64(b.channels)
	variance := b.normal(1, 0.1, n)
	for i, v := range b.Init[len(b.Init)-1].Floats {
		b.Init[len(b.Init)-1].Floats[i] = max(v, 0.25)
	}
	b.node("BatchNormalization", map[string]any{"epsilon": float32(1e-5)}, b.normal(gain, gain/10, n), b.normal(0, 0.1, n), b.normal(0, 0.1, n), variance)
}

func (b *wholeNet) relu() { b.node("Relu", nil) }

// relu6 is Clip as PyTorch exports it.
func (b *wholeNet) relu6() {
	for _, c := range []struct {
		name  string
		value float32
	}{{"zero", 0}, {"six", 6}} {
		if len(b.Init) == 0 || !b.has(c.name) {
			b.Init = append(b.Init, Tensor{Name: c.name, Floats: []float32{c.value}})
		}
	}
	b.node("Clip", nil, "zero", "six")
}

func (b *wholeNet) has(name string) bool {
	for i := range b.Init {
		if b.Init[i].Name == name {
			return true
		}
	}
	return false
}

func (b *wholeNet) maxPool(k, stride, pad int) {
	p, s := int64(pad), int64(stride)
	b.node("MaxPool", map[string]any{"kernel_shape": []int64{int64(k), int64(k)}, "strides": []int64{s, s}, "pads": []int64{p, p, p, p}})
}

// dense appends a fully connected layer from in samples.
func (b *wholeNet) dense(in, outs int) {
	w := b.normal(0, math.Sqrt(2/float64(in)), int64(outs), int64(in))
	b.node("Gemm", map[string]any{"transB": 1}, w, b.normal(0, 0.1, int64(outs)))
}

// classes appends the mean of the plane and the last layer.
func (b *wholeNet) classes() {
	b.node("GlobalAveragePool", nil)
	b.node("Flatten", nil)
	b.dense(b.channels, 1000)
}

func alexNet(b *wholeNet) {
	b.conv(b.scaled(64), 11, 4, 2, 1)
	b.relu()
	b.node("LRN", map[string]any{"size": 5, "alpha": float32(1e-4), "beta": float32(0.75), "bias": float32(2)})
	b.maxPool(3, 2, 0)
	b.conv(b.scaled(192), 5, 1, 2, 2)
	b.relu()
	b.maxPool(3, 2, 0)
	for _, c := range []int{384, 256, 256} {
		b.conv(b.scaled(c), 3, 1, 1, 1)
		b.relu()
	}
	b.maxPool(3, 2, 0)
	b.node("Flatten", nil)
	hidden := b.scaled(4096)
	b.dense(b.channels*6*6, hidden)
	b.relu()
	b.dense(hidden, hidden)
	b.relu()
	b.dense(hidden, 1000)
}

func vgg16(b *wholeNet) {
	vgg(b, 64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0)
}

func vgg19(b *wholeNet) {
	vgg(b, 64, 64, 0, 128, 128, 0, 256, 256, 256, 256, 0, 512, 512, 512, 512, 0, 512, 512, 512, 512, 0)
}

// vgg has convolutions to those channels, and a pooling for 0.
func vgg(b *wholeNet, channels ...int) {
	for _, c := range channels {
		if c == 0 {
			b.maxPool(2, 2, 0)
			continue
		}
		b.conv(b.scaled(c), 3, 1, 1, 1)
		b.relu()
	}
	b.node("Flatten", nil)
	hidden := b.scaled(4096)
	b.dense(b.channels*7*7, hidden)
	b.relu()
	b.dense(hidden, hidden)
	b.relu()
	b.dense(hidden, 1000)
}

func resNet34(b *wholeNet) {
	b.conv(b.scaled(64), 7, 2, 3, 1)
	b.batchNorm(1)
	b.relu()
	b.maxPool(3, 2, 1)
	for stage, blocks := range []int{3, 4, 6, 3} {
		outs := b.scaled(64 << stage)
		for block := range blocks {
			from, in, stride := b.at, b.channels, 1
			if stage > 0 && block == 0 {
				stride = 2
			}
			b.conv(outs, 3, stride, 1, 1)
			b.batchNorm(1)
			b.relu()
			b.conv(outs, 3, 1, 1, 1)
			b.batchNorm(0.3)
			made := b.at
			if b.at = from; stride == 2 {
				b.channels = in
				b.conv(outs, 1, 2, 0, 1)
				b.batchNorm(1)
			}
			b.node("Add", nil, made)
			b.relu()
		}
	}
	b.classes()
}

func mobileNet(b *wholeNet) {
	step := func(outs, k, stride, groups int) {
		b.conv(outs, k, stride, k/2, groups)
		b.batchNorm(1)
		b.relu6()
	}
	step(b.scaled(32), 3, 2, 1)
	for _, l := range []struct{ outs, stride int }{{64, 1}, {128, 2}, {128, 1}, {256, 2}, {256, 1}, {512, 2}, {512, 1}, {512, 1}, {512, 1}, {512, 1}, {512, 1}, {1024, 2}, {1024, 1}} {
		step(b.channels, 3, l.stride, b.channels)
		step(b.scaled(l.outs), 1, 1, 1)
	}
	b.classes()
}

func mobileNetV2(b *wholeNet) {
	b.conv(b.scaled(32), 3, 2, 1, 1)
	b.batchNorm(1)
	b.relu6()
	for _, l := range []struct{ expand, outs, count, stride int }{{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}} {
		for i := range l.count {
			from, in, stride := b.at, b.channels, 1
			if i == 0 {
				stride = l.stride
			}
			if l.expand > 1 {
				b.conv(in*l.expand, 1, 1, 0, 1)
				b.batchNorm(1)
				b.relu6()
			}
			b.conv(b.channels, 3, stride, 1, b.channels)
			b.batchNorm(1)
			b.relu6()
			b.conv(b.scaled(l.outs), 1, 1, 0, 1)
			b.batchNorm(0.5)
			if i > 0 {
				b.node("Add", nil, from)
			}
		}
	}
	b.conv(b.scaled(1280), 1, 1, 0, 1)
	b.batchNorm(1)
	b.relu6()
	b.classes()
}

func srvgg(b *wholeNet) {
	outs := b.scaled(64)
	for range 17 {
		b.conv(outs, 3, 1, 1, 1)
		b.node("PRelu", nil, b.normal(0.2, 0.1, int64(outs), 1, 1))
	}
	b.conv(48, 3, 1, 1, 1)
	b.node("DepthToSpace", map[string]any{"blocksize": 4, "mode": "CRD"})
	enlarged := b.at
	b.Init = append(b.Init, Tensor{Name: "scales", Dims: []int64{4}, Floats: []float32{1, 1, 4, 4}})
	b.at = "x"
	b.node("Resize", map[string]any{"mode": "nearest", "nearest_mode": "floor", "coordinate_transformation_mode": "asymmetric"}, "", "scales")
	b.node("Add", nil, enlarged)
}

// PseudoPicture is the k-th made-up input of n samples for a network: normal ones, as
// normalised pictures have them.
func PseudoPicture(k uint64, n int) []float32 {
	rng := rand.New(rand.NewPCG(k, 42))
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(rng.NormFloat64())
	}
	return v
}

// Summary is what golden files keep of a result.
type Summary struct {
	First  []float32 `json:"first"`  // some samples
	Sum    float64   `json:"sum"`    // of all
	Weight float64   `json:"weight"` // sum of all, each times its place modulo 7 less 3
	Most   float64   `json:"most"`   // largest magnitude
}

// Summarise makes the summary of a result.
func Summarise(v []float32) Summary {
	s := Summary{First: v[:min(8, len(v))]}
	for i, x := range v {
		s.Sum += float64(x)
		s.Weight += float64(x) * float64(i%7-3)
		s.Most = max(s.Most, math.Abs(float64(x)))
	}
	return s
}

// Compare holds a result to a summary: 1e-4 of the largest sample, for sums times the root of
// their number.
func (want Summary) Compare(t testing.TB, input int, v []float32) {
	t.Helper()
	got, one := Summarise(v), 1e-4*want.Most
	all := one * math.Sqrt(float64(len(v)))
	for i, w := range want.First {
		if d := math.Abs(float64(got.First[i] - w)); !(d <= one) {
			t.Errorf("input %d, sample %d: %v, onnxruntime makes %v", input, i, got.First[i], w)
		}
	}
	if d := math.Abs(got.Sum - want.Sum); !(d <= all) {
		t.Errorf("input %d: sum %v, onnxruntime's %v", input, got.Sum, want.Sum)
	}
	if d := math.Abs(got.Weight - want.Weight); !(d <= 3*all) {
		t.Errorf("input %d: weighted sum %v, onnxruntime's %v", input, got.Weight, want.Weight)
	}
	if d := math.Abs(got.Most - want.Most); !(d <= one) {
		t.Errorf("input %d: largest magnitude %v, onnxruntime's %v", input, got.Most, want.Most)
	}
}
