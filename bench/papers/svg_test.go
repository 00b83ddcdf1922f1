package papers_test

import (
	"bytes"
	"encoding/xml"
	"flag"
	"io"
	"math"
	"os"
	"strings"
	"testing"

	"enhance/bench/papers"
)

var update = flag.Bool("update", false, "write the golden files of testdata again: go test ./bench/papers -run SVG -update")

func chart() *papers.Chart {
	return &papers.Chart{
		Title: "two cases & <three> algorithms", XLabel: "case", YLabel: "GFLOP/s",
		Groups: []string{"4,32,32,5,4", "64,16,16,5,64"},
		Series: []string{"direct-rows", "implicit-gemm", "winograd-f4x5"},
		Values: [][]float64{{8.1, 20.5, 0}, {27.5, math.NaN(), 43.2}},
	}
}

// TestSVGGolden compares a drawing with testdata/bars.svg, which was looked at.
func TestSVGGolden(t *testing.T) {
	var b bytes.Buffer
	if err := chart().WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	const file = "testdata/bars.svg"
	if *update {
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), want) {
		t.Errorf("the drawing differs from %s; look at it and run with -update", file)
	}
}

// TestSVGIsXML parses drawings of all sizes and counts their bars.
func TestSVGIsXML(t *testing.T) {
	many := &papers.Chart{Title: "many", XLabel: "x", YLabel: "y"}
	for range 15 {
		many.Series = append(many.Series, "an algorithm with a long name")
	}
	for range 40 {
		many.Groups = append(many.Groups, "256,1440,1984,9,128")
		many.Values = append(many.Values, make([]float64, 15))
	}
	many.Values[3][7], many.Values[39][14] = 1e5, 1e-9
	for name, c := range map[string]struct {
		*papers.Chart
		bars int
	}{
		"two cases": {chart(), 4},
		"many":      {many, 2},
		"nothing":   {&papers.Chart{}, 0},
		"all gaps":  {&papers.Chart{Groups: []string{"a"}, Series: []string{"b"}, Values: [][]float64{{math.Inf(1)}}}, 0},
	} {
		var b bytes.Buffer
		if err := c.WriteSVG(&b); err != nil {
			t.Fatal(err)
		}
		d, bars := xml.NewDecoder(bytes.NewReader(b.Bytes())), 0
		for {
			tok, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if e, ok := tok.(xml.StartElement); ok && e.Name.Local == "title" {
				bars++
			}
		}
		if bars != c.bars {
			t.Errorf("%s: %d bars, want %d", name, bars, c.bars)
		}
		if s := b.String(); strings.Contains(s, "NaN") || strings.Contains(s, "Inf") {
			t.Errorf("%s: the drawing holds coordinates that are no numbers", name)
		}
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestSVGReportsWriteErrors(t *testing.T) {
	if err := chart().WriteSVG(failing{}); err != io.ErrShortWrite {
		t.Errorf("error %v", err)
	}
}
