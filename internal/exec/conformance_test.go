package exec_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"testing"

	"enhance/internal/convtest"
	"enhance/internal/exec"
	"enhance/internal/onnxtest"
	"enhance/memplan"
	"enhance/model"
)

var updateONNX = flag.Bool("update-onnx", false, "write testdata/onnx-device.toml again: ONNX tests that do not pass on the device although they do on the host")

const onnxDevice = "testdata/onnx-device.toml"

// TestConformance runs ONNX's backend tests that pass on the host executor on the device. What does not pass there
// is listed with its reason; a test that does anything else is an error, also if it has become better.
func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in short: hundreds of small networks; TestForeignOperations runs operations of every kind")
	}
	info := convtest.Device(t).Info()
	host := readOutcomes(t, "../onnxtest/testdata/expectations.toml")
	known := onnxtest.Expectations{}
	if !*updateONNX {
		known = readOutcomes(t, onnxDevice)
	}
	device := func(m *model.Model, in []float32, h, w int) ([]float32, error) {
		job, err := exec.Prepare(m, h, w, info, exec.Options{Budget: memplan.Unlimited(), Poison: true})
		if err != nil {
			return nil, &onnxtest.Refusal{Err: err}
		}
		return runJob(t, job, &tensor{c: m.Graph.Nodes[0].C, h: h, w: w, v: in}).v, nil
	}
	cases, _ := onnxtest.Open(t)
	now, run := onnxtest.Expectations{}, 0
	for i, c := range cases {
		if host[c.Name].State != "pass" || testing.Short() && i%8 != 0 {
			continue
		}
		run++
		o := onnxtest.OutcomeOf(c.Run(device))
		if o.State != "pass" {
			now[c.Name] = o
		}
		if want := known[c.Name]; !*updateONNX && (want.State == "") != (o.State == "pass") || want.State != "" && want.State != o.State {
			t.Errorf("%s: %s %s, known to %s %s", c.Name, o.State, o.Why, want.State, want.Why)
		}
	}
	t.Logf("%d tests ran on the device, %d of them do not pass", run, len(now))
	if *updateONNX {
		var b bytes.Buffer
		if err := errors.Join(onnxtest.WriteExpectations(&b, now), os.WriteFile(onnxDevice, b.Bytes(), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

func readOutcomes(t *testing.T, path string) onnxtest.Expectations {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	e, err := onnxtest.ReadExpectations(text)
	if err != nil {
		t.Fatal(err)
	}
	return e
}
