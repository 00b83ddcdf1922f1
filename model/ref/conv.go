package ref

import (
	"context"

	"enhance/model"
)

const (
	// blockSteps is about how many steps of the sum (channel × tap) are taken at
	// a time: panels of this length stay in the first-level cache.
	blockSteps = 512
	// tilePixels is about how many output samples of a channel a task makes.
	tilePixels = 64
)

// blockedConv is a convolution cut into blocks of input channels, pairs of
// output channels and tiles of samples. The sum of a sample is taken block by
// block, whatever the tiles and the number of goroutines, and its bias added last.
type blockedConv struct {
	src, dst []float32
	s        model.Shape // of src
	bias     []float32
	k        int
	channels int         // input channels in a block
	panels   [][]float32 // for each block the weight panels of all pairs
	steps    []int       // for each block the length of its panels, filled up

	tileH, tileW int // samples of a tile
	across       int // tiles in a row of tiles
	tiles        int
	pairs        int // pairs of output channels
	groupPairs   int // pairs that a task makes
}

// convBlocked computes what convPlain defines, with the sums in another order.
func convBlocked(ctx context.Context, p *pool, dst, src []float32, s model.Shape, weight, bias []float32, k int) error {
	c := &blockedConv{src: src, dst: dst, s: s, bias: bias, k: k}
	c.channels = min(max(1, blockSteps/(k*k)), s.C)
	c.pairs = (len(bias) + kernelRows - 1) / kernelRows
	c.packWeights(weight)

	c.tileW = min(tilePixels, s.W)
	c.tileH = min(max(1, tilePixels/s.W), s.H)
	c.across = (s.W + c.tileW - 1) / c.tileW
	c.tiles = c.across * ((s.H + c.tileH - 1) / c.tileH)
	// Few tiles on many cores: give each task only some of the output channels.
	groups := min(max(1, 4*p.workers/c.tiles), c.pairs)
	c.groupPairs = (c.pairs + groups - 1) / groups
	groups = (c.pairs + c.groupPairs - 1) / c.groupPairs

	return p.eachWorker(ctx, c.tiles*groups, func() func(int) {
		t := c.newTask()
		return func(i int) {
			p.worked(t.run(i/groups, i%groups))
		}
	})
}

// packWeights lays the weights out as the kernel reads them.
func (c *blockedConv) packWeights(weight []float32) {
	taps := c.k * c.k
	for first := 0; first < c.s.C; first += c.channels {
		steps := min(c.channels, c.s.C-first) * taps
		padded := (steps + kernelStep - 1) / kernelStep * kernelStep
		panel := make([]float32, c.pairs*padded*kernelRows)
		for o := range c.bias {
			from := weight[(o*c.s.C+first)*taps:][:steps]
			to := panel[o/kernelRows*padded*kernelRows+o%kernelRows:]
			for i, v := range from {
				to[i*kernelRows] = v
			}
		}
		c.panels = append(c.panels, panel)
		c.steps = append(c.steps, padded)
	}
}

// task is the scratch memory of one goroutine and the tile it works at.
type task struct {
	*blockedConv
	rows   []float32 // padded rows of the block's channels
	inputs []float32 // the input panels of the tile, one after the other
	sums   [][kernelRows * kernelCols]float32

	y0, x0, h, w int // the tile
	perRow       int // panels in a row of the tile
}

func (c *blockedConv) newTask() *task {
	panels := c.tileH * ((c.tileW + kernelCols - 1) / kernelCols)
	stride := c.tileW + kernelCols + c.k - 1
	return &task{
		blockedConv: c,
		rows:        make([]float32, c.channels*(c.tileH+c.k-1)*stride),
		inputs:      make([]float32, panels*c.steps[0]*kernelCols),
		sums:        make([][kernelRows * kernelCols]float32, panels*c.groupPairs),
	}
}

