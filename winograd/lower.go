package winograd

// lower turns the forms into instructions, temporaries before their users.
func (p *forms) lower() *Program {
	l := &lowering{forms: p, prog: &Program{In: p.in}, at: make(map[int]Operand)}
	for v := range p.in {
		l.at[v] = Operand{V: v}
	}
	for _, f := range p.out {
		l.prog.Out = append(l.prog.Out, l.form(f))
	}
	return l.prog
}

type lowering struct {
	*forms
	prog *Program
	at   map[int]Operand // where each variable's value is
}

func (l *lowering) variable(v int) Operand {
	if o, ok := l.at[v]; ok {
		return o
	}
	o := l.form(l.temp[v-l.in])
	l.at[v] = o
	return o
}

func (l *lowering) emit(in Instr) Operand {
	if in.Op != OpAdd {
		if in.A.Neg {
			in.A.Neg = false
			in.C = in.C.Neg()
		}
		in.c32 = in.C.Float32()
	}
	l.prog.Code = append(l.prog.Code, in)
	return Operand{V: l.prog.In + len(l.prog.Code) - 1}
}

// form computes f: terms with coefficient ±1 are added first, positive before
// negative, and the others follow as multiply-adds.
func (l *lowering) form(f form) Operand {
	var plus, minus []Operand
	type term struct {
		c Surd
		o Operand
	}
	var scaled []term
	for _, v := range f.vars() {
		o := l.variable(v)
		switch f[v].unit() {
		case 0:
			scaled = append(scaled, term{f[v], o})
			continue
		case -1:
			o = o.flip()
		}
		if o.Neg {
			minus = append(minus, o)
		} else {
			plus = append(plus, o)
		}
	}
	units := append(plus, minus...)
	var acc Operand
	if len(units) > 0 {
		acc = units[0]
		for _, o := range units[1:] {
			acc = l.emit(Instr{Op: OpAdd, A: acc, B: o})
		}
	} else {
		acc = l.emit(Instr{Op: OpMul, C: scaled[0].c, A: scaled[0].o})
		scaled = scaled[1:]
	}
	for _, t := range scaled {
		acc = l.emit(Instr{Op: OpFMA, C: t.c, A: t.o, B: acc})
	}
	return acc
}

// schedule reorders the instructions so that fewer values live at once: of those
// whose operands exist it takes the one that ends most lives, then the earliest.
// It keeps the old order where the new one is no better.
func (p *Program) schedule() {
	before := p.Counts().Live
	order := p.greedyOrder()
	q := p.reordered(order)
	if q.Counts().Live < before {
		*p = *q
	}
}

func (p *Program) greedyOrder() []int {
	readers := make([]int, p.In+len(p.Code)) // reads still to come; outputs are read at the end
	for i := range p.Code {
		for _, v := range p.Code[i].reads() {
			readers[v]++
		}
	}
	for _, o := range p.Out {
		readers[o.V]++
	}
	done := make([]bool, p.In+len(p.Code))
	for v := range p.In {
		done[v] = true
	}
	order := make([]int, 0, len(p.Code))
	for len(order) < len(p.Code) {
		best, bestEnds := -1, -1
		for i := range p.Code {
			if done[p.In+i] {
				continue
			}
			ready, ends := true, 0
			for _, v := range p.Code[i].reads() {
				ready = ready && done[v]
				if readers[v] == 1 {
					ends++
				}
			}
			if ready && ends > bestEnds {
				best, bestEnds = i, ends
			}
		}
		for _, v := range p.Code[best].reads() {
			readers[v]--
		}
		done[p.In+best] = true
		order = append(order, best)
	}
	return order
}

// reordered is p with its instructions in another order that keeps every value
// before its readers.
func (p *Program) reordered(order []int) *Program {
	place := make([]int, p.In+len(p.Code))
	for v := range p.In {
		place[v] = v
	}
	for n, i := range order {
		place[p.In+i] = p.In + n
	}
	q := &Program{In: p.In, Code: make([]Instr, 0, len(order))}
	for _, i := range order {
		in := p.Code[i]
		in.A.V = place[in.A.V]
		if in.Op != OpMul {
			in.B.V = place[in.B.V]
		}
		q.Code = append(q.Code, in)
	}
	for _, o := range p.Out {
		q.Out = append(q.Out, Operand{place[o.V], o.Neg})
	}
	return q
}
