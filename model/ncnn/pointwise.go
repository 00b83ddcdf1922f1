package ncnn

import "math"

// one checks that the layer has one input and one output.
func (t *translation) one(op string, a attrs, more ...string) error {
	if err := t.sides(1, 1); err != nil {
		return err
	}
	t.node(op, a, t.l.out[0], append([]string{t.l.in[0]}, more...)...)
	return nil
}

// plain is a layer that ONNX has as it is.
func (t *translation) plain() error {
	return t.one(map[string]string{"Sigmoid": "Sigmoid", "TanH": "Tanh", "Swish": "Swish", "Mish": "Mish"}[t.l.kind], nil)
}

func (t *translation) relu() error {
	if slope := t.l.float(0, 0); slope != 0 {
		return t.one("LeakyRelu", attrs{"alpha": slope})
	}
	return t.one("Relu", nil)
}

func (t *translation) clip() error {
	low, high := t.l.float(0, -math.MaxFloat32), t.l.float(1, math.MaxFloat32)
	return t.one("Clip", nil, t.numbers([]float32{low}), t.numbers([]float32{high}))
}

func (t *translation) elu() error { return t.one("Elu", attrs{"alpha": t.l.float(0, 0.1)}) }

func (t *translation) gelu() error {
	if t.l.int(0, 0) != 0 {
		return t.one("Gelu", attrs{"approximate": "tanh"})
	}
	return t.one("Gelu", nil)
}

// hard is x·min(max(alpha·x + beta, 0), 1), or that without x.
func (t *translation) hard() error {
	alpha, beta := t.l.float(0, 0.2), t.l.float(1, 0.5)
	if t.l.kind == "HardSigmoid" {
		return t.one("HardSigmoid", attrs{"alpha": alpha, "beta": beta})
	}
	if err := t.sides(1, 1); err != nil {
		return err
	}
	t.hardSwish(alpha, beta, t.l.in[0], t.l.out[0])
	return nil
}

func (t *translation) hardSwish(alpha, beta float32, in, out string) {
	if beta == 0.5 && math.Abs(float64(alpha)-1.0/6) < 1e-6 {
		t.node("HardSwish", nil, out, in)
		return
	}
	t.node("Mul", nil, out, in, t.node("HardSigmoid", attrs{"alpha": alpha, "beta": beta}, "", in))
}

// softmax is along channels, rows or columns.
func (t *translation) softmax() error {
	t.l.int(1, 0) // how newer versions say that axis counts as it should
	axis, err := t.axis(t.l.int(0, 0))
	if err != nil {
		return err
	}
	return t.one("Softmax", attrs{"axis": axis})
}

// axis brings a dimension of channels, rows and columns to ONNX's.
func (t *translation) axis(a int) (int, error) {
	if a < -3 || a > 2 {
		return 0, t.l.refuse("its axis is %d: want one of three", a)
	}
	return (a+3)%3 + 1, nil
}

var unaries = map[int]string{0: "Abs", 1: "Neg", 2: "Floor", 3: "Ceil", 5: "Sqrt", 7: "Exp", 8: "Log", 9: "Sin", 10: "Cos", 15: "Reciprocal", 16: "Tanh"}

func (t *translation) unary() error {
	kind := t.l.int(0, 0)
	switch kind {
	case 4:
		if err := t.sides(1, 1); err != nil {
			return err
		}
		t.node("Mul", nil, t.l.out[0], t.l.in[0], t.l.in[0])
		return nil
	case 6:
		if err := t.sides(1, 1); err != nil {
			return err
		}
		t.node("Reciprocal", nil, t.l.out[0], t.node("Sqrt", nil, "", t.l.in[0]))
		return nil
	}
	if unaries[kind] == "" {
		return t.l.refuse("its function has the number %d, which is not read", kind)
	}
	return t.one(unaries[kind], nil)
}

var binaries = map[int]string{0: "Add", 1: "Sub", 2: "Mul", 3: "Div", 4: "Max", 5: "Min", 6: "Pow", 7: "Sub", 8: "Div", 9: "Pow"}

// binary is a function of two blobs, or of one and a number. From 7 on the right operand stands left.
func (t *translation) binary() error {
	kind, number := t.l.int(0, 0), t.l.int(1, 0) != 0
	value := t.l.float(2, 0)
	op := binaries[kind]
	if op == "" {
		return t.l.refuse("its function has the number %d, which is not read", kind)
	}
	operands := []string{}
	if number {
		if err := t.sides(1, 1); err != nil {
			return err
		}
		operands = []string{t.l.in[0], t.numbers([]float32{value})}
	} else {
		if err := t.sides(2, 1); err != nil {
			return err
		}
		operands = append(operands, t.l.in...)
	}
	if kind >= 7 {
		operands[0], operands[1] = operands[1], operands[0]
	}
	t.node(op, nil, t.l.out[0], operands...)
	return nil
}

// eltwise is the product, the weighted sum or the largest of any number of blobs.
func (t *translation) eltwise() error {
	kind, weights := t.l.int(0, 0), t.l.floats(1)
	if len(t.l.in) < 2 || len(t.l.out) != 1 {
		return t.l.refuse("%d inputs and %d outputs", len(t.l.in), len(t.l.out))
	}
	op := map[int]string{0: "Mul", 1: "Add", 2: "Max"}[kind]
	if op == "" || len(weights) > 0 && (kind != 1 || len(weights) != len(t.l.in)) {
		return t.l.refuse("its function has the number %d and %d weights", kind, len(weights))
	}
	last := ""
	for i, in := range t.l.in {
		if len(weights) > 0 && weights[i] != 1 {
			in = t.node("Mul", nil, "", in, t.numbers(weights[i:i+1]))
		}
		switch {
		case i == 0:
			last = in
		case i == len(t.l.in)-1:
			t.node(op, nil, t.l.out[0], last, in)
		default:
			last = t.node(op, nil, "", last, in)
		}
	}
	return nil
}

// dropout is of inference, where it is a factor.
func (t *translation) dropout() error {
	if scale := t.l.float(0, 1); scale != 1 {
		return t.one("Mul", nil, t.numbers([]float32{scale}))
	}
	return t.one("Identity", nil)
}