// run makes one tile of one group of output channels; it returns the work done.
func (t *task) run(tile, group int) int64 {
	t.y0, t.x0 = tile/t.across*t.tileH, tile%t.across*t.tileW
	t.h, t.w = min(t.tileH, t.s.H-t.y0), min(t.tileW, t.s.W-t.x0)
	t.perRow = (t.w + kernelCols - 1) / kernelCols
	first := group * t.groupPairs
	pairs := min(t.groupPairs, t.pairs-first)

	panels := t.h * t.perRow
	sums := t.sums[:pairs*panels]
	clear(sums)
	for block, steps := range t.steps {
		t.loadRows(block)
		t.packInputs(block)
		for pair := range pairs {
			weights := t.panels[block][(first+pair)*steps*kernelRows:][:steps*kernelRows]
			for panel := range panels {
				inputs := t.inputs[panel*steps*kernelCols:][:steps*kernelCols]
				kernel(&sums[pair*panels+panel], weights, inputs)
			}
		}
	}
	outputs := min(len(t.bias)-first*kernelRows, pairs*kernelRows)
	for i := range outputs {
		t.store(first*kernelRows+i, sums[i/kernelRows*panels:], i%kernelRows)
	}
	return 2 * int64(t.k*t.k*t.s.C) * int64(outputs) * int64(t.h*t.w)
}

// blockChannels gives the range of input channels of a block.
func (t *task) blockChannels(block int) (first, n int) {
	first = block * t.channels
	return first, min(t.channels, t.s.C-first)
}

func (t *task) stride() int { return t.perRow*kernelCols + t.k - 1 }

// loadRows copies the rows under the tile with their reflection, so that
// packing needs to know no edges.
func (t *task) loadRows(block int) {
	first, n := t.blockChannels(block)
	stride, pad := t.stride(), t.k/2
	for c := range n {
		plane := t.src[(first+c)*t.s.H*t.s.W:][:t.s.H*t.s.W]
		for i := range t.h + t.k - 1 {
			from := plane[Reflect(t.y0+i-pad, t.s.H)*t.s.W:][:t.s.W]
			to := t.rows[(c*(t.h+t.k-1)+i)*stride:][:stride]
			left, right := t.x0-pad, t.x0-pad+stride // of the row, in source samples
			inner := max(0, left)
			for x := left; x < inner; x++ {
				to[x-left] = from[Reflect(x, t.s.W)]
			}
			end := min(right, t.s.W)
			copy(to[inner-left:end-left], from[inner:end])
			for x := end; x < right; x++ {
				to[x-left] = from[Reflect(x, t.s.W)]
			}
		}
	}
}

// packInputs lays the rows out as the kernel reads them: for each panel, for
// each step, kernelCols neighbouring samples.
func (t *task) packInputs(block int) {
	_, n := t.blockChannels(block)
	stride, height, steps := t.stride(), t.h+t.k-1, t.steps[block]
	for y := range t.h {
		for px := range t.perRow {
			to := t.inputs[(y*t.perRow+px)*steps*kernelCols:][:steps*kernelCols]
			for c := range n {
				for i := range t.k {
					line := t.rows[(c*height+y+i)*stride+px*kernelCols:][:t.k+kernelCols-1]
					for j := range t.k {
						*(*[kernelCols]float32)(to) = *(*[kernelCols]float32)(line[j:])
						to = to[kernelCols:]
					}
				}
			}
			clear(to) // the steps that fill the panel up
		}
	}
}

// store writes the sums of output channel o, which are row r of its pair's.
func (t *task) store(o int, sums [][kernelRows * kernelCols]float32, r int) {
	for y := range t.h {
		line := t.dst[(o*t.s.H+t.y0+y)*t.s.W+t.x0:][:t.w]
		for x := range line {
			line[x] = t.bias[o] + sums[y*t.perRow+x/kernelCols][r*kernelCols+x%kernelCols]
		}
	}
}
