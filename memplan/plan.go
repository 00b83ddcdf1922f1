// Package memplan decides where every activation of a fused network lives and
// when every step runs over which rows, so that the device never holds more
// bytes than the budget. It is pure computation: no OpenCL, no clock, no
// randomness; the same request always gives the same plan.
//
// # How memory is bounded without changing a byte
//
// A plan divides the steps into sections that run one after another. Inside a
// section the steps advance together, a few rows at a time: each strip asks for
// some more rows of what the section must deliver, that demand is carried back
// through the graph, and every step then makes exactly the rows that are
// missing. A tensor is a ring of rows just high enough to hold what its readers
// still need. Every row is therefore computed once, from its true neighbours,
// whatever the height of a strip; there is no halo to recompute and no seam, and
// the bytes of the result do not depend on the plan. One strip as high as the
// picture is the whole-plane execution that frameworks use.
//
// A tensor that a later section reads is kept whole on the device, or on the
// host: then its rows are downloaded as they are made and uploaded again, into
// rings, when they are needed. The network's input always comes from the host
// and its output always goes there, row by row.
//
// Every buffer keeps within the largest allocation as their sum does within the budget; what is
// searched for that, docs/largest-allocation.md says.
//
// Start with [Make]; [Plan.String] prints what was decided, section by section, and
// [Plan.WriteSVG] draws it.
package memplan

import "enhance/internal/fuse"

// MoveKind is what a Move does.
type MoveKind uint8

const (
	// Run launches a step over rows [Y0,Y1) of its destination.
	Run MoveKind = iota
	// Upload copies rows of a tensor from the host into a ring.
	Upload
	// Download copies rows of a tensor from its ring to the host.
	Download
	// LoadWeights copies the parameters of a step to their place.
	LoadWeights
	// NextStrip separates strips. Uploads behind it are for the next strip: nothing
	// that runs before the NextStrip after it reads them. Rows that are downloaded stay in
	// their ring until the NextStrip after the next.
	NextStrip
)

// Move is one thing the executor does. Index is a step (Run, LoadWeights) or a
// ring (Upload, Download).
type Move struct {
	Kind   MoveKind
	Index  int32
	Y0, Y1 int32
}

// Ring is the storage of consecutive rows of a tensor on the device: row y is at
// slot y mod Rows. It exists from section First to section Last. It is used one
// section less at its beginning if it is Early, at its end if it is Late: there only
// transfers go, to the first strip of a section that overlaps the one before, and from that one's last.
type Ring struct {
	Tensor      int
	Rows        int
	First, Last int
	Early, Late bool
	Bytes       int64 // Rows times the tensor's row size, plus the layout's rim
	Arena       int   // index into Plan.Arenas
	Offset      int64 // bytes from the start of the arena
}

// Section is a run of consecutive steps that advance together.
type Section struct {
	First, Last int // steps [First,Last]
	Rows        int // rows of the highest delivered tensor made in one strip
	Strips      int
	// Overlaps says that nothing comes to an end between the section before and this one:
	// its first uploads are the last strip's of the section before, and what that sends
	// to the host last is on its way in this one's first strip.
	Overlaps bool
	Moves    []Move
}

// Fixed is a device buffer that lives as long as the plan: weights and the like.
type Fixed struct {
	Purpose string
	Bytes   int64
}

// Plan is a complete schedule with all its storage.
type Plan struct {
	// Program is the request's with its steps in the order of the plan: step i is
	// the request's step Order[i]. All indices of steps in the plan are of this
	// order.
	Program  *fuse.Program
	Order    []int
	Strategy string // "whole planes", StripsAtEnds, "row streaming", "row streaming with spilling", "sections"
	Sections []Section
	Rings    []Ring
	Arenas   []int64 // sizes of the device buffers that hold the rings
	Scratch  int64   // size of the buffer for the temporaries of one launch; 0: none
	Fixed    []Fixed
	// Loaded is the size of the device buffer for the parameters of steps that do not
	// stay on the device, those of one section at a time: LoadAt[i] is where those of
	// step i begin, or -1 if they stay. Places are slots, which are the same for all
	// sections: two that differ do not overlap. Resident is the size of the buffer of
	// those that stay.
	// Groups[i], where it is not 0, is in how many groups of outputs every launch of step i
	// loads its parameters itself.
	Loaded   int64
	LoadAt   []int64
	Groups   []int
	Resident int64
	// ResidentParts and LoadedParts are the sizes of the buffers that these are divided into,
	// one after another, where one would be larger than the largest allocation. The
	// parameters of a step are in one of them.
	ResidentParts, LoadedParts []int64
	Unified                    bool // the device shares the host's memory
	HostRest                   bool // what waits there does not count against the budget all the same
	Budget                     Budget
	Peak                       int64 // bytes of all device buffers together; nothing else is ever allocated
	Largest                    int64 // bytes of the largest of them
	// HostBytes is the host memory for tensors spilled there; HostOffset[t] is the
	// place of tensor t in it, row after row, or -1. Tensors that are never
	// there at the same time share places.
	HostBytes  int64
	HostOffset []int64
	Cost       Cost

	reads  []map[int]int32 // per step: ring of each tensor it reads
	writes []int32         // per step: ring of its destination

	rowBytes []int64 // per tensor: of one row
	weights  []int64 // per step: of its parameters
	largest  holding // what needs Largest bytes in one buffer
}

