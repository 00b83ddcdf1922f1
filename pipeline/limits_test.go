package pipeline_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"enhance/clrt"
	"enhance/internal/bytesize"
	"enhance/internal/exec"
	"enhance/internal/profile"
	"enhance/pipeline"
	"enhance/pipeline/facts"
)

// TestBudgetRemedies: the error of a small budget says what needs less, and that
// is true.
func TestBudgetRemedies(t *testing.T) {
	phone, err := profile.Load("adreno-660")
	if err != nil {
		t.Fatal(err)
	}
	set := pipeline.Settings{Model: "pynet-random:x,width=8", DeviceOptions: pipeline.DeviceOptions{Profile: profileFile(t, phone), PlanOnly: true}, Memory: pipeline.Limit(1)}
	var out bytes.Buffer
	j := order(nikon(t).crop(0, 0, 256, 256), &out)
	j.DryRun = true
	_, err = session(t, set).Enhance(context.Background(), j)
	var small *pipeline.BudgetError
	if !errors.As(err, &small) || len(small.Lower) == 0 || small.Lower[0].Change != "--precision fp16" || small.Lower[0].Minimum >= small.Minimum {
		t.Fatalf("error %v", err)
	}
	if !strings.Contains(small.Error(), "Adreno") {
		t.Errorf("the device is not named: %v", small)
	}
	set.Precision, set.Memory = pipeline.FP16, pipeline.Limit(small.Lower[0].Minimum)
	rep, err := session(t, set).Enhance(context.Background(), j)
	if err != nil || rep.Plan.Peak != small.Lower[0].Minimum {
		t.Errorf("with what the error named: %v", err)
	}
}

// TestBudgetOfEnsemble: what needs less than an ensemble that puts noise back is an ensemble of another network, or the network
// by itself, and both put the noise back.
func TestBudgetOfEnsemble(t *testing.T) {
	phone, err := profile.Load("adreno-660")
	if err != nil {
		t.Fatal(err)
	}
	set := pipeline.Settings{Model: "best", Ensemble: 2, DeviceOptions: pipeline.DeviceOptions{Profile: profileFile(t, phone), PlanOnly: true}, Memory: pipeline.Limit(1)}
	var out bytes.Buffer
	half := 0.5
	j := order(nikon(t).crop(0, 0, 256, 256), &out)
	j.DryRun, j.Denoise = true, &half
	_, err = session(t, set).Enhance(context.Background(), j)
	var small *pipeline.BudgetError
	if !errors.As(err, &small) || !strings.Contains(small.Error(), "best, ensemble of 2 (fp32)") {
		t.Fatalf("error %v", err)
	}
	tried := 0
	for _, r := range small.Lower {
		set := set
		switch r.Change {
		case "-m fast":
			set.Model = "fast"
		case "without --ensemble":
			set.Ensemble = 1
		default:
			continue
		}
		tried++
		set.Memory = pipeline.Limit(r.Minimum)
		if rep, err := session(t, set).Enhance(context.Background(), j); err != nil || rep.Plan.Peak != r.Minimum {
			t.Errorf("%s: %v", r.Change, err)
		}
	}
	if tried != 2 {
		t.Errorf("remedies %v", small.Lower)
	}
}

// TestBudgetWithinDevice: no plan is for more than the device has, whatever budget is
// asked for, and reports say so; where that is too little no budget is advised.
func TestBudgetWithinDevice(t *testing.T) {
	phone, err := profile.Load("adreno-660")
	if err != nil {
		t.Fatal(err)
	}
	toy := *phone
	toy.Name = "toy"
	explain := func(memory pipeline.Budget) (*facts.Explanation, error) {
		s := session(t, pipeline.Settings{DeviceOptions: pipeline.DeviceOptions{Profile: profileFile(t, &toy), PlanOnly: true}, Memory: memory})
		return s.ExplainSize(512, 512)
	}
	free, err := explain(pipeline.Unlimited())
	if err != nil || free.Plan.Budget != phone.GlobalMem {
		t.Fatalf("%v: budget %d", err, free.Plan.Budget)
	}
	toy.GlobalMem = free.Plan.Peak - 1
	toy.MaxAlloc = toy.GlobalMem
	for _, c := range []struct {
		memory pipeline.Budget
		budget int64
		why    string
	}{
		{pipeline.Unlimited(), toy.GlobalMem, "all that toy has; no limit was asked for"},
		{pipeline.Limit(toy.GlobalMem + 1), toy.GlobalMem, "all that toy has; " + bytesize.Text(toy.GlobalMem+1) + " were asked for"},
		{pipeline.Limit(toy.GlobalMem), toy.GlobalMem, "as asked for"},
		{pipeline.Limit(toy.GlobalMem - 1), toy.GlobalMem - 1, "as asked for"},
		{pipeline.Budget{}, toy.GlobalMem / 5 * 4, "80 % of the " + bytesize.Text(toy.GlobalMem) + " of toy"},
	} {
		x, err := explain(c.memory)
		if err != nil {
			t.Errorf("%v: %v", c.memory, err)
		} else if x.Plan.Budget != c.budget || x.Plan.BudgetWhy != c.why || x.Plan.Peak > c.budget {
			t.Errorf("%s: peak %d of %d (%s), want %d (%s)", c.memory, x.Plan.Peak, x.Plan.Budget, x.Plan.BudgetWhy, c.budget, c.why)
		}
	}
	table, err := session(t, pipeline.Settings{DeviceOptions: pipeline.DeviceOptions{Profile: profileFile(t, &toy), PlanOnly: true}}).PlanTableSize(512, 512)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range table.Rows {
		if r.TooSmall || r.Peak > toy.GlobalMem {
			t.Errorf("table: within %d a peak of %d on a device of %d", r.Budget, r.Peak, toy.GlobalMem)
		}
	}

	least := table.Rows[0].Peak
	toy.GlobalMem = least - 1
	var small *pipeline.BudgetError
	if _, err := explain(pipeline.Limit(2 * least)); !errors.As(err, &small) || small.DeviceMem != least-1 || small.Minimum != least || strings.Contains(err.Error(), "--mem") {
		t.Errorf("a device of %d bytes: %v", least-1, err)
	}
	if len(small.Lower) != 1 || small.Lower[0].Change != "--precision fp16" || small.Lower[0].Minimum > toy.GlobalMem {
		t.Errorf("remedies %v", small.Lower)
	}
	if _, err := session(t, pipeline.Settings{DeviceOptions: pipeline.DeviceOptions{Profile: profileFile(t, &toy), PlanOnly: true}}).PlanTableSize(512, 512); !errors.As(err, &small) || small.DeviceMem == 0 {
		t.Errorf("table of a device of %d bytes: %v", least-1, err)
	}
}

