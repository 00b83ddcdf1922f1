package pickle

import (
	"bufio"
	"encoding/binary"
	"io"
	"math"
	"strings"
	"unicode/utf8"
)

// Opcodes of protocols 2 to 4 that state dicts use.
const (
	opMark           = '('
	opStop           = '.'
	opPop            = '0'
	opPopMark        = '1'
	opBinFloat       = 'G'
	opBinInt         = 'J'
	opBinInt1        = 'K'
	opBinInt2        = 'M'
	opNone           = 'N'
	opBinPersID      = 'Q'
	opReduce         = 'R'
	opBinString      = 'T'
	opShortBinString = 'U'
	opBinUnicode     = 'X'
	opAppend         = 'a'
	opBuild          = 'b'
	opGlobal         = 'c'
	opAppends        = 'e'
	opBinGet         = 'h'
	opLongBinGet     = 'j'
	opEmptyList      = ']'
	opBinPut         = 'q'
	opLongBinPut     = 'r'
	opSetItem        = 's'
	opTuple          = 't'
	opEmptyTuple     = ')'
	opSetItems       = 'u'
	opEmptyDict      = '}'
	opProto          = 0x80
	opTuple1         = 0x85
	opTuple2         = 0x86
	opTuple3         = 0x87
	opNewTrue        = 0x88
	opNewFalse       = 0x89
	opLong1          = 0x8a
	opBinBytes       = 'B'
	opShortBinBytes  = 'C'
	opShortUnicode   = 0x8c
	opStackGlobal    = 0x93
	opMemoize        = 0x94
	opFrame          = 0x95
)

// maxPickle bounds the bytes of one pickle. A value takes up to 80 bytes of
// memory for one of the pickle; a state dict needs about 200 bytes for a tensor.
const maxPickle = 4 << 20

// input is the bytes of a file, with the position that was reached.
type input struct {
	r         *bufio.Reader
	pos, size int64
	end       int64 // of the pickle that is being read, at most
}

func newInput(r io.Reader, size int64) *input { return &input{r: bufio.NewReader(r), size: size} }

// take reads n bytes, which are checked against the size before they are allocated.
func (in *input) take(n int64) ([]byte, error) {
	if n < 0 || n > in.end-in.pos {
		return nil, formatError("byte %d: %d more bytes are wanted, %d are left of the file or of the %d a pickle may have", in.pos, n, in.end-in.pos, maxPickle)
	}
	b := make([]byte, n)
	got, err := io.ReadFull(in.r, b)
	in.pos += int64(got)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return nil, formatError("byte %d: the data ends before its size", in.pos)
	}
	return b, err
}

// line reads up to a newline, which is not part of the result.
func (in *input) line() (string, error) {
	var b strings.Builder
	for {
		c, err := in.take(1)
		if err != nil {
			return "", err
		}
		if c[0] == '\n' {
			return b.String(), nil
		}
		if b.Len() == 256 {
			return "", formatError("byte %d: a name of more than 256 bytes", in.pos)
		}
		b.WriteByte(c[0])
	}
}

// mark is pushed to tell where a run of values begins.
type mark struct{}

// machine runs one pickle. Every opcode makes at most one value, and what opcodes copy
// is bounded, so that memory stays in proportion to the pickle's length.
type machine struct {
	in     *input
	copied int64 // pairs that OrderedDicts were made of
	stack  []value
	memo   map[uint32]value
	stores *storages
}

// run runs a pickle to its end and gives its value. The storages it names are
// added to s, which is nil where none may be named.
func run(in *input, s *storages) (value, error) {
	in.end = min(in.size, in.pos+maxPickle)
	m := &machine{in: in, memo: make(map[uint32]value), stores: s}
	for {
		at := in.pos
		op, err := in.take(1)
		if err != nil {
			return nil, err
		}
		if op[0] == opStop {
			v, err := m.pop()
			if err == nil && len(m.stack) > 0 {
				err = formatError("%d values are left over", len(m.stack))
			}
			return v, placed(at, err)
		}
		if err := m.step(op[0]); err != nil {
			return nil, placed(at, err)
		}
	}
}

