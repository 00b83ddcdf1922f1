package conv

import (
	"fmt"

	"enhance/internal/planar"
)

// RowTile is Rows with a register tile of one's own: that many output channels by
// that many vectors of columns. It is for tuning; Rows chooses by a model.
type RowTile struct{ Lanes, Tile int }

// maxRowTile bounds both sides of a tile.
const maxRowTile = 16

// Name is "direct-rows-o6v2" for six outputs by two vectors.
func (t RowTile) Name() string { return fmt.Sprintf("direct-rows-o%dv%d", t.Lanes, t.Tile) }

// New refuses what Rows refuses, and tiles of more outputs than there are.
func (t RowTile) New(c Caps, s Shape, p planar.Precision) (Impl, error) {
	impl, err := Rows{}.New(c, s, p)
	if err != nil {
		return nil, err
	}
	if t.Lanes < 1 || t.Tile < 1 || t.Lanes > min(maxRowTile, s.OutC) || t.Tile > maxRowTile {
		return nil, fmt.Errorf("conv: %s: want 1 to %d outputs and 1 to %d vectors", t.Name(), min(maxRowTile, s.OutC), maxRowTile)
	}
	r := impl.(*rowsImpl)
	r.lanes, r.tile = t.Lanes, t.Tile
	return r, nil
}

// RowTileNamed finds a RowTile by its Name.
func RowTileNamed(name string) (RowTile, bool) {
	var t RowTile
	_, err := fmt.Sscanf(name, "direct-rows-o%dv%d", &t.Lanes, &t.Tile)
	return t, err == nil && t.Name() == name && t.Lanes > 0 && t.Tile > 0 && t.Lanes <= maxRowTile && t.Tile <= maxRowTile
}

// RowTiles lists tiles worth measuring on a CPU beside the one that Rows chooses:
// those whose sums, inputs and weight fit the registers and that pad the outputs
// little, the most sums first.
func RowTiles(c Caps, s Shape, p planar.Precision) []Algo {
	impl, err := Rows{}.New(c, s, p)
	if err != nil || !c.CPU {
		return nil
	}
	own := impl.(*rowsImpl)
	registers := 16
	if own.vector != 8 {
		registers = 32
	}
	var tiles []Algo
	for _, t := range []RowTile{{12, 2}, {8, 3}, {6, 4}, {8, 2}, {6, 2}, {6, 3}, {4, 4}, {4, 2}, {4, 3}, {3, 4}, {12, 1}, {8, 1}} {
		blocks := (s.OutC + t.Lanes - 1) / t.Lanes
		padded := float64(blocks*t.Lanes) / float64(s.OutC)
		if t.Lanes <= s.OutC && t.Lanes*t.Tile+t.Tile+1 <= registers && padded < 1.2 && (t != RowTile{own.lanes, own.tile}) {
			tiles = append(tiles, t)
		}
	}
	return tiles
}
