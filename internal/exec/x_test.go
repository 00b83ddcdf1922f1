package exec

import ("testing";"enhance/model";"enhance/internal/fuse";"enhance/clrt";"enhance/internal/planar";"enhance/conv")

func TestX(t *testing.T) {
	m, err := model.Load("pynet-random:gold")
	if err != nil { t.Fatal(err) }
	info := &clrt.DeviceInfo{Type: clrt.GPU, ComputeUnits: 132, MaxWorkGroup: 1024, LocalMem: 48<<10, GlobalMem: 140<<30, MaxAlloc: 35<<30, Name: "h200", BaseAlign: 512}
	_ = conv.Caps{}
	for _, oct := range []bool{false, true} {
	opt := Options{Precision: planar.FP16, Matrix: true, Warpgroup: true, Octets: oct, WholePlanes: true}
	j, err := Prepare(m, 1440, 1984, info, opt)
	if err != nil { t.Fatal(err) }
	algos := map[string]int{}
	for i := range j.Program.Steps {
		s := &j.Program.Steps[i]
		algos[s.Kind.String()+" "+j.Algo(i)]++
		if st := j.Program.Tensors[s.Dst.Tensor].Storage; st == fuse.Activation && oct { t.Log("planes:", s.Name, s.Kind) }
	}
	t.Log(algos, j.Plan.Peak)
	least, err := Minimum(m, 1440, 1984, info, opt)
	opt.WholePlanes = false
	least, err = Minimum(m, 1440, 1984, info, opt)
	t.Log(least, err)
	}
}
