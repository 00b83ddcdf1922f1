package exec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"enhance/clrt"
	"enhance/internal/fuse"
	"enhance/internal/ops"
	"enhance/memplan"
)

// PictureTables are what makes a picture of a network's light.
type PictureTables = ops.PictureTables

// PixelSink is a [Sink] of a picture's codes, which the device makes of the network's light (see
// [Options.Picture]). Its rows are those of the picture, and its Rows are PixelRows.
type PixelSink interface {
	Sink
	// Tables are those of the picture.
	Tables() (*PictureTables, error)
}

// PixelRows are rows of a PixelSink.
type PixelRows interface {
	Rows
	// Pixels is called in place of Row: codes has the three codes of each pixel of row y, valid
	// during the call.
	Pixels(y int, codes []uint16)
	// Bytes is called in place of Pixels where codes are of 8 bits.
	Bytes(y int, codes []byte)
}

// NotFiniteError says that a network made a sample that is no number.
type NotFiniteError struct{ Row, Column int } // of the picture

func (e *NotFiniteError) Error() string {
	return fmt.Sprintf("exec: the network's result is not a number at row %d, column %d", e.Row, e.Column)
}

// MakesPixels reports whether the job's engine wants a PixelSink.
func (j *Job) MakesPixels() bool { return j.Program.MakesPixels() }

// Picture is what the job's engine makes of the network's light, if it makes pixels.
func (j *Job) Picture() *fuse.Picture { return j.opt.Picture }

// pictureFixed lists what the steps of a picture hold on the device besides tensors.
func (j *Job) pictureFixed() []memplan.Fixed {
	if !j.MakesPixels() {
		return nil
	}
	return []memplan.Fixed{{Purpose: "tables of the picture", Bytes: ops.PictureBytes}, {Purpose: "samples that are not finite", Bytes: j.badBytes()}}
}

// badBytes is the size of an int for every row of the picture.
func (j *Job) badBytes() int64 { return 4 * int64(j.Program.Tensors[j.Program.Output].H) }

// checkSink reports a sink that does not take what the job gives.
func (j *Job) checkSink(sink Sink) error {
	if _, ok := sink.(PixelSink); j.MakesPixels() && !ok {
		return errors.New("exec: the plan is for a picture's codes, and the sink takes planes: a defect of the caller")
	}
	return nil
}

// noColumn stands for a row whose samples are all finite.
const noColumn = 0x7fffffff

// beginPicture readies the device for a picture, behind the kernels of the run before.
func (r *run) beginPicture(sink Sink) error {
	if !r.engine.MakesPixels() {
		return nil
	}
	tables, err := sink.(PixelSink).Tables()
	if err != nil {
		return err
	}
	numbers, err := tables.Numbers()
	if err != nil {
		return err
	}
	r.engine.opt.Profiler.tag(computeQueue, weightsTag)
	ev, err := r.queues.compute.WriteAsync(r.engine.device.pictureTables, 0, floatBytes(numbers))
	if err != nil {
		return err
	}
	none := binary.LittleEndian.AppendUint32(nil, noColumn)
	return errors.Join(ev.Close(), r.queues.compute.Fill(r.engine.device.bad, 0, r.engine.badBytes(), none))
}

// badSamples is the copy of what the device found in a picture's samples.
type badSamples struct {
	columns []byte
	copied  *clrt.Event
}

// askBad starts the copy, behind all kernels of the run.
func (r *run) askBad() (err error) {
	if r.engine.MakesPixels() {
		r.bad.columns = make([]byte, r.engine.badBytes())
		r.bad.copied, err = r.queues.compute.ReadAsync(r.engine.device.bad, 0, r.bad.columns)
	}
	return err
}

// first is the first sample that is not finite, nil if there is none.
func (b *badSamples) first() error {
	if b.copied == nil {
		return nil
	}
	err := b.copied.Wait()
	if err = errors.Join(err, b.copied.Close()); err != nil {
		return err
	}
	for y := range len(b.columns) / 4 {
		if x := binary.LittleEndian.Uint32(b.columns[4*y:]); x != noColumn {
			return &NotFiniteError{Row: y, Column: int(x)}
		}
	}
	return nil
}

// givePixels has the pool give a chunk's rows of codes to the sink.
func (d *drain) givePixels(c *chunk, rows PixelRows) {
	w := 3 * d.rows.W
	bytes := d.e.Program.Tensors[d.e.Program.Output].Storage == fuse.PixelBytes
	c.made = d.pool.Start(c.y0, c.y1, func(_, y int) {
		row := c.bytes[int64(y-c.y0)*d.rowBytes:]
		if bytes {
			rows.Bytes(y, row[:w])
			return
		}
		row = row[:2*w]
		if littleEndian {
			rows.Pixels(y, unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(row))), w))
			return
		}
		codes := make([]uint16, w)
		for i := range codes {
			codes[i] = binary.LittleEndian.Uint16(row[2*i:])
		}
		rows.Pixels(y, codes)
	})
}