// placed adds the place in the pickle to an error that has none yet.
func placed(at int64, err error) error {
	if e, ok := err.(FormatError); ok && !strings.HasPrefix(string(e), "byte ") {
		return formatError("byte %d: %s", at, string(e))
	}
	return err
}

func (m *machine) push(v value) { m.stack = append(m.stack, v) }

func (m *machine) pop() (value, error) {
	if len(m.stack) == 0 {
		return nil, formatError("the stack is empty")
	}
	v := m.stack[len(m.stack)-1]
	if _, ok := v.(mark); ok {
		return nil, formatError("a mark is where a value is wanted")
	}
	m.stack = m.stack[:len(m.stack)-1]
	return v, nil
}

// popN takes the n uppermost values, in the order they were pushed.
func (m *machine) popN(n int) ([]value, error) {
	out := make([]value, n)
	for i := n - 1; i >= 0; i-- {
		v, err := m.pop()
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// popMark takes the values above the uppermost mark, and the mark.
func (m *machine) popMark() ([]value, error) {
	for i := len(m.stack) - 1; i >= 0; i-- {
		if _, ok := m.stack[i].(mark); ok {
			out := append([]value(nil), m.stack[i+1:]...)
			m.stack = m.stack[:i]
			return out, nil
		}
	}
	return nil, formatError("no mark is on the stack")
}

// number reads an unsigned little-endian number of n bytes.
func (m *machine) number(n int64) (uint64, error) {
	b, err := m.in.take(n)
	if err != nil {
		return 0, err
	}
	var full [8]byte
	copy(full[:], b)
	return binary.LittleEndian.Uint64(full[:]), nil
}

// text reads a string whose length stands before it in n bytes.
func (m *machine) text(n int64) (string, error) {
	length, err := m.number(n)
	if err != nil {
		return "", err
	}
	b, err := m.in.take(int64(length))
	return string(b), err
}

// step runs one opcode. The groups below each say whether they knew it.
func (m *machine) step(op byte) error {
	for _, group := range []func(byte) (bool, error){m.stepConstant, m.stepContainer, m.stepMemo, m.stepName} {
		if known, err := group(op); known {
			return err
		}
	}
	return formatError("opcode %#02x is not one that a state dict uses", op)
}

// stepConstant pushes a value that stands in the pickle itself.
func (m *machine) stepConstant(op byte) (known bool, err error) {
	var v value
	switch op {
	case opNone:
		v = nil
	case opNewTrue:
		v = true
	case opNewFalse:
		v = false
	case opBinInt:
		n, e := m.number(4)
		v, err = int64(int32(uint32(n))), e
	case opBinInt1:
		n, e := m.number(1)
		v, err = int64(n), e
	case opBinInt2:
		n, e := m.number(2)
		v, err = int64(n), e
	case opLong1:
		s, e := m.text(1)
		v, err = longValue(s), e
	case opBinFloat:
		b, e := m.in.take(8)
		if e != nil {
			return true, e
		}
		v = math.Float64frombits(binary.BigEndian.Uint64(b))
	case opBinUnicode, opShortUnicode, opShortBinString, opBinString:
		n := int64(4)
		if op == opShortUnicode || op == opShortBinString {
			n = 1
		}
		s, e := m.text(n)
		if e == nil && !utf8.ValidString(s) {
			e = formatError("a string is not valid UTF-8")
		}
		v, err = s, e
	case opBinBytes, opShortBinBytes:
		n := int64(4)
		if op == opShortBinBytes {
			n = 1
		}
		s, e := m.text(n)
		v, err = bytesValue(s), e
	default:
		return false, nil
	}
	if err == nil {
		m.push(v)
	}
	return true, err
}

// longValue reads a two's-complement little-endian integer.
func longValue(s string) value {
	if len(s) > 8 {
		return bigValue(s)
	}
	n := uint64(0)
	for i := len(s) - 1; i >= 0; i-- {
		n = n<<8 | uint64(s[i])
	}
	if len(s) == 0 {
		return int64(0)
	}
	shift := 64 - 8*len(s)
	return int64(n<<shift) >> shift
}
