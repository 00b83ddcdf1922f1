package papers

import (
	"math"

	"enhance/conv"
	"enhance/internal/planar"
	"enhance/winograd"
)

// split is F(4,5) with V and M in memory and its scratch divided: by rows of tiles, by
// input channels, or not at all.
type split struct {
	name     string
	rows     int // parts of the plane's rows of tiles
	channels int // parts of the input channels
}

const baseName = "base"

// splits are the bars of the paper's figure and, beyond it, fourths and the pieces of
// winograd.TiledCap bytes that this project runs with.
func splits() []Way {
	return []Way{
		split{baseName, 1, 1}, split{"height/2", 2, 1}, split{"channel/2", 1, 2},
		split{"height/4", 4, 1}, split{"channel/4", 1, 4}, split{"default", 0, 1},
	}
}

// Name implements conv.Algo.
func (s split) Name() string { return s.name }

// New implements conv.Algo.
func (s split) New(c conv.Caps, shape conv.Shape, p planar.Precision) (conv.Impl, error) {
	w := winograd.Convolution{Variant: winograd.V4x5, Form: winograd.Tiled, WideV: p == planar.FP16}
	if s.rows == 0 {
		return w.New(c, shape, p)
	}
	w.Cap = math.MaxInt64
	impl, err := w.New(c, shape, p)
	if err != nil {
		return nil, err
	}
	whole := impl.Scratch(shape.H)
	switch {
	case s.rows > 1:
		tiles := (shape.H + impl.Granule() - 1) / impl.Granule()
		w.Cap = impl.Scratch((tiles + s.rows - 1) / s.rows * impl.Granule())
	case s.channels > 1:
		// V and M take the same for a channel: both are float32.
		each := whole / int64(shape.InC()+shape.OutC)
		part := (shape.InC() + s.channels - 1) / s.channels
		part = min((part+channelStep-1)/channelStep*channelStep, shape.InC())
		w.Cap, w.Split = each*int64(part+shape.OutC), winograd.ByChannels
	default:
		return impl, nil
	}
	return w.New(c, shape, p)
}

// channelStep is what winograd's products take at a time: ranges of channels begin at
// multiples of it.
const channelStep = 8

func splitColumns() []Column {
	var cols []Column
	for _, show := range []Show{Time, Memory} {
		for _, w := range splits() {
			cols = append(cols, Column{Title: w.Name(), Way: w.Name(), Show: show})
		}
	}
	return cols
}
