package exec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"enhance/internal/fuse"
	"enhance/internal/ops"
	"enhance/internal/planar"
	"enhance/memplan"
)

// SampleSource is a [Source] of a mosaic's stored samples, out of which a device makes the
// network's planes (see [Options.Samples]). Its Rows are SampleRows.
type SampleSource interface {
	Source
	// Tables gives, for every plane of the input, what it has for each stored sample: 65536
	// numbers each. They must not change until the run has ended.
	Tables() ([][]float32, error)
}

// SampleRows are rows of a SampleSource.
type SampleRows interface {
	Rows
	// Samples is called in place of Row: it fills the two lines of the mosaic that row y
	// packs, columns 2x and 2x+1 for sample x.
	Samples(y int, lines [2][]uint16)
}

// TakesSamples reports whether the job's engine wants a SampleSource.
func (j *Job) TakesSamples() bool { return j.Program.TakesSamples() }

// Serves reports whether the job was made for such options.
func (j *Job) Serves(samples bool, p *fuse.Picture) bool {
	q := j.opt.Picture
	return j.opt.Samples == samples && (p == nil) == (q == nil) && (p == nil || *p == *q)
}

// tableBytes is the size of the tables of samples on the device, 0 if there are none.
func (j *Job) tableBytes() int64 {
	if !j.TakesSamples() {
		return 0
	}
	planes := int64(fuse.QuadPlaces + j.Model.Convention.NoisePlanes)
	return planes * ops.TableLen * j.opt.Precision.Bytes()
}

// fixed lists what the job holds on the device besides tensors, parameters and scratch.
func (j *Job) fixed() []memplan.Fixed {
	all := j.pictureFixed()
	if n := j.tableBytes(); n > 0 {
		all = append(all, memplan.Fixed{Purpose: "tables of samples", Bytes: n})
	}
	return all
}

// checkSource reports a source that does not give what the job takes.
func (j *Job) checkSource(src Source) error {
	if _, ok := src.(SampleSource); j.TakesSamples() && !ok {
		return errors.New("exec: the plan is for stored samples, and the source has none: a defect of the caller")
	}
	return nil
}

// sendTables copies the source's tables to the device, behind the kernels of the run before.
func (r *run) sendTables(src Source) error {
	if !r.engine.TakesSamples() {
		return nil
	}
	tables, err := src.(SampleSource).Tables()
	if err != nil {
		return err
	}
	b := make([]byte, 0, r.engine.tableBytes())
	for _, t := range tables {
		if len(t) != ops.TableLen {
			return fmt.Errorf("exec: a table of %d samples: want %d: a defect of the caller", len(t), ops.TableLen)
		}
		b = planar.AppendSamples(b, t, r.engine.opt.Precision)
	}
	if int64(len(b)) != r.engine.tableBytes() {
		return fmt.Errorf("exec: %d tables of samples: %d bytes are planned for them: a defect of the caller", len(tables), r.engine.tableBytes())
	}
	r.engine.opt.Profiler.tag(computeQueue, weightsTag)
	ev, err := r.queues.compute.WriteAsync(r.engine.device.tables, 0, b)
	if err != nil {
		return err
	}
	return ev.Close()
}

// storeSamples has rows fill row y of the input, stored at the beginning of dst.
func storeSamples(rows SampleRows, y int, w int, dst []byte) {
	pitch := planar.SamplePitch(w)
	var lines [2][]uint16
	for k := range lines {
		line := dst[2*k*pitch:][:2*w]
		if littleEndian {
			lines[k] = unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(line))), w)
		} else {
			lines[k] = make([]uint16, w)
		}
	}
	rows.Samples(y, lines)
	if !littleEndian {
		for k, line := range lines {
			for x, v := range line {
				binary.LittleEndian.PutUint16(dst[2*(k*pitch+x):], v)
			}
		}
	}
}

// littleEndian says that the host stores numbers as devices do.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1
