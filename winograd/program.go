package winograd

import (
	"errors"
	"fmt"
	"math"
)

// OpKind is the kind of an instruction.
type OpKind uint8

const (
	OpAdd OpKind = iota // ±A ± B
	OpMul               // C·A
	OpFMA               // C·A ± B, rounded once
)

// Operand is a value of a program, possibly negated: values 0..In-1 are the
// inputs, value In+i is made by instruction i.
type Operand struct {
	V   int
	Neg bool
}

func (o Operand) flip() Operand { return Operand{o.V, !o.Neg} }

// Instr makes one value from earlier ones. A of OpMul and OpFMA is never
// negated: the sign is in C.
type Instr struct {
	Op   OpKind
	C    Surd // OpMul, OpFMA
	A, B Operand

	c32 float32 // C as the generated code has it
}

// Program is straight-line code for y = M·x: every value is assigned once.
type Program struct {
	In   int
	Code []Instr
	Out  []Operand
}

// Counts is what a program costs for each element of its vector type.
type Counts struct {
	Add, Mul, FMA int
	// Live is the largest number of values that exist at once: inputs until their
	// last use, temporaries likewise, outputs from when they are made to the end.
	Live int
}

// Ops is the number of arithmetic instructions.
func (c Counts) Ops() int { return c.Add + c.Mul + c.FMA }

func (c Counts) String() string {
	return fmt.Sprintf("%d add, %d mul, %d fma, %d live", c.Add, c.Mul, c.FMA, c.Live)
}

// Compile turns the product of factors, the first applied first, into a program.
// Several ways of sharing sub-expressions are tried and the one with the fewest
// instructions, then the fewest live values, is kept; the choice is deterministic.
// It refuses an empty factor, a zero row and sizes that do not chain.
func Compile(factors ...Matrix) (*Program, error) {
	if len(factors) == 0 {
		return nil, errors.New("winograd compile: no matrix given")
	}
	var whole *Program
	for i, m := range factors {
		if i > 0 && m.Cols() != len(factors[i-1]) {
			return nil, fmt.Errorf("winograd compile: factor %d has %d columns, factor %d makes %d values", i, m.Cols(), i-1, len(factors[i-1]))
		}
		p, err := compileOne(m)
		if err != nil {
			return nil, fmt.Errorf("winograd compile: factor %d: %w", i, err)
		}
		if whole == nil {
			whole = p
			continue
		}
		whole = whole.then(p).withoutUnread()
	}
	whole.schedule()
	return whole, nil
}

func compileOne(m Matrix) (*Program, error) {
	if m.Cols() == 0 {
		return nil, errors.New("empty matrix")
	}
	for i, row := range m {
		zero := true
		for _, x := range row {
			zero = zero && x.IsZero()
		}
		if len(row) != m.Cols() {
			return nil, fmt.Errorf("row %d has %d numbers, row 0 has %d", i, len(row), m.Cols())
		}
		if zero {
			return nil, fmt.Errorf("row %d is zero", i)
		}
	}
	var best *Program
	for s := range 4 {
		p := newForms(m)
		if s&1 != 0 {
			p.pairRows()
		}
		if s&2 != 0 {
			p.pairColumns()
		}
		p.shareTerms()
		q := p.lower()
		q.schedule()
		if best == nil || q.Counts().less(best.Counts()) {
			best = q
		}
	}
	return best, nil
}

func (c Counts) less(d Counts) bool {
	return c.Ops() < d.Ops() || c.Ops() == d.Ops() && c.Live < d.Live
}

// then is the program that feeds the outputs of p to q.
func (p *Program) then(q *Program) *Program {
	r := &Program{In: p.In, Code: append([]Instr(nil), p.Code...)}
	at := func(o Operand) Operand {
		if o.V < q.In {
			src := p.Out[o.V]
			return Operand{src.V, src.Neg != o.Neg}
		}
		return Operand{o.V - q.In + p.In + len(p.Code), o.Neg}
	}
	for _, in := range q.Code {
		in.A, in.B = at(in.A), at(in.B)
		if in.Op != OpAdd && in.A.Neg {
			in.A.Neg = false
			in.C = in.C.Neg()
			in.c32 = -in.c32
		}
		r.Code = append(r.Code, in)
	}
	for _, o := range q.Out {
		r.Out = append(r.Out, at(o))
	}
	return r
}

