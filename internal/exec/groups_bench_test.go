package exec_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/exec"
	"enhance/internal/planar"
	"enhance/internal/tune"
	"enhance/model"
)

// BenchmarkWorkGroups searches the work-groups' shapes of PyNET's convolutions in a
// 12 MP photo on a GPU, without matrix units so that all are by the portable
// kernels, for 110 s, and prints each kind's best shape beside the rule's. The metric
// is the geometric mean of the gains.
func BenchmarkWorkGroups(b *testing.B) {
	dev := convtest.Device(b)
	if dev.Info().Type == clrt.CPU {
		b.Skip("work-groups have one work-item on a CPU")
	}
	m, err := model.Load("pynet-random:gold")
	if err != nil {
		b.Fatal(err)
	}
	opt := exec.Options{Precision: planar.FP32}
	tasks, err := exec.TuneTasks(m, 1440, 1984, dev.Info(), opt)
	if err != nil {
		b.Fatal(err)
	}
	for i := range tasks {
		tasks[i].Candidates = portable(tasks[i].Candidates)
	}
	for b.Loop() {
		ctx, err := clrt.NewContext(dev)
		if err != nil {
			b.Fatal(err)
		}
		meter, err := tune.NewMeter(ctx, opt.Caps(dev.Info()), opt.Precision, tune.Defaults(dev.Info(), 0))
		if err != nil {
			b.Fatal(err)
		}
		logs, kinds := 0.0, 0
		fmt.Printf("\n%-28s %10s  %-48s %s\n", "C,H,W,k,K", "GFLOP/s", "best shape (times as fast as the rule's)", "the rule's, GFLOP/s of the default")
		_, err = meter.Run(b.Context(), tasks, tune.Options{Until: time.Now().Add(110 * time.Second), Groups: 16, Done: func(o *tune.Outcome) {
			if best, rule := bestShape(o); best != nil {
				gain := rule.Seconds / best.Seconds
				logs, kinds = logs+math.Log(gain), kinds+1
				fmt.Printf("%-28s %10.0f  %-48s %s, %.0f; chosen %s, %.2f times the default\n", o.Shape, best.GFLOPs, fmt.Sprintf("%s (%.2f)", best.Algo, gain), rule.Algo, o.Results[0].GFLOPs, o.Choice.Algo, o.Choice.Gain())
			} else {
				fmt.Printf("%-28s not measured: %s\n", o.Shape, o.Problem)
			}
			for _, r := range o.Results {
				if r.Problem != "" {
					fmt.Printf("    %s: %.150s\n", r.Algo, strings.ReplaceAll(r.Problem, "\n", " "))
				}
			}
		}})
		if err != nil {
			b.Fatal(err)
		}
		if err := meter.Close(); err != nil {
			b.Fatal(err)
		}
		if err := ctx.Close(); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(math.Exp(logs/float64(max(kinds, 1))), "gain")
		b.ReportMetric(float64(kinds), "kinds")
	}
}

// portable are the default and the algorithms whose shapes are searched, the first
// of Winograd's.
func portable(all []conv.Algo) []conv.Algo {
	list, transforms := all[:1:1], 0
	for _, a := range all[1:] {
		if _, ok := a.(conv.Shaped); !ok {
			continue
		}
		if strings.HasPrefix(a.Name(), "winograd") {
			if transforms++; transforms > 2 {
				continue
			}
		}
		list = append(list, a)
	}
	return list
}

// bestShape is the fastest result that is by no rule, and that of the rule of the
// same algorithm; of rules alone, the fastest twice.
func bestShape(o *tune.Outcome) (best, rule *tune.Result) {
	var right []*tune.Result
	for i := range o.Results {
		if o.Results[i].Problem == "" && o.Results[i].Seconds > 0 {
			right = append(right, &o.Results[i])
		}
	}
	if len(right) == 0 {
		return nil, nil
	}
	best = slices.MinFunc(right, func(a, b *tune.Result) int { return cmp.Compare(a.Seconds, b.Seconds) })
	for _, r := range right {
		if strings.HasPrefix(best.Algo, r.Algo) && (rule == nil || len(r.Algo) < len(rule.Algo)) {
			rule = r
		}
	}
	return best, rule
}
