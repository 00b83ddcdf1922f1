package model

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"testing"

	"enhance/internal/boundtest"
	"enhance/model/safetensors"
)

// FuzzWeights is safetensors files from their bytes to a network: whatever metadata, shapes
// and names say, a file is refused, or is a network whose shapes can be computed. Its values
// are zeros behind the header, so that damage to the header leaves the file whole.
func FuzzWeights(f *testing.F) {
	c, err := ParsePyNETMConfig(`{"widths":[8],"encoder":[0],"decoder":[],"down_kernel":1,"up_kernel":1,"head_kernel":1,"skip_kernel":3}`)
	if err != nil {
		f.Fatal(err)
	}
	g := PyNETM(c)
	small := &Model{Arch: "pynet-m", Graph: g, Params: FormulaParams("fuzz", g), Convention: pynetmConvention(c), Meta: map[string]string{metaConfig: c.String()}}
	var b bytes.Buffer
	if err := Write(&b, small); err != nil {
		f.Fatal(err)
	}
	n := binary.LittleEndian.Uint64(b.Bytes())
	f.Add(b.Bytes()[8:8+n], uint32(b.Len()-8-int(n)))
	masked, err := Load("pynet-m-random:fuzz,planes=24")
	if err != nil {
		f.Fatal(err)
	}
	masked.Meta[metaPatterns] = "xtrans quad rgb"
	b.Reset()
	if err := Write(&b, masked); err != nil {
		f.Fatal(err)
	}
	n = binary.LittleEndian.Uint64(b.Bytes())
	f.Add(b.Bytes()[8:8+n], uint32(b.Len()-8-int(n)))
	shuffle, err := Load("pynet-random:fuzz,width=2,norm=false,norm1=false,end=shuffle")
	if err != nil {
		f.Fatal(err)
	}
	b.Reset()
	if err := Write(&b, shuffle); err != nil {
		f.Fatal(err)
	}
	n = binary.LittleEndian.Uint64(b.Bytes())
	f.Add(b.Bytes()[8:8+n], uint32(b.Len()-8-int(n)))
	f.Add([]byte(`{"skip.weight":{"dtype":"F16","shape":[12,8,5,5],"data_offsets":[0,4800]}}`), uint32(4800))
	f.Add([]byte(`{"__metadata__":{"arch":"pynet","arch.level":"5"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`), uint32(8))
	f.Fuzz(func(t *testing.T, header []byte, values uint32) {
		values %= 1 << 16
		file := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
		file = append(append(file, header...), make([]byte, values)...)
		var m *Model
		var err error
		boundtest.Run(t, len(file), 64<<20, 200, func() {
			weights, readErr := safetensors.Read(bytes.NewReader(file), int64(len(file)))
			m, err = assembleFrom("fuzz", weights, readErr, AnyLevel)
		})
		var refused *WeightsError
		if err != nil {
			if !errors.As(err, &refused) {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		h, w := m.Convention.PaddedSides(1, 5)
		if _, err := m.Graph.Shapes(h, w); err != nil {
			t.Fatalf("a network without shapes: %v", err)
		}
		var out bytes.Buffer
		if err := Write(&out, m); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		if !json.Valid(out.Bytes()[8 : 8+binary.LittleEndian.Uint64(out.Bytes())]) {
			t.Fatal("what was written has no header")
		}
	})
}
