package onnxtest

// overFeat is Sermanet et al. 2014, table 1, the fast model.
func overFeat(b *wholeNet) {
	b.conv(b.scaled(96), 11, 4, 0, 1)
	b.relu()
	b.maxPool(2, 2, 0)
	b.conv(b.scaled(256), 5, 1, 0, 1)
	b.relu()
	b.maxPool(2, 2, 0)
	for _, c := range []int{512, 1024, 1024} {
		b.conv(b.scaled(c), 3, 1, 1, 1)
		b.relu()
	}
	b.maxPool(2, 2, 0)
	b.node("Flatten", nil)
	b.dense(b.channels*6*6, b.scaled(3072))
	b.relu()
	b.dense(b.scaled(3072), b.scaled(4096))
	b.relu()
	b.dense(b.scaled(4096), 1000)
}

// resNet50 has its strides in the 3×3 convolutions, as PyTorch's.
func resNet50(b *wholeNet) {
	b.conv(b.scaled(64), 7, 2, 3, 1)
	b.batchNorm(1)
	b.relu()
	b.maxPool(3, 2, 1)
	for stage, blocks := range []int{3, 4, 6, 3} {
		inner, outs := b.scaled(64<<stage), b.scaled(256<<stage)
		for block := range blocks {
			from, in, stride := b.at, b.channels, 1
			if stage > 0 && block == 0 {
				stride = 2
			}
			b.conv(inner, 1, 1, 0, 1)
			b.batchNorm(1)
			b.relu()
			b.conv(inner, 3, stride, 1, 1)
			b.batchNorm(1)
			b.relu()
			b.conv(outs, 1, 1, 0, 1)
			b.batchNorm(0.3)
			made := b.at
			if b.at = from; block == 0 {
				b.channels = in
				b.conv(outs, 1, stride, 0, 1)
				b.batchNorm(1)
			}
			b.node("Add", nil, made)
			b.relu()
		}
	}
	b.classes()
}

// inception is GoogLeNet, Szegedy et al. 2015, table 1, without its auxiliary classifiers.
func inception(b *wholeNet) {
	lrn := map[string]any{"size": 5, "alpha": float32(1e-4), "beta": float32(0.75), "bias": float32(1)}
	step := func(outs, k, stride int) {
		b.conv(outs, k, stride, k/2, 1)
		b.relu()
	}
	step(b.scaled(64), 7, 2)
	b.maxPool(3, 2, 1)
	b.node("LRN", lrn)
	step(b.scaled(64), 1, 1)
	step(b.scaled(192), 3, 1)
	b.node("LRN", lrn)
	b.maxPool(3, 2, 1)
	for i, m := range [][6]int{{64, 96, 128, 16, 32, 32}, {128, 128, 192, 32, 96, 64}, {192, 96, 208, 16, 48, 64}, {160, 112, 224, 24, 64, 64}, {128, 128, 256, 24, 64, 64},
		{112, 144, 288, 32, 64, 64}, {256, 160, 320, 32, 128, 128}, {256, 160, 320, 32, 128, 128}, {384, 192, 384, 48, 128, 128}} {
		if i == 2 || i == 7 {
			b.maxPool(3, 2, 1)
		}
		from, in, all := b.at, b.channels, 0
		var parts []string
		branch := func(make func()) {
			b.at, b.channels = from, in
			make()
			parts, all = append(parts, b.at), all+b.channels
		}
		branch(func() { step(b.scaled(m[0]), 1, 1) })
		branch(func() { step(b.scaled(m[1]), 1, 1); step(b.scaled(m[2]), 3, 1) })
		branch(func() { step(b.scaled(m[3]), 1, 1); step(b.scaled(m[4]), 5, 1) })
		branch(func() { b.maxPool(3, 1, 1); step(b.scaled(m[5]), 1, 1) })
		b.at = parts[0]
		b.node("Concat", map[string]any{"axis": 1}, parts[1:]...)
		b.channels = all
	}
	b.classes()
}
