package pickle

// stepContainer runs the opcodes of the stack, tuples, lists and dictionaries.
func (m *machine) stepContainer(op byte) (known bool, err error) {
	switch op {
	case opMark:
		m.push(mark{})
	case opPop:
		if len(m.stack) == 0 {
			return true, formatError("the stack is empty")
		}
		m.stack = m.stack[:len(m.stack)-1]
	case opPopMark:
		_, err = m.popMark()
	case opEmptyTuple:
		m.push(tuple(nil))
	case opTuple1, opTuple2, opTuple3:
		items, e := m.popN(int(op-opTuple1) + 1)
		m.push(tuple(items))
		err = e
	case opTuple:
		items, e := m.popMark()
		m.push(tuple(items))
		err = e
	case opEmptyList:
		m.push(&list{})
	case opAppend:
		items, e := m.popN(1)
		if e != nil {
			return true, e
		}
		err = m.extend(items)
	case opAppends:
		items, e := m.popMark()
		if e != nil {
			return true, e
		}
		err = m.extend(items)
	case opEmptyDict:
		m.push(&dict{})
	case opSetItem:
		items, e := m.popN(2)
		if e != nil {
			return true, e
		}
		err = m.setItems(items)
	case opSetItems:
		items, e := m.popMark()
		if e != nil {
			return true, e
		}
		err = m.setItems(items)
	default:
		return false, nil
	}
	return true, err
}

// extend adds items to the list on top of the stack.
func (m *machine) extend(items []value) error {
	top, err := m.pop()
	if err != nil {
		return err
	}
	l, ok := top.(*list)
	if !ok {
		return formatError("items are appended to %s", kind(top))
	}
	l.items = append(l.items, items...)
	m.push(l)
	return nil
}

// setItems adds keys and values, alternating, to the dictionary on top of the stack.
func (m *machine) setItems(items []value) error {
	top, err := m.pop()
	if err != nil {
		return err
	}
	d, ok := top.(*dict)
	if !ok {
		return formatError("items are set in %s", kind(top))
	}
	if len(items)%2 != 0 {
		return formatError("a key has no value")
	}
	for i := 0; i < len(items); i += 2 {
		switch items[i].(type) {
		case string, int64, bool, float64, tuple, bytesValue, nil:
		default:
			return formatError("%s is used as a key", kind(items[i]))
		}
		d.keys = append(d.keys, items[i])
		d.values = append(d.values, items[i+1])
	}
	m.push(d)
	return nil
}

// operandWidth is the bytes of the number after an opcode of stepMemo.
var operandWidth = map[byte]int64{opBinPut: 1, opLongBinPut: 4, opBinGet: 1, opLongBinGet: 4, opProto: 1, opFrame: 8}

// stepMemo runs the opcodes that number values and fetch them again, and those
// that only announce the form of the pickle.
func (m *machine) stepMemo(op byte) (known bool, err error) {
	width := operandWidth[op]
	if width == 0 && op != opMemoize {
		return false, nil
	}
	n, err := m.number(width)
	if err != nil {
		return true, err
	}
	switch op {
	case opProto:
		if n < 2 || n > 5 {
			return true, formatError("pickle protocol %d: want 2..5", n)
		}
		return true, nil
	case opFrame:
		return true, nil
	case opBinGet, opLongBinGet:
		v, ok := m.memo[uint32(n)]
		if !ok {
			return true, formatError("value %d was never stored", n)
		}
		m.push(v)
		return true, nil
	case opMemoize:
		n = uint64(len(m.memo))
	}
	v, err := m.pop()
	if err != nil {
		return true, err
	}
	m.push(v)
	m.memo[uint32(n)] = v
	return true, nil
}
