package pipeline

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"enhance/internal/bytesize"
	"enhance/internal/exec"
	"enhance/internal/hostmemory"
	"enhance/internal/imgio"
	"enhance/pipeline/facts"
	"enhance/raw"
	"enhance/raw/dng"
)

// HostMemoryError says that a run would need more of the host's memory than it
// may have, or than there is.
type HostMemoryError struct {
	Budget, Need int64
	// Available, if not 0, says that nobody asked for a budget: so much is available
	// beside what the process holds, both of which Budget is.
	Available int64
	// Owner, if not "", is the profile whose host has Budget bytes, its device's share included.
	Owner   string
	Planned []facts.HostUse // the largest first
	Lower   []Remedy        // what the host has room for instead, with the need of each
}

func (e *HostMemoryError) Error() string {
	var parts []string
	for _, u := range e.Planned {
		parts = append(parts, fmt.Sprintf("%s %s", bytesize.Text(u.Bytes), u.Purpose))
	}
	less := remedies(e.Lower)
	if less != "" {
		less = "; it is enough " + less
	}
	if e.Available > 0 {
		return fmt.Sprintf("this run needs about %s of host memory (%s), but only %s are available, %s of which the process holds%s; --host-mem 0 skips this check",
			bytesize.Text(e.Need), strings.Join(parts, ", "), bytesize.Text(e.Budget), bytesize.Text(e.Budget-e.Available), less)
	}
	if e.Owner != "" {
		return fmt.Sprintf("this run needs about %s of host memory (%s), but the host of %s has %s%s; --host-mem 0 skips this check",
			bytesize.Text(e.Need), strings.Join(parts, ", "), e.Owner, bytesize.Text(e.Budget), less)
	}
	return fmt.Sprintf("%s of host memory is too little: this run needs about %s (%s)%s; try --host-mem %dM",
		bytesize.Text(e.Budget), bytesize.Text(e.Need), strings.Join(parts, ", "), less, e.enough()>>20)
}

// drift is by how much what the process holds before a run differs from one run to
// the next at least, by when its garbage is collected: 8 MiB were seen.
const drift = 12 << 20

// enough is a budget that works, where none is too small for the run itself: Need and
// what it may be more the next time, as a round number of MiB.
func (e *HostMemoryError) enough() int64 {
	n, round := e.Need+max(drift, e.Need/16), int64(10<<20)
	if n > 1000<<20 {
		round *= 10
	}
	return (n + round - 1) / round * round
}

