package dng

import (
	"runtime"
	"testing"

	"enhance/raw/tiff"

	"enhance/raw/mosaic"
)

// TestMemoryIsBounded opens small files that claim 60000x60000 samples.
func TestMemoryIsBounded(t *testing.T) {
	claim := func(w, h int, tiled bool) func(_, raw *tiff.Dir) {
		return func(_, raw *tiff.Dir) {
			raw.Longs(tagImageWidth, uint32(w))
			raw.Longs(tagImageLength, uint32(h))
			if tiled {
				raw.Longs(tagTileWidth, uint32(w))
				raw.Longs(tagTileLength, uint32(h))
			} else {
				raw.Longs(tagRowsPerStrip, uint32(h))
			}
		}
	}
	for _, jpeg := range []*JPEG{nil, {}} {
		for _, tiled := range []bool{false, true} {
			s := spec(16, 16, 16)
			s.JPEG, s.Edit = jpeg, claim(60000, 60000, tiled)
			if tiled {
				s.TileWidth, s.TileHeight = 16, 16
			}
			b := write(t, s)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			im, err := openBytes(b)
			if err == nil {
				t.Errorf("jpeg %v, tiled %v: opened as %dx%d", jpeg != nil, tiled, im.Meta.Width, im.Meta.Height)
			}
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20 {
				t.Errorf("jpeg %v, tiled %v: %d bytes allocated for a file of %d", jpeg != nil, tiled, used, len(b))
			}
		}
	}
}

// TestStreamingMemory reads a photo of one lossless JPEG strip, too large for the
// cache, in strips with a halo: what stays allocated is far below the photo's
// size.
func TestStreamingMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second")
	}
	const side, rows, halo = 3000, 64, 32
	s := Spec{Width: side, Height: side, Bits: 14, Samples: make([]uint16, side*side), JPEG: &JPEG{Components: 2}}
	s.Meta.CFA = mosaic.RGGB
	for i := range s.Samples {
		s.Samples[i] = uint16(i*i>>7) & 0xFF
	}
	file := write(t, s)
	im, err := openBytes(file)
	if err != nil {
		t.Fatal(err)
	}
	if im.rows.(*jpegRows).whole {
		t.Fatal("the photo fits the cache: nothing is tested")
	}
	dst := make([]uint16, (rows+halo)*side)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for y := 0; y < side; y += rows {
		top := max(0, y-halo)
		n := min(side, y+rows) - top
		if err := im.ReadRows(top, n, dst); err != nil {
			t.Fatal(err)
		}
		for i, v := range dst[:n*side] {
			if v != s.Samples[top*side+i] {
				t.Fatalf("row %d differs", top+i/side)
			}
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > 2<<20 {
		t.Errorf("%d bytes kept for a photo of %d", kept, 2*side*side)
	}
	runtime.KeepAlive(im)
	runtime.KeepAlive(file)
}

func BenchmarkReadRows(b *testing.B) {
	for _, c := range []struct {
		name string
		jpeg *JPEG
		tile int
		bits int
	}{{"uncompressed16", nil, 0, 16}, {"uncompressed14", nil, 0, 14}, {"jpegTiles", &JPEG{Components: 2}, 256, 14}, {"jpegStrip", &JPEG{Components: 2}, 0, 14}} {
		b.Run(c.name, func(b *testing.B) {
			s := spec(2048, 1024, c.bits)
			s.JPEG, s.TileWidth, s.TileHeight = c.jpeg, c.tile, c.tile
			file := write(b, s)
			dst := make([]uint16, 2048*64)
			for b.Loop() {
				im, err := openBytes(file)
				if err != nil {
					b.Fatal(err)
				}
				for y := 0; y < 1024; y += 64 {
					if err := im.ReadRows(y, 64, dst); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(len(s.Samples))*float64(b.N)/b.Elapsed().Seconds()/1e6, "Msample/s")
		})
	}
}
