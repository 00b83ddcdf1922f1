package clrt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"unsafe"
)

// Local is a kernel argument: that many bytes of local memory.
type Local int

// Raw is a kernel argument passed as these bytes, for vectors and structs by
// value.
type Raw []byte

// SetArgs sets all arguments. An argument is one of
//
//   - *Buffer, or nil for the null pointer
//   - Local for local memory
//   - int8 to int64, uint8 to uint64, float32, float64 (not int, whose size
//     is not OpenCL's)
//   - an array of those, as a vector; 3-vectors are passed as arrays of 4
//   - Raw for any other value
//
// The kernel keeps the buffers reachable but not open. Where the driver tells
// the parameters' types, SetArgs checks them.
func (k *Kernel) SetArgs(args ...any) error {
	if err := k.use(); err != nil {
		return err
	}
	defer k.done()
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(args) != len(k.params) {
		at := min(len(args), len(k.params))
		what := "extra"
		if at < len(k.params) {
			what = "missing " + k.params[at].String()
		}
		return fmt.Errorf("clrt: kernel %s takes %d arguments but was given %d: argument %d is %s", k.name, len(k.params), len(args), at, what)
	}
	for i, v := range args {
		if err := k.setLocked(i, v); err != nil {
			return err
		}
	}
	return nil
}

// SetArg sets argument i, counted from 0, as SetArgs does.
func (k *Kernel) SetArg(i int, v any) error {
	if err := k.use(); err != nil {
		return err
	}
	defer k.done()
	k.mu.Lock()
	defer k.mu.Unlock()
	if i < 0 || i >= len(k.params) {
		return fmt.Errorf("clrt: kernel %s takes %d arguments and has no argument %d", k.name, len(k.params), i)
	}
	return k.setLocked(i, v)
}

// String describes the parameter as it stands in the source.
func (p *param) String() string {
	switch {
	case p.name == "":
		return "of unknown name"
	case p.typ == "":
		return p.name
	}
	return p.typ + " " + p.name
}

func (k *Kernel) argError(i int, format string, a ...any) error {
	return fmt.Errorf("clrt: kernel %s, argument %d (%s): %w", k.name, i, &k.params[i], fmt.Errorf(format, a...))
}

func (k *Kernel) setLocked(i int, v any) error {
	p := &k.params[i]
	if b, ok := v.(*Buffer); ok || v == nil {
		return k.setBuffer(i, b)
	}
	if n, ok := v.(Local); ok {
		if p.space != 0 && p.space != spaceLocal {
			return k.argError(i, "is not in local memory")
		}
		if n <= 0 {
			return k.argError(i, "%d bytes of local memory", int(n))
		}
		return k.setRaw(i, uintptr(n), nil, nil)
	}
	if p.space != 0 && p.space != spacePrivate {
		return k.argError(i, "is a pointer and was given %T", v)
	}
	val, err := k.encode(v)
	if err != nil {
		return k.argError(i, "%w", err)
	}
	if err := checkScalar(p.typ, v); err != nil {
		return k.argError(i, "%w", err)
	}
	return k.setRaw(i, uintptr(len(val)), val, nil)
}

func (k *Kernel) setBuffer(i int, b *Buffer) error {
	if s := k.params[i].space; s != 0 && s != spaceGlobal && s != spaceConstant {
		return k.argError(i, "is no global or constant pointer and was given a buffer")
	}
	if b == nil {
		clear(k.value[:8])
		return k.setRaw(i, 8, k.value[:8], nil)
	}
	if b.ctx != k.ctx {
		return k.argError(i, "buffer %q belongs to another context", b.purpose)
	}
	if !b.ref.acquire() {
		return k.argError(i, "buffer %q is %w", b.purpose, ErrClosed)
	}
	defer b.put()
	binary.NativeEndian.PutUint64(k.value[:], uint64(b.ref.id))
	return k.setRaw(i, 8, k.value[:8], b)
}

// setRaw passes the value, or for local memory the size alone, unless the argument has it
// already: of a kernel that goes down a picture only the rows change. A buffer is told by
// its object here, as the driver may give the handle of a closed one to the next.
func (k *Kernel) setRaw(i int, size uintptr, val []byte, b *Buffer) error {
	p := &k.params[i]
	if p.set && p.buf == b && p.size == size && bytes.Equal(p.value, val) {
		return nil
	}
	p.set = false // whatever a driver leaves behind that refuses
	r := k.ctx.lib.call(symSetKernelArg, k.ref.id, uintptr(i), size, uintptr(unsafe.Pointer(unsafe.SliceData(val))))
	if err := check(symSetKernelArg, r, ""); err != nil {
		return k.argError(i, "%d bytes: %w", size, err)
	}
	p.set, p.buf, p.size, p.value = true, b, size, append(p.value[:0], val...)
	return nil
}

// encode returns the bytes of a value, those of common types in k.value.
func (k *Kernel) encode(v any) ([]byte, error) {
	e := binary.NativeEndian
	switch x := v.(type) {
	case int32:
		e.PutUint32(k.value[:], uint32(x))
		return k.value[:4], nil
	case uint32:
		e.PutUint32(k.value[:], x)
		return k.value[:4], nil
	case float32:
		e.PutUint32(k.value[:], math.Float32bits(x))
		return k.value[:4], nil
	case int64:
		e.PutUint64(k.value[:], uint64(x))
		return k.value[:8], nil
	case uint64:
		e.PutUint64(k.value[:], x)
		return k.value[:8], nil
	case Raw:
		if len(x) == 0 {
			return nil, errors.New("an empty value")
		}
		return x, nil
	case int, uint:
		return nil, fmt.Errorf("%T has no fixed size; convert it to int32 or int64", v)
	}
	t := reflect.TypeOf(v)
	elem := t
	if t.Kind() == reflect.Array {
		elem = t.Elem()
	}
	switch elem.Kind() {
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Float32, reflect.Float64,
		reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if p, err := binary.Append(nil, e, v); err == nil && len(p) > 0 {
			return p, nil
		}
	}
	return nil, fmt.Errorf("a value of type %T cannot be an argument", v)
}

// checkScalar catches what the driver cannot, which sees only the size: an
// integer for a float or a float for an integer.
func checkScalar(typ string, v any) error {
	var isFloat bool
	switch reflect.TypeOf(v).Kind() {
	case reflect.Float32, reflect.Float64:
		isFloat = true
	case reflect.Slice, reflect.Array:
		return nil
	}
	switch typ {
	case "char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "size_t",
		"unsigned char", "unsigned short", "unsigned int", "unsigned long":
		if isFloat {
			return fmt.Errorf("was given %T", v)
		}
	case "float", "double":
		if !isFloat {
			return fmt.Errorf("was given %T", v)
		}
	}
	return nil
}