// TestBufferRemedies: where the largest buffer of the device is too small for a
// network's maps, the error says so, and what the device can do, which is true.
func TestBufferRemedies(t *testing.T) {
	phone, err := profile.Load("adreno-660")
	if err != nil {
		t.Fatal(err)
	}
	plan := func(maxAlloc int64, p pipeline.Precision) error {
		toy := *phone
		toy.MaxAlloc = maxAlloc
		s := session(t, pipeline.Settings{DeviceOptions: pipeline.DeviceOptions{Profile: profileFile(t, &toy), PlanOnly: true}, Precision: p})
		_, err := s.ExplainSize(256, 4096)
		return err
	}
	var large *pipeline.BufferError
	if err := plan(1<<16, pipeline.FP32); !errors.As(err, &large) || len(large.Instead) > 0 {
		t.Fatalf("buffers of 64 KiB: %v", err)
	}
	if large.What == "" || !strings.Contains(large.Error(), large.What) {
		t.Errorf("%v does not say what needs so much", large)
	}
	if err := plan(large.Bytes, pipeline.FP32); err != nil {
		t.Errorf("the largest allocation that the error named: %v", err)
	}
	most := large.Bytes - 1
	if err := plan(most, pipeline.FP32); !errors.As(err, &large) || pipeline.Classify(err) != pipeline.ClassBudget {
		t.Fatalf("buffers of %d bytes: %v", most, err)
	}
	if len(large.Instead) == 0 || large.Instead[0].Change != "--precision fp16" || !strings.Contains(large.Error(), "Adreno") {
		t.Errorf("%v names %v", large, large.Instead)
	}
	if err := plan(most, pipeline.FP16); err != nil {
		t.Errorf("what the error named: %v", err)
	}
}

