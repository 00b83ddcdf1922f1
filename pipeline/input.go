package pipeline

import (
	"context"

	"enhance/internal/buffers"
	"enhance/internal/trace"
	"enhance/model"
	"enhance/raw"
	"enhance/raw/defects"
)

// input is a photo as a run reads it.
type input struct {
	photo *raw.Photo
	meta  *raw.Meta
	geo   geometry
	ahead *readAhead     // nil: decoding has not begun
	found *defects.Found // defects; nil: none are looked for
	// classical says that no network is run.
	classical bool
}

// layOut decides which samples are read for a picture of the area that m shows: by a network
// of that convention, or without one.
func (in *input) layOut(m *raw.Meta, c *model.Convention) {
	switch {
	case in.classical && in.meta.Linear:
		in.geo = pixelLayout(m, 0)
	case in.classical:
		in.geo = pixelLayout(m, contextSamples)
	default:
		in.geo = layout(m, c)
	}
}

// decodeAhead begins to decode, so many blocks ahead and so many together, unless that has begun.
func (in *input) decodeAhead(ctx context.Context, blocks, together int, pool *buffers.Blocks[uint16], stages *trace.Stages) {
	if in.ahead == nil {
		in.ahead = startReadAhead(ctx, in.photo, in.geo.region, blocks, together, pool, stages)
	}
}

// endDecoding returns when the photo is no longer read.
func (in *input) endDecoding() {
	if in.ahead != nil {
		in.ahead.close()
	}
}
