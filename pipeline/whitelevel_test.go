package pipeline_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"enhance/pipeline"
	"enhance/raw"
)

// TestWhiteNote: a white level that does not suit the samples is told, once, whether the
// photo is decoded before the plan or with it; one that does is not.
func TestWhiteNote(t *testing.T) {
	const w, h = 64, 200 // several blocks of rows
	dump := func(largest uint16) []byte {
		b := make([]byte, 0, 2*w*h)
		for i := range w * h {
			v := largest / 4
			if i >= w*(h-8) { // a single one would pass for a defect
				v = largest
			}
			b = binary.LittleEndian.AppendUint16(b, v)
		}
		return b
	}
	given := func(v float64) *float64 { return &v }
	for _, c := range []struct {
		largest uint16
		white   *float64
		want    string // "": nothing
	}{
		{1023, nil, "no sample is above 1023, and the white level is taken to be 65535, so the picture is dark: if the samples have 10 bits, give --white 1023"},
		{900, nil, "if the samples have 10 bits, give --white 1023"},
		{15520, nil, "if the samples have 14 bits, give --white 16383"},
		{16384, nil, ""},
		{65535, nil, ""},
		{0, nil, ""},
		{1023, given(1023), ""},
		{900, given(4095), ""},
		{900, given(65535), "no sample comes near --white 65535"},
		{15520, given(1000), "samples are more than 2 times --white 1000"},
		{2000, given(1000), ""},
	} {
		content := dump(c.largest)
		for _, wb := range []string{"auto", "1,1,1"} { // auto reads the photo first
			var out bytes.Buffer
			j := pipeline.Job{Input: "dump", Reader: bytes.NewReader(content), Size: int64(len(content)),
				Raw: raw.Options{Width: w, Height: h, CFA: rggb(t), White: c.white}, Output: pipeline.Output{Writer: &out}}
			if err := j.WB.UnmarshalText([]byte(wb)); err != nil {
				t.Fatal(err)
			}
			var said []string
			j.Say = func(text string) { said = append(said, text) }
			j.Planned = func(r *pipeline.Report) { said = append(said, r.Warnings...) }
			_, rep := develop(t, session(t, pipeline.Settings{Device: pipeline.HostDevice, Model: "pynet-m-random:1,size=tiny"}), j)
			of := func(texts []string) (found []string) {
				for _, text := range texts {
					if strings.Contains(text, "white level") && strings.Contains(text, "sample") || strings.Contains(text, "--white") && !strings.Contains(text, "white balance") {
						found = append(found, text)
					}
				}
				return found
			}
			got := of(rep.Warnings)
			if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
				t.Errorf("samples up to %d, white %v, balance %s: notes %q, want %q", c.largest, c.white, wb, got, c.want)
			}
			if told := of(said); !slices.Equal(told, got) {
				t.Errorf("samples up to %d, balance %s: told %q, reported %q", c.largest, wb, told, got)
			}
		}
	}
}

func rggb(t *testing.T) *raw.Pattern {
	t.Helper()
	p, err := raw.ParsePattern("RGGB")
	if err != nil {
		t.Fatal(err)
	}
	return &p
}
