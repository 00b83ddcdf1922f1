package im2col

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/model"
)

// Host is im2col on the host's cores and GEMM on the device: while the
// device multiplies one strip of rows, goroutines unfold the next into the other
// of two staging buffers and it travels to the device on a queue of its own.
//
// It is no [conv.Impl]: an Impl's input is on the device already, and reading it back to
// unfold it would put two transfers and a wait into every launch. This one takes a
// tensor of host memory, as the first layer of a network and the papers'
// measurements have it. What it costs: K·K times the tensor goes over the bus, and
// two strips of the matrix lie on the host and two on the device.
//
// It does kernels of any side. Methods are not for concurrent use.
type Host struct {
	*unfolded
	ctx        *clrt.Context
	compute    *clrt.Queue
	transfer   *clrt.Queue
	kernel     *clrt.Kernel
	packed     *clrt.Buffer
	device     [2]*clrt.Buffer
	host       [2][]byte
	uploaded   [2]*clrt.Event // from host[i] to device[i]
	multiplied [2]*clrt.Event // out of device[i]
	rows       int            // of a strip
}

// HostName is the algorithm's name in reports.
const HostName = "im2col-host"

// NewHost makes it for one shape, with strips of at most strip bytes if a
// row takes less; 0 is 16 MiB. Weights are OutC×InC×K×K, bias OutC. The weights and
// the two strips are device memory of ctx, with their purposes. The queue on which
// Run multiplies is q.
func NewHost(ctx *clrt.Context, q *clrt.Queue, s conv.Shape, p planar.Precision, weights, bias []float32, strip int64) (h *Host, err error) {
	caps := conv.CapsOf(ctx.Device().Info())
	if _, err := (conv.Simple{}).New(caps, s, p); err != nil { // does every shape that is one
		return nil, err
	}
	u, err := newUnfolded(caps, s, p)
	if err != nil {
		return nil, err
	}
	if need := s.OutC * u.terms(); len(weights) != need || len(bias) != s.OutC {
		return nil, fmt.Errorf("im2col-host: %d weights and %d biases, the shape has %d and %d", len(weights), len(bias), need, s.OutC)
	}
	if strip <= 0 {
		strip = 16 << 20
	}
	h = &Host{unfolded: u, ctx: ctx, compute: q}
	h.rows = min(s.H, max(1, int(strip/u.rowBytes())))
	defer func() {
		if err != nil {
			h.Close()
			h = nil
		}
	}()
	if err = h.compile(); err != nil {
		return
	}
	if h.transfer, err = ctx.NewQueue(); err != nil {
		return
	}
	if h.packed, err = ctx.NewBuffer(int64(u.PackedLen())*4, "weights"); err != nil {
		return
	}
	raw := make([]byte, 0, u.PackedLen()*4)
	for _, v := range u.Pack(weights, bias) {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	if err = q.Write(h.packed, 0, raw); err != nil {
		return
	}
	for i := range h.device {
		h.host[i] = make([]byte, int64(h.rows)*u.rowBytes())
		if h.device[i], err = ctx.NewBuffer(int64(len(h.host[i])), "im2col strip"); err != nil {
			return
		}
	}
	return
}

func (h *Host) compile() error {
	src := planar.Source(h.precision, model.PadReflect)
	ks := h.Kernels()
	for _, k := range ks {
		src += k.Source
	}
	prog, err := h.ctx.Build(src, "-cl-std=CL1.2")
	if err != nil {
		return err
	}
	h.kernel, err = prog.Kernel(ks[len(ks)-1].Name)
	return errors.Join(err, prog.Close())
}

// Close waits for the work queued and releases everything but the queue given.
func (h *Host) Close() error {
	errs := []error{h.settle()}
	if h.transfer != nil {
		errs = append(errs, h.transfer.Close())
	}
	if h.kernel != nil {
		errs = append(errs, h.kernel.Close())
	}
	for _, b := range []*clrt.Buffer{h.packed, h.device[0], h.device[1]} {
		if b != nil {
			errs = append(errs, b.Close())
		}
	}
	return errors.Join(errs...)
}

// settle waits for and gives up the events of both strips.
func (h *Host) settle() error {
	var errs []error
	for i := range h.device {
		for _, ev := range []**clrt.Event{&h.uploaded[i], &h.multiplied[i]} {
			if *ev != nil {
				errs = append(errs, (*ev).Wait(), (*ev).Close())
				*ev = nil
			}
		}
	}
	return errors.Join(errs...)
}

// Run convolves src, InC×H×W samples of host memory, into a.Dst, all rows, with
// a.Res and a.Slope; the other fields of a are not used. It returns when the
// result is on the device.
func (h *Host) Run(src []float32, a *conv.Args) (err error) {
	s := h.shape
	if len(src) != s.InC()*s.H*s.W {
		return fmt.Errorf("im2col-host: %d samples, the shape has %d", len(src), s.InC()*s.H*s.W)
	}
	// Also after an error the device must have finished with the memory handed to it.
	defer func() { err = errors.Join(err, h.settle()) }()
	stored := h.store(src)
	for y, slot := 0, 0; y < s.H; y, slot = y+h.rows, 1-slot {
		if err := h.strip(stored, a, slot, y, min(h.rows, s.H-y)); err != nil {
			return err
		}
	}
	return nil
}

// strip unfolds rows [y,y+rows) and queues their way to the device and their
// product.
func (h *Host) strip(stored []byte, a *conv.Args, slot, y, rows int) error {
	if ev := h.uploaded[slot]; ev != nil { // host memory is still being read
		h.uploaded[slot] = nil
		if err := errors.Join(ev.Wait(), ev.Close()); err != nil {
			return err
		}
	}
	strip := h.host[slot][:int64(rows)*h.rowBytes()]
	h.unfold(strip, stored, y, rows)
	if ev := h.multiplied[slot]; ev != nil { // device memory is still being multiplied
		h.multiplied[slot] = nil
		if err := errors.Join(h.transfer.Barrier(ev), ev.Close()); err != nil {
			return err
		}
	}
	var err error
	if h.uploaded[slot], err = h.transfer.WriteAsync(h.device[slot], 0, strip); err != nil {
		return err
	}
	if err := errors.Join(h.transfer.Flush(), h.compute.Barrier(h.uploaded[slot])); err != nil {
		return err
	}
	if err := h.multiply(h.compute, h.kernel, h.packed, h.device[slot], a, y, rows); err != nil {
		return err
	}
	if h.multiplied[slot], err = h.compute.Marker(); err != nil {
		return err
	}
	return h.compute.Flush()
}

// store is src as samples are stored.
func (h *Host) store(src []float32) []byte {
	raw := make([]byte, 0, int64(len(src))*h.precision.Bytes())
	for _, v := range src {
		if h.precision == planar.FP16 {
			raw = binary.LittleEndian.AppendUint16(raw, planar.Half(v))
		} else {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
		}
	}
	return raw
}

// unfold fills the matrix of rows [y0,y0+rows), its rows dealt to goroutines.
func (h *Host) unfold(matrix, stored []byte, y0, rows int) {
	s, size, width := h.shape, int(h.precision.Bytes()), h.width()
	workers := runtime.GOMAXPROCS(0)
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			for t := worker; t < h.terms(); t += workers {
				c, ky, kx := t/(s.K*s.K), t/s.K%s.K, t%s.K
				for row := range rows {
					y := fuse.Reflect(y0+row+ky-s.K/2, s.H)
					line := stored[(c*s.H+y)*s.W*size:][:s.W*size]
					shiftLine(matrix[(t*rows+row)*width*size:][:s.W*size], line, kx-s.K/2, size)
				}
			}
		})
	}
	wg.Wait()
}

// shiftLine sets sample x of to to sample x+by of line, reflected at its ends.
func shiftLine(to, line []byte, by, size int) {
	w := len(line) / size
	first, end := min(max(0, -by), w), max(min(w, w-by), 0) // columns whose source is inside
	if first < end {
		copy(to[first*size:end*size], line[(first+by)*size:])
	}
	edge := func(x int) {
		from := fuse.Reflect(x+by, w) * size
		copy(to[x*size:(x+1)*size], line[from:from+size])
	}
	for x := range min(first, w) {
		edge(x)
	}
	for x := max(end, first); x < w; x++ {
		edge(x)
	}
}
