package facts

import "enhance/internal/peak"

// Profile says where the time of profiled runs went. Times are seconds: of
// the device's clock, except Wall and Host, which are the host's. Along the queue
// that computes, Kernels, Copies, Gaps and Edges together are Wall.
type Profile struct {
	Device string  `json:"device"`
	Runs   int     `json:"runs"`
	Wall   float64 `json:"wall_seconds"` // of the runs, from begin to end
	// Kernels were computed, Copies are transfers and fills in the same queue, in
	// Gaps the queue had nothing to do between two commands, and Edges lie before
	// the first and after the last.
	Kernels float64 `json:"kernel_seconds"`
	Copies  float64 `json:"copy_seconds"`
	Gaps    float64 `json:"gap_seconds"`
	Edges   float64 `json:"edge_seconds"`

	Launches int `json:"launches"` // of kernels
	// Planned are the launches of steps that the plans of the runs count; some are of
	// several kernels, such as one that transforms filters before the convolution's.
	Planned  int            `json:"planned_launches"`
	Commands int            `json:"commands"` // all that the queues took
	FLOPs    int64          `json:"flops"`
	Bytes    int64          `json:"bytes"`
	Peaks    *Peaks         `json:"peaks,omitempty"`
	Steps    []StepProfile  `json:"steps"` // the longest first
	Queues   []QueueProfile `json:"queues"`
	// Host is what the host did beside it; stages overlap each other and the device.
	Host []StageTime `json:"host,omitempty"`
}

// StepProfile sums one step's launches in all runs.
type StepProfile struct {
	Name     string  `json:"name"`
	Kind     string  `json:"kind"`
	Algo     string  `json:"algo,omitempty"`
	Launches int     `json:"launches"`
	Seconds  float64 `json:"seconds"`
	Gaps     float64 `json:"gap_seconds"` // before its launches
	FLOPs    int64   `json:"flops"`       // of convolutions, by their definition
	// Bytes is what the step cannot help moving: sources, parameters and result once
	// each. What the device moved may be more.
	Bytes   int64           `json:"bytes"`
	Roof    float64         `json:"roof"` // least time by the peaks over the time taken; 0: peaks unknown
	Bound   string          `json:"bound,omitempty"`
	Kernels []KernelProfile `json:"kernels"`
}

// KernelProfile sums one kernel of a step.
type KernelProfile struct {
	Name     string  `json:"name"`
	Launches int     `json:"launches"`
	Seconds  float64 `json:"seconds"`
}

// QueueProfile sums the commands of one queue.
type QueueProfile struct {
	Name  string      `json:"name"`
	Kinds []KindTimes `json:"kinds"`
}

// KindTimes sums the commands of one kind.
type KindTimes struct {
	Kind    string  `json:"kind"`
	Count   int     `json:"count"`
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"`
}

// StageTime sums one stage of the host's work.
type StageTime struct {
	Name    string  `json:"name"`
	Count   int     `json:"count"`
	Seconds float64 `json:"seconds"`
}

// Peaks are what a device can do at most, per second; see package conv/peak.
type Peaks struct {
	peak.Units
	Bytes float64 `json:"bytes"` // read and written by a copy
}
