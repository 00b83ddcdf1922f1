package pipeline_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os/exec"
	"testing"

	"enhance/internal/colour"
	"enhance/pipeline"
	"enhance/pipeline/look"
)

// TestPatchesAgainstDcraw holds the as-shot colours of the chart's patches against
// dcraw's, which balances white alike; its camera colours go through our matrix.
func TestPatchesAgainstDcraw(t *testing.T) {
	needOpenCL(t)
	if _, err := exec.LookPath("dcraw"); err != nil {
		t.Skip("dcraw is not installed")
	}
	const path = "../testdata/raw/colorchart.dng"
	// -w as-shot balance, -o 0 camera colours, -4 linear 16 bits, -q 0 bilinear.
	ppm, err := exec.Command("dcraw", "-c", "-w", "-o", "0", "-4", "-q", "0", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(bytes.NewReader(ppm))
	var w, h, top int
	if _, err := fmt.Fscanf(r, "P6\n%d %d\n%d\n", &w, &h, &top); err != nil || w != 1734 || h != 1156 || top != 65535 {
		t.Fatalf("dcraw gave %dx%d, %d: %v", w, h, top, err)
	}
	theirs := make([]uint16, 3*w*h)
	body, err := io.ReadAll(r)
	if err != nil || len(body) != 2*len(theirs) {
		t.Fatalf("%d bytes of samples: %v", len(body), err)
	}
	for i := range theirs {
		theirs[i] = binary.BigEndian.Uint16(body[2*i:])
	}
	var out bytes.Buffer
	j := pipeline.Job{Input: path, Look: pipeline.Look{Defects: look.Defects{Mode: look.DefectsOff}, Tone: look.ToneLinear, WB: look.WhiteBalance{Mode: look.WBAsShot}}, Output: pipeline.Output{Writer: &out, Bits: 16}}
	j.Exposure.EV = 1 // defects are left as dcraw leaves them
	im, rep := develop(t, session(t, pipeline.Settings{Model: "pynet-s"}), j)
	compared := 0
	for i := range 24 { // the lower chart: four rows of six
		cx, cy := 711+108*(i%6), 622+102*(i/6)
		const half = 20
		var ours, want [3]float64
		for y := cy - half; y < cy+half; y++ {
			a, b := im.Row(y)[3*(cx-half):], theirs[3*(y*w+cx-half):]
			for k := range 3 * 2 * half {
				ours[k%3] += colour.SRGBDecode(float64(a[k]) / 65535)
				want[k%3] += float64(b[k]) / 65535
			}
		}
		want = colour.Apply(rep.Colour.Matrix, want)
		// Left out: colours outside sRGB or nearly, which are clipped in ours, and the
		// black patch, where the network's input is clipped at the black level.
		if min(want[0], want[1], want[2]) < 0.2*max(want[0], want[1], want[2]) || i == 23 {
			continue
		}
		compared++
		for c := 0; c < 3; c += 2 {
			got, ref := ours[c]/ours[1], want[c]/want[1]
			if math.Abs(got/ref-1) > 0.04 {
				t.Errorf("patch %d: %c/G is %.3f, dcraw has %.3f", i, "RGB"[c], got, ref)
			}
		}
	}
	t.Logf("%d of 24 patches compared", compared)
	if compared < 12 {
		t.Errorf("only %d patches could be compared", compared)
	}
}
