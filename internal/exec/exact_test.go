package exec

import (
	"slices"
	"strings"
	"testing"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/model"
)

// TestBeforeNorms says which convolutions tf32 keeps out of.
func TestBeforeNorms(t *testing.T) {
	for _, c := range []struct {
		spec string
		want []string
	}{
		{"pynet-random:a,width=8", []string{"conv_l1_d1.conv_3a", "conv_l1_d1", "conv_l2_d1.conv_3a"}},
		{"pynet-random:a,width=8,norm1=false", []string{"conv_l1_d1.conv_3a", "conv_l1_d1", "conv_l2_d1.conv_3a"}},
		{"pynet-s", nil}, // has no norms
	} {
		m, err := model.Load(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		p, err := fuse.Fuse(m.Graph, 128, 160)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i, is := range beforeNorms(p) {
			if is {
				got = append(got, p.Steps[i].Name)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.spec, got, c.want)
		}
		// 3xtf32 there, tf32 elsewhere, on a GPU that has both.
		info := &clrt.DeviceInfo{Type: clrt.GPU, GlobalMem: 1 << 34, MaxAlloc: 1 << 33, LocalMem: 48 << 10, MaxWorkGroup: 1024, BaseAlign: 512, ComputeUnits: 8}
		job, err := Prepare(m, 128, 160, info, Options{Units: conv.Units{Matrix: true}, TF32: true})
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range job.Program.Steps {
			if s.Kind != fuse.Conv {
				continue
			}
			want := "mma-tf32"
			if slices.Contains(c.want, s.Name) {
				want = "mma-3xtf32"
			}
			if job.Algo(i) != want {
				t.Errorf("%s: step %s runs as %s (%s), want %s", c.spec, s.Name, job.Algo(i), job.Why(i), want)
			}
			if said := strings.Contains(job.Why(i), "before a norm"); said != (want == "mma-3xtf32") {
				t.Errorf("%s: step %s: the reason is %q", c.spec, s.Name, job.Why(i))
			}
		}
	}
}