// hostNeeds estimates what the run holds in the host's memory and holds it
// against the budget.
func (r *run) hostNeeds() error {
	f := &r.report.Host
	if f.Budget = 0; r.session.set.HostMemory.Limited() {
		f.Budget = r.session.set.HostMemory.Bytes()
	}
	f.Planned, f.Need = nil, 0
	add := func(purpose string, bytes int64) {
		if bytes > 0 {
			f.Planned = append(f.Planned, facts.HostUse{Purpose: purpose, Bytes: bytes})
			f.Need += bytes
		}
	}
	if r.session.host.base.Load() == 0 { // later what runs hold is among it
		if r.session.device.profile != nil || r.session.lowHostMemory() {
			debug.FreeOSMemory() // what planning left behind differs from one run to the next; 10 ms where nobody bounds it
		}
		resident, _ := hostmemory.Resident()
		r.session.host.base.CompareAndSwap(0, resident-r.ahead.bytes()) // which are among the rows being decoded
	}
	f.StartRSS = r.session.host.base.Load()
	add("of the process so far", f.StartRSS)
	add("of rows being decoded", r.decodeBytes())
	add("of the process that reads the photo through LibRaw", r.apartBytes())
	switch {
	case r.classical:
		add("of rows whose colours are made", r.colourBytes())
	case r.network.plan != nil:
		u := r.network.plan.HostUse()
		add("for tensors spilled from the device", u.Spilled)
		add("of rows on their way to and from the device", u.Rows)
		add("of weights sent section by section", u.Weights)
		if r.session.compiles(r.network.plan) {
			add("for compiling kernels, which are not in the cache yet", compilerBytes)
		}
		if r.session.device.sharesHost() {
			add("of device buffers, which share the host's memory", r.network.plan.Plan.Peak)
		}
	default:
		out := int64(r.geo.out.Width()) * int64(r.geo.out.Height())
		add("of activations", r.report.Plan.Peak)
		add("for the network's input and result", 4*(int64(r.session.planes())*int64(r.geo.h)*int64(r.geo.w)+3*out))
	}
	for _, u := range r.pictureBytes() {
		add(u.Purpose, u.Bytes)
	}
	add("for the report's page", r.job.Show.Kept)
	slices.SortStableFunc(f.Planned, func(a, b facts.HostUse) int { return cmp.Compare(b.Bytes, a.Bytes) })
	if f.Budget > 0 && f.Need > f.Budget {
		return &HostMemoryError{Budget: f.Budget, Need: f.Need, Planned: f.Planned}
	}
	if p := r.session.device.profile; p != nil && r.session.device.choice.Device == nil && p.HostMem > 0 &&
		r.session.set.HostMemory != Unlimited() && f.Need > p.HostMem {
		return &HostMemoryError{Budget: p.HostMem, Owner: p.Name, Need: f.Need, Planned: f.Planned}
	}
	return r.hostAvailable()
}

// compilerBytes is reckoned for the driver's compiler in this process, which does not give
// back what it took: on PoCL 172 MiB were seen for pynet-s and 213 MiB for PyNET; a process
// that compiles with NVIDIA's holds 270 MiB in all.
const compilerBytes = 256 << 20

// compiles reports whether the driver compiles kernels for a plan, or did for one before.
func (s *Session) compiles(plan *exec.Job) bool {
	d := s.device.choice.Device
	if s.host.compiled || d == nil {
		return s.host.compiled
	}
	if c := &s.host.asked; c.plan != plan {
		c.plan, c.compiles = plan, plan.Compiles(d)
	}
	return s.host.asked.compiles
}

// hostAvailable refuses what the host cannot have enough memory for, unless a budget was asked for, or none, or
// the plan is for a device that is not here: a system that runs out of it ends the process without a word, or
// Go does with many.
func (r *run) hostAvailable() error {
	f := &r.report.Host
	f.Available = 0
	set := &r.session.set
	elsewhere := r.session.device.profile != nil && r.session.device.choice.Device == nil
	if set.HostMemory.Decided() || elsewhere {
		return nil
	}
	avail, ok := r.session.host.available()
	if !ok {
		return nil
	}
	held, _ := hostmemory.Resident()
	if n := r.session.runner.holds.Load(); n > 0 { // it is used again, or given back before the next engine takes its own
		held = max(held, f.StartRSS+n)
	}
	if r.photo != nil { // the process that reads it is there already
		_, apart := r.photo.Apart()
		held += apart
	}
	f.Available = avail
	if f.Need > held+avail {
		return &HostMemoryError{Budget: held + avail, Available: avail, Need: f.Need, Planned: f.Planned}
	}
	return nil
}

// decodeBytes is what source and developer hold, and the reader of compressed
// photos (package dng bounds the latter).
func (r *run) decodeBytes() int64 {
	region, out := r.geo.region, r.geo.out
	var n int64
	if r.meta.Linear && !r.classical {
		n = linearBytes(r.geo, r.meta.Width)
	} else {
		n = int64(blocksHeld(r.holds.blocks, r.geo.region)) * blockRows * 2 * int64(r.meta.Width)
	}
	n += int64(cores()) * 4 * int64(r.session.lines()*region.Width()+r.session.planes()*r.geo.w+3*2*out.Width())
	n += int64(min(r.holds.batches, batchesOf(r.geo))) * outRows * 3 * r.codeBytes() * int64(out.Width())
	if strings.Contains(r.meta.Format, "JPEG") {
		n += 32 << 20
	}
	if r.photo != nil { // nil: a size is asked about
		n += r.photo.KeptBytes()
	}
	if !r.network.makesPixels() {
		n += r.decisions.rendering.bytes()
	}
	return n + r.repairBytes()
}