// ReadRing is the index of the ring that step reads tensor from.
func (p *Plan) ReadRing(step, tensor int) int { return int(p.reads[step][tensor]) }

// WriteRing is the index of the ring that step writes its destination to.
func (p *Plan) WriteRing(step int) int { return int(p.writes[step]) }

// Cost is what a plan is expected to take.
type Cost struct {
	Launches      int
	FLOPs         int64
	UploadBytes   int64
	DownloadBytes int64
	// By the request's cost model: the whole run, its launches alone, and its
	// transfers alone at the rate of the link.
	Seconds, WorkSeconds, LinkSeconds float64
}

// CostModel prices a plan. Times in seconds, rates per second.
type CostModel struct {
	LaunchSeconds float64
	StripSeconds  float64 // what a strip takes besides its work: queues wait for each other
	FLOPRate      float64
	// TransferSeconds is what a copy between host and device takes besides its bytes.
	TransferSeconds float64
	MemoryRate      float64 // bytes that kernels read and write; 0: not counted
	LinkRate        float64 // bytes between host and device in one direction
	DuplexRate      float64 // bytes in both directions together, at once; 0: twice LinkRate
	// Saturation is how many output samples (rows × columns × channels) of a
	// convolution keep the device busy. A launch computes in waves of so many, the
	// last of which is half full on average.
	Saturation float64
	// CacheBytes is the size above which a section's rings no longer stay in the
	// cache; MissPenalty is the factor its work then costs.
	CacheBytes  int64
	MissPenalty float64
}

// Request is everything a plan depends on.
type Request struct {
	Program *fuse.Program
	// RowBytes and RimBytes describe the layout of tensor t: the bytes of one
	// row, and what a ring needs beyond its rows.
	RowBytes func(t int) int64
	RimBytes func(t int) int64
	// Granule is the number of rows that step must be run in multiples of
	// (except at the end of the plane), so that its result does not depend on
	// how rows are divided.
	Granule func(step int) int
	// Scratch is the device memory that one launch over rows rows wants besides its
	// tensors. LessScratch lists sizes that launches of any height work with if they are given
	// less, from the fastest to the least; nil: none do. A plan gives all launches one size,
	// of which each takes as much as it has use for.
	Scratch     func(step, rows int) int64
	LessScratch func(step int) []int64

	// Weights is the size of the parameters of a step on the device. They stay
	// there, or are loaded again for every section if the budget asks for it.
	Weights func(step int) int64

	// GroupWeights lists what the parameters of a step take in groups of its outputs, of a
	// group each: in 2, 4 and so on; nil: it has no groups. Where nothing else fits, steps
	// whose parameters are loaded have one group of them on the device at a time, which every
	// launch loads one after another.
	GroupWeights func(step int) []int64

	Fixed    []Fixed
	Budget   Budget
	MaxAlloc int64 // largest single buffer; 0: no limit
	Align    int64 // alignment of rings inside an arena; 0: 64
	// Unified says that the device shares the host's memory: transfers are copies in it, which
	// take turns with the kernels, and what waits on the host counts against the budget. So
	// nothing waits there but what exceeds the largest allocation, unless HostRest says that
	// the host has memory besides what the device lends, which the budget does not bound. Even
	// then nothing else waits there if a plan fits without. A device with memory of its own has
	// no use for HostRest.
	Unified  bool
	HostRest bool
	Model    CostModel
	// RowSeconds, if not nil, is what the operations of one row of a step's
	// destination take on a busy device; otherwise the model's FLOPRate says.
	RowSeconds func(step int) float64
	// BusyRows, if not nil, is the number of rows that a busy device makes in the time of a launch of step
	// over rows of them, but for the model's LaunchSeconds; 0: the model's Saturation says it.
	BusyRows func(step, rows int) float64

	// Rows, if not 0, forces row streaming with strips of that height.
	Rows int
	// WholePlanes, if true, forces whole planes.
	WholePlanes bool

	order []int // what Program's steps are in the request as it was made
	facts *facts
}