// withoutUnread drops instructions whose value nobody reads.
func (p *Program) withoutUnread() *Program {
	needed := make([]bool, p.In+len(p.Code))
	for _, o := range p.Out {
		needed[o.V] = true
	}
	for i := len(p.Code) - 1; i >= 0; i-- {
		if needed[p.In+i] {
			for _, v := range p.Code[i].reads() {
				needed[v] = true
			}
		}
	}
	var order []int
	for i := range p.Code {
		if needed[p.In+i] {
			order = append(order, i)
		}
	}
	return p.reordered(order)
}

// Counts reports the cost of the program in its present order.
func (p *Program) Counts() Counts {
	var c Counts
	last := p.lastUses()
	live := 0
	for v := range p.In {
		if last[v] >= 0 {
			live++
		}
	}
	c.Live = live
	for i, in := range p.Code {
		switch in.Op {
		case OpAdd:
			c.Add++
		case OpMul:
			c.Mul++
		case OpFMA:
			c.FMA++
		}
		for _, v := range in.reads() {
			if last[v] == i {
				live--
				last[v] = -1 // counted, even if read twice by one instruction
			}
		}
		live++
		c.Live = max(c.Live, live)
	}
	return c
}

// lastUses gives for every value the last instruction that reads it, len(Code)
// for outputs, −1 for a value nobody reads.
func (p *Program) lastUses() []int {
	last := make([]int, p.In+len(p.Code))
	for i := range last {
		last[i] = -1
	}
	for i, in := range p.Code {
		for _, v := range in.reads() {
			last[v] = i
		}
	}
	for _, o := range p.Out {
		last[o.V] = len(p.Code)
	}
	return last
}

func (in *Instr) reads() []int {
	if in.Op == OpMul {
		return []int{in.A.V}
	}
	return []int{in.A.V, in.B.V}
}

// EvalExact runs the program on exact numbers; x has In of them.
func (p *Program) EvalExact(x []Surd) []Surd {
	v := append([]Surd(nil), x[:p.In]...)
	get := func(o Operand) Surd {
		if o.Neg {
			return v[o.V].Neg()
		}
		return v[o.V]
	}
	for _, in := range p.Code {
		switch in.Op {
		case OpAdd:
			v = append(v, get(in.A).Add(get(in.B)))
		case OpMul:
			v = append(v, in.C.Mul(get(in.A)))
		case OpFMA:
			v = append(v, in.C.Mul(get(in.A)).Add(get(in.B)))
		}
	}
	y := make([]Surd, len(p.Out))
	for i, o := range p.Out {
		y[i] = get(o)
	}
	return y
}

// Eval32 runs the program in float32 as the generated code does: constants
// rounded to float32, multiply-add rounded once (through float64, which may
// round twice in rare cases). src has In numbers, dst len(Out); they may be the
// same slice.
func (p *Program) Eval32(dst, src []float32) {
	var local [160]float32
	v := local[:]
	if n := p.In + len(p.Code); n > len(v) {
		v = make([]float32, n)
	}
	copy(v, src[:p.In])
	for i := range p.Code {
		in := &p.Code[i]
		a, b := v[in.A.V], float32(0)
		if in.A.Neg {
			a = -a
		}
		if in.Op != OpMul {
			b = v[in.B.V]
			if in.B.Neg {
				b = -b
			}
		}
		switch in.Op {
		case OpAdd:
			v[p.In+i] = a + b
		case OpMul:
			v[p.In+i] = in.c32 * a
		case OpFMA:
			v[p.In+i] = float32(math.FMA(float64(in.c32), float64(a), float64(b)))
		}
	}
	for i, o := range p.Out {
		dst[i] = v[o.V]
		if o.Neg {
			dst[i] = -dst[i]
		}
	}
}

// InputProgram is the code of V = BT·d, one dimension.
func (t *Transform) InputProgram() (*Program, error) { return compileFactored(t.btFactors, t.BT) }

// OutputProgram is the code of y = AT·M, one dimension.
func (t *Transform) OutputProgram() (*Program, error) { return compileFactored(t.atFactors, t.AT) }

func compileFactored(factors []Matrix, m Matrix) (*Program, error) {
	if factors != nil {
		return Compile(factors...)
	}
	return Compile(m)
}