// codeBytes is the size of a code of the developed picture.
func (r *run) codeBytes() int64 {
	if p := r.network.picture; p != nil && p.Bytes && r.network.makesPixels() {
		return 1
	}
	return int64(max(2, r.job.Output.Bits/8))
}

// fixedBytes is what the process and a session with that plan hold whatever photos
// are under way.
func (s *Session) fixedBytes(plan *exec.Job) int64 { return s.host.base.Load() + s.engineBytes(plan) }

// engineBytes is what an engine with that plan holds of the host's memory.
func (s *Session) engineBytes(plan *exec.Job) int64 {
	u := plan.HostUse()
	n := u.Spilled + u.Rows + u.Weights
	if s.compiles(plan) {
		n += compilerBytes
	}
	if s.device.sharesHost() {
		n += plan.Plan.Peak
	}
	return n
}

// photoBytes is what a photo under way adds.
func (r *run) photoBytes() int64 {
	n := r.decodeBytes() + r.apartBytes()
	if r.classical {
		n += r.colourBytes()
	}
	for _, u := range r.pictureBytes() {
		n += u.Bytes
	}
	return n
}

// apartBytes is what a process that reads the photo may hold.
func (r *run) apartBytes() int64 {
	if r.photo == nil { // a size is asked about
		return 0
	}
	bound, _ := r.photo.Apart()
	return bound
}

// encoderBytes is what one core's share of a PNG or TIFF in the making holds; see
// imgio.NewPNG and, for JPEG, imgio.NewJPEG.
const encoderBytes = 3 << 20

// pictureBytes is what writing and comparing the picture holds.
func (r *run) pictureBytes() []facts.HostUse {
	w, h, _, _ := r.writtenSize()
	pixels, o := int64(w)*int64(h), &r.job.Output
	var all []facts.HostUse
	add := func(purpose string, bytes int64) { all = append(all, facts.HostUse{Purpose: purpose, Bytes: bytes}) }
	if r.meta.Orientation >= 3 && o.Format != DNG {
		add("for the picture, which is turned before it is written", 3*pixels*int64(max(o.Bits, 8))/8)
	}
	add("for the picture's resizing", r.resizerBytes())
	if o.Format == DNG {
		add("of the DNG file's encoder", dng.LinearBytes(w, dngPlanes(r.meta)))
		add("of the DNG file's preview", previewBytes())
		return all
	}
	encoder := int64(encoderBytes)
	if o.Format == JPEG {
		encoder = 6 * int64(w) * int64(min(imgio.JPEGBandRows(w), h))
	}
	add("of the picture's encoder", encoder*int64(min(cores(), 16)+1))
	if n := r.seenBytes(); n > 0 {
		add("for what a report shows", n)
	}
	if r.job.Reference != "" {
		add("for the reference picture and its decoding", (6+8)*pixels)
	}
	return all
}

// noteHostPeak completes the report with what the process came to, and the one that reads
// the photo, if there is one.
func noteHostPeak(r *Report, p *raw.Photo) {
	f := &r.Host
	_, f.PeakRSS = hostmemory.Resident()
	_, apart := p.Apart()
	f.PeakRSS += apart
	if f.Budget > 0 && f.PeakRSS > f.Budget {
		r.Warn("host memory peaked at %s, above the %s asked for: about %s were planned, the rest is the OpenCL driver's",
			bytesize.Text(f.PeakRSS), bytesize.Text(f.Budget), bytesize.Text(f.Need))
	}
}
