package octets

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"testing"

	"enhance/conv"
	"enhance/conv/wgmma"
	"enhance/internal/convtest"
	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/model"
)

//go:embed codesemulated_test.cl
var codesEmulatedCL string

// emulatedCodes have odd and even numbers of groups, whole and half groups between two convolutions, both kernels.
var emulatedCodes = []conv.Shape{
	{K: 3, SrcC: []int{24}, OutC: 24, H: 11, W: 70, Act: fuse.LeakyReLU, Inner: &conv.Inner{K: 3, OutC: 24, Act: fuse.LeakyReLU}},
	{K: 3, SrcC: []int{40}, OutC: 30, H: 9, W: 65},
	{K: 3, SrcC: []int{20}, OutC: 13, H: 7, W: 130, Inner: &conv.Inner{K: 3, OutC: 40}},
	{K: 1, SrcC: []int{64}, OutC: 48, H: 6, W: 37, Act: fuse.LeakyReLU},
	{K: 3, SrcC: []int{16}, OutC: 8, H: 2, W: 5, Inner: &conv.Inner{K: 1, OutC: 16, Act: fuse.LeakyReLU}},
	{K: 1, SrcC: []int{16}, OutC: 8, H: 5, W: 66, Inner: &conv.Inner{K: 3, OutC: 9, Act: fuse.LeakyReLU}},
}

// TestEmulatedCodes holds everything but the order of stores and products to the definition.
func TestEmulatedCodes(t *testing.T) {
	dev := convtest.Device(t)
	for i, s := range emulatedCodes {
		s.Codes, s.Octets, s.OctetsOut = true, true, true
		for _, pad := range []model.PadMode{model.PadReflect, model.PadZero, model.PadEdge} {
			if testing.Short() && (i+int(pad))%3 > 0 || pad == model.PadEdge && s.Inner != nil {
				continue
			}
			t.Run(fmt.Sprintf("%d/pad_%d", i, pad), func(t *testing.T) {
				one := codesAlgo{&codesVariant{outs: roundOctets(planar.Octets(s.OutC)), teams: 1}}
				convtest.RunOctetCodes(t, convtest.CodesConfig{Algo: convtest.Emulated(one, codesInstructionsCL(), emulatedCL+codesEmulatedCL), Device: dev, Caps: capsOf(dev),
					Pad: pad, ResFirst: i == 3, Draw: func(*rand.Rand) conv.Shape { return s }, Cases: 2})
			})
		}
	}
}

// TestCodesContract holds the kernels that shapes choose to the definition.
func TestCodesContract(t *testing.T) {
	dev := convtest.Units(t, wgmma.Probe)
	for pad := range model.PadMode(3) {
		t.Run(fmt.Sprintf("pad_%d", pad), func(t *testing.T) {
			t.Parallel()
			convtest.RunOctetCodes(t, convtest.CodesConfig{Algo: Codes(), Device: dev, Caps: capsOf(dev), Pad: pad, ResFirst: pad == 1, Cases: convtest.Cases(6),
				Draw: func(rng *rand.Rand) conv.Shape {
					s := convtest.AnyOctetCodes(rng)
					if s.Inner != nil && pad == model.PadEdge {
						s.Inner = nil
					}
					return s
				}})
		})
	}
}

// TestCodesNoSpills reads the compiler's report on kernels of networks.
func TestCodesNoSpills(t *testing.T) {
	dev := convtest.Units(t, wgmma.Probe)
	ctx := convtest.Uncached(t, dev)
	for _, c := range []struct {
		channels int
		block    bool
	}{{24, true}, {48, true}, {64, true}, {48, false}, {96, false}, {128, false}} {
		s := conv.Shape{K: 3, SrcC: []int{c.channels}, OutC: c.channels, H: 64, W: 64, Act: fuse.LeakyReLU, Codes: true, Octets: true, OctetsOut: true}
		if c.block {
			s.Inner = &conv.Inner{K: 3, OutC: c.channels, Act: fuse.LeakyReLU}
		}
		made, err := Codes().New(*capsOf(dev), s, planar.FP16)
		if err != nil {
			t.Fatal(err)
		}
		made.(*codesImpl).single().NoSpills(t, ctx)
	}
}