// TestProfileLimits runs a photo within the limits of each profile: the plan keeps
// to them, and a plan that is not run needs no device.
func TestProfileLimits(t *testing.T) {
	c := nikon(t).crop(100, 100, 200, 144)
	for _, name := range profile.Names() {
		p, err := profile.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		j := c.job(0, 0, &out)
		j.DryRun = true
		only := session(t, pipeline.Settings{DeviceOptions: pipeline.DeviceOptions{Profile: profileFile(t, p), PlanOnly: true}})
		rep, err := only.Enhance(context.Background(), j)
		if err != nil || rep.Device.Profile != name || rep.Plan.Budget != p.GlobalMem/5*4 || len(rep.Plan.Table) == 0 {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if only.Context() != nil {
			t.Errorf("%s: a device was opened", name)
		}
		j.DryRun = false
		if _, err := only.Enhance(context.Background(), j); pipeline.Classify(err) != pipeline.ClassOption {
			t.Errorf("%s: a run of a plan that is none gives %v", name, err)
		}
	}
	needOpenCL(t)
	toy, err := profile.Parse([]byte(`{"name": "toy", "type": "GPU", "global_mem": 33554432, "max_alloc": 2097152, "local_mem": 16384,
		"max_work_group": 64, "compute_units": 2, "base_align": 256, "unified": false, "native_vector_float": 4, "clock_mhz": 500}`), "toy")
	if err != nil {
		t.Fatal(err)
	}
	var free, limited bytes.Buffer
	develop(t, session(t, pipeline.Settings{}), c.job(0, 0, &free))
	_, rep := develop(t, session(t, pipeline.Settings{DeviceOptions: pipeline.DeviceOptions{Profile: profileFile(t, toy)}}), c.job(0, 0, &limited))
	if !bytes.Equal(free.Bytes(), limited.Bytes()) {
		t.Error("limits that no kernel depends on changed the picture")
	}
	if rep.Plan.Budget > toy.GlobalMem/5*4 || rep.Plan.Peak > rep.Plan.Budget {
		t.Errorf("peak %d of %d", rep.Plan.Peak, rep.Plan.Budget)
	}
	for _, n := range rep.Plan.Full.Arenas {
		if n > toy.MaxAlloc {
			t.Errorf("a buffer of %d bytes, the profile allows %d", n, toy.MaxAlloc)
		}
	}
}

// TestPlanTable: budgets rise, peaks keep to them, the smallest is the smallest, and
// measured rows agree with their plans, each of which runs once, after one run that
// does not count.
func TestPlanTable(t *testing.T) {
	needOpenCL(t)
	s := session(t, pipeline.Settings{})
	var ran []int64 // peaks
	pipeline.OpenWith(s, func(j *exec.Job, c *clrt.Context) (*exec.Engine, error) {
		ran = append(ran, j.Plan.Peak)
		return j.Open(c)
	})
	j := nikon(t).crop(100, 100, 256, 192).job(0, 0, nil)
	table, err := s.PlanTable(context.Background(), j, true)
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Rows) != pipeline.TableRows || table.Rows[len(table.Rows)-1].Budget != 0 {
		t.Fatalf("%d rows", len(table.Rows))
	}
	found := false
	for i, r := range table.Rows {
		found = found || r.Smallest
		switch {
		case r.TooSmall == found:
			t.Errorf("row %d: budget %d, too small %v, smallest seen %v", i, r.Budget, r.TooSmall, found)
		case !r.TooSmall && (r.Peak == 0 || r.Budget > 0 && r.Peak > r.Budget || r.Measured <= 0 || r.Predicted <= 0):
			t.Errorf("row %d: budget %d, peak %d, %v s", i, r.Budget, r.Peak, r.Measured)
		}
	}
	last := len(table.Rows) - 1
	want := []int64{table.Rows[last].Peak}
	for i := range table.Rows {
		if r := &table.Rows[i]; !r.TooSmall && (i == 0 || !r.SamePlan(&table.Rows[i-1])) {
			want = append(want, r.Peak)
		}
	}
	if !slices.Equal(ran, want) {
		t.Errorf("plans of %d bytes ran, want %d", ran, want)
	}
	if rep, err := s.Enhance(context.Background(), func() pipeline.Job { j.Output.Writer = io.Discard; return j }()); err != nil || rep.Plan.BudgetWhy == "of the table" {
		t.Errorf("afterwards: %v", err)
	}
}

// TestBudgetProblem: which budget is too small, whose it is, and by how much, in units
// that can be read.
func TestBudgetProblem(t *testing.T) {
	const of = " for this photo with fast (fp32) on D"
	for name, c := range map[string]struct {
		err  pipeline.BudgetError
		want string
	}{
		"asked":    {pipeline.BudgetError{Budget: pipeline.Limit(1 << 10), Minimum: 1 << 20}, "a budget of 1.0 KiB is too small by 1023.0 KiB" + of},
		"odd":      {pipeline.BudgetError{Budget: pipeline.Limit(15001023), Minimum: 15001024}, "a budget of 15001023 bytes (14.3 MiB) is too small by 1 byte" + of},
		"one byte": {pipeline.BudgetError{Budget: pipeline.Limit(1), Minimum: 3}, "a budget of 1 byte is too small by 2 bytes" + of},
		"default": {pipeline.BudgetError{Budget: pipeline.Limit(3435973836).Because("80 % of the 4.0 GiB of adreno-660"), Minimum: 3470716160, Default: true},
			"the default budget of 3.2 GiB (80 % of the 4.0 GiB of adreno-660) is too small by 33.1 MiB" + of},
		"found": {pipeline.BudgetError{Budget: pipeline.Limit(1 << 20).Because("what the device was found to have"), Minimum: 2 << 20},
			"the budget of 1.0 MiB (what the device was found to have) is too small by 1.0 MiB" + of},
		"shared": {pipeline.BudgetError{Budget: pipeline.Limit(2 << 20).SharedBy(2), Minimum: 4 << 20},
			"a budget of 2.0 MiB, shared by the 2 photos that are on the device at a time, is too small by 2.0 MiB" + of},
	} {
		c.err.Model, c.err.Precision, c.err.Device = "fast", "fp32", "D"
		if want := fmt.Sprintf("%s: the smallest that works is --mem %d (%s)", c.want, c.err.Minimum, bytesize.Text(c.err.Minimum)); c.err.Error() != want {
			t.Errorf("%s: %q, want %q", name, &c.err, want)
		}
	}
}
