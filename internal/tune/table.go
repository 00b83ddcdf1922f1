package tune

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"enhance/pipeline/facts"
)

// Device is what a table holds for. Names are the driver's; Kernels is a hash of
// all kernel sources of the program (see exec.KernelHash).
type Device struct {
	Platform, Name, Driver, Kernels string
}

// Table is what is known about a device. Notes are findings of other kinds, such
// as the precision that passed a check, by a key of their finder's.
type Table struct {
	Device  Device
	Choices map[string]facts.Choice
	Notes   map[string]string
}

// New is an empty table.
func New(d Device) *Table {
	return &Table{Device: d, Choices: map[string]facts.Choice{}, Notes: map[string]string{}}
}

// Lookup finds the choice for a key. A nil table has none.
func (t *Table) Lookup(key string) (facts.Choice, bool) {
	if t == nil {
		return facts.Choice{}, false
	}
	c, ok := t.Choices[key]
	return c, ok
}

// Hash names a list of decisions, "key algorithm" each, whatever their order: 12
// hexadecimal digits.
func Hash(decisions map[string]string) string {
	h := sha256.New()
	for _, k := range slices.Sorted(maps.Keys(decisions)) {
		fmt.Fprintf(h, "%s\t%s\n", k, decisions[k])
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// The file is text, fields separated by tabs:
//
//	enhance tuning	1
//	device	PLATFORM	NAME	DRIVER	KERNELS
//	conv	KEY	ALGO	DEFAULT	SECONDS	DEFAULT SECONDS	GFLOPS	ERROR	TRIED
//	note	KEY	VALUE
//	sum	SHA-256 of everything before this line
const (
	magic   = "enhance tuning"
	version = "1"
	// maxFile and maxField bound what is read: a table has some hundred lines.
	maxFile  = 4 << 20
	maxField = 4096
)

// clean makes a driver's text fit a field.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0xfffd {
			return ' '
		}
		return r
	}, s)
	return strings.ToValidUTF8(s[:min(len(s), maxField)], "")
}

func (d Device) fields() []string {
	return []string{clean(d.Platform), clean(d.Name), clean(d.Driver), clean(d.Kernels)}
}

// Format is the table as a file. The same table gives the same bytes.
func (t *Table) Format() []byte {
	var b strings.Builder
	line := func(fields ...string) { b.WriteString(strings.Join(fields, "\t") + "\n") }
	line(magic, version)
	line(append([]string{"device"}, t.Device.fields()...)...)
	num := func(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
	for _, k := range slices.Sorted(maps.Keys(t.Choices)) {
		c := t.Choices[k]
		line("conv", clean(k), clean(c.Algo), clean(c.Default), num(c.Seconds), num(c.Before), num(c.GFLOPs), num(c.Error), strconv.Itoa(c.Tried))
	}
	for _, k := range slices.Sorted(maps.Keys(t.Notes)) {
		line("note", clean(k), clean(t.Notes[k]))
	}
	sum := sha256.Sum256([]byte(b.String()))
	line("sum", hex.EncodeToString(sum[:]))
	return []byte(b.String())
}

// Parse reads what Format wrote. Anything else is an error that names the line.
func Parse(data []byte) (*Table, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("tuning file: %d bytes, at most %d are read", len(data), maxFile)
	}
	text := string(data)
	at := strings.LastIndex(strings.TrimSuffix(text, "\n"), "\n") + 1
	sum := sha256.Sum256([]byte(text[:at]))
	if text[at:] != "sum\t"+hex.EncodeToString(sum[:])+"\n" {
		return nil, fmt.Errorf("tuning file: the checksum in the last line does not fit")
	}
	lines := strings.Split(strings.TrimSuffix(text[:at], "\n"), "\n")
	if len(lines) < 2 || lines[0] != magic+"\t"+version {
		return nil, fmt.Errorf("tuning file: line 1 is not %q, version %s", magic, version)
	}
	device := strings.Split(lines[1], "\t")
	if len(device) != 5 || device[0] != "device" {
		return nil, fmt.Errorf("tuning file: line 2 does not name a device")
	}
	t := New(Device{device[1], device[2], device[3], device[4]})
	for i, l := range lines[2:] {
		if err := t.parseLine(strings.Split(l, "\t")); err != nil {
			return nil, fmt.Errorf("tuning file: line %d: %w", i+3, err)
		}
	}
	return t, nil
}

func (t *Table) parseLine(f []string) error {
	for _, s := range f {
		if len(s) > maxField || clean(s) != s {
			return fmt.Errorf("a field is too long or holds control characters")
		}
	}
	switch {
	case f[0] == "note" && len(f) == 3:
		if _, twice := t.Notes[f[1]]; twice || f[1] == "" {
			return fmt.Errorf("note %q is empty or stands twice", f[1])
		}
		t.Notes[f[1]] = f[2]
		return nil
	case f[0] != "conv" || len(f) != 9:
		return fmt.Errorf("%q with %d fields is not known", f[0], len(f))
	}
	if _, twice := t.Choices[f[1]]; twice || f[1] == "" || f[2] == "" || f[3] == "" {
		return fmt.Errorf("key %q stands twice or lacks an algorithm", f[1])
	}
	c := facts.Choice{Algo: f[2], Default: f[3]}
	for i, to := range []*float64{&c.Seconds, &c.Before, &c.GFLOPs, &c.Error} {
		v, err := strconv.ParseFloat(f[4+i], 64)
		if err != nil || !(v >= 0) || math.IsInf(v, 0) {
			return fmt.Errorf("%q is not a number of at least 0", f[4+i])
		}
		*to = v
	}
	n, err := strconv.Atoi(f[8])
	if err != nil || n < 0 {
		return fmt.Errorf("%q is not a count", f[8])
	}
	c.Tried = n
	t.Choices[f[1]] = c
	return nil
}
