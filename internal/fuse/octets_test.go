package fuse_test

import (
	"fmt"
	"slices"
	"testing"

	"enhance/internal/fuse"
	"enhance/model"
)

// TestStoreOctets says which tensors of small networks become octets, and what is converted for them.
func TestStoreOctets(t *testing.T) {
	chain := func(b *model.Builder, x int, c ...int) int {
		for i, n := range c {
			name := fmt.Sprintf("c%d", i)
			x = b.Conv(name, name, x, n, 3)
		}
		return x
	}
	for _, c := range []struct {
		name  string
		in    int
		build func(b *model.Builder) int
		can   func(s *fuse.Step, out bool) bool // nil: everything
		want  []string                          // tensors of octets
	}{
		{name: "chain", in: 3, build: func(b *model.Builder) int { return chain(b, 0, 16, 20, 3) }, want: []string{"c0", "c1", "input.octets"}},
		{name: "wide input", in: 40, build: func(b *model.Builder) int { return chain(b, 0, 16, 20, 3) }},
		{name: "pooled, enlarged and summed", in: 4, build: func(b *model.Builder) int {
			x := chain(b, 0, 16)
			y := b.Add("sum", b.Upsample("up", b.Conv("low", "low", b.MaxPool("pool", x), 16, 3), false), x)
			return b.PixelShuffle("out", b.Conv("last", "last", y, 12, 3))
		}, want: []string{"c0", "input.octets", "last", "low", "pool", "sum"}},
		{name: "no convolution to octets", in: 3, build: func(b *model.Builder) int { return chain(b, 0, 16, 20, 3) }, can: func(_ *fuse.Step, out bool) bool { return !out }},
		{name: "one that stays", in: 3, build: func(b *model.Builder) int { return chain(b, 0, 16, 16, 16, 3) },
			can: func(s *fuse.Step, _ bool) bool { return s.Name != "c1" }},
		{name: "norms", in: 3, build: func(b *model.Builder) int {
			x := b.LeakyReLU("act", b.InstanceNorm("norm", "norm", chain(b, 0, 16), 1e-5), 0.2)
			return b.Conv("last", "last", b.MaxPool("pool", b.Conv("second", "second", b.InstanceNorm("alone", "alone", x, 1e-5), 16, 3)), 3, 3)
		}, want: []string{"act", "act.raw", "alone", "input.octets", "pool", "second"}},
		{name: "a norm at the end", in: 3, build: func(b *model.Builder) int { return b.InstanceNorm("norm", "norm", chain(b, 0, 16, 16), 1e-5) }, want: []string{"c0", "input.octets"}},
		{name: "joined within octets", in: 3, build: func(b *model.Builder) int {
			return b.Conv("last", "last", b.Concat("cat", b.Conv("a", "a", 0, 12, 3), b.Conv("b", "b", 0, 12, 3)), 3, 3)
		}, want: []string{"input.octets"}},
		{name: "joined between octets", in: 3, build: func(b *model.Builder) int {
			return b.Conv("last", "last", b.Concat("cat", b.Conv("a", "a", 0, 16, 3), b.Conv("b", "b", 0, 8, 3)), 3, 3)
		}, want: []string{"cat", "input.octets"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := model.NewBuilder(c.in)
			g, err := b.Graph(c.build(b))
			if err != nil {
				t.Fatal(err)
			}
			p, err := fuse.Fuse(g, 16, 24)
			if err != nil {
				t.Fatal(err)
			}
			p.StoreOctets(func(i int, out bool) bool { return c.can == nil || c.can(&p.Steps[i], out) })
			var got []string
			for _, s := range p.Tensors {
				if s.Storage == fuse.Octets {
					got = append(got, s.Name)
				}
			}
			if slices.Sort(got); !slices.Equal(got, c.want) {
				t.Errorf("tensors of octets: %v, want %v", got, c.want)
			}
			if p.HasOctets() != (len(c.want) > 0) {
				t.Error("HasOctets says otherwise")
			}
		})
	}
}

// TestStorePairs says the same of pairs: what convolutions read of planes is the input alone, split, and what a
// pixel shuffle reads stays planes.
func TestStorePairs(t *testing.T) {
	b := model.NewBuilder(5)
	x := b.Conv("first", "first", 0, 7, 3)
	y := b.Add("sum", b.Upsample("up", b.Conv("low", "low", b.MaxPool("pool", x), 7, 3), false), x)
	g, err := b.Graph(b.PixelShuffle("out", b.Add("all", b.Conv("last", "last", y, 12, 3), b.Conv("skip", "skip", 0, 12, 5))))
	if err != nil {
		t.Fatal(err)
	}
	p, err := fuse.Fuse(g, 16, 24)
	if err != nil {
		t.Fatal(err)
	}
	p.StorePairs(func(int, bool) bool { return true })
	got := map[fuse.Storage][]string{}
	for _, s := range p.Tensors {
		got[s.Storage] = append(got[s.Storage], s.Name)
	}
	for storage, want := range map[fuse.Storage][]string{fuse.Pairs: {"first", "low", "pool", "sum"}, fuse.Split: {"input.split"}} {
		if slices.Sort(got[storage]); !slices.Equal(got[storage], want) {
			t.Errorf("storage %d is that of %v, want %v", storage, got[storage], want)
		}
	}
	if !p.HasPairs() {
		t.Error("there are no pairs")
	}
}
