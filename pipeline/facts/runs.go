package facts

import (
	"slices"

	"enhance/clrt"
	"enhance/model"
)

// ApplyReport is what is known about a run over a picture.
type ApplyReport struct {
	Model    Model    `json:"model"`
	Device   Device   `json:"device"`
	Plan     Plan     `json:"plan"`
	Seconds  Seconds  `json:"seconds"`
	Memory   Memory   `json:"memory"`
	Input    string   `json:"input"`
	Picture  [2]int   `json:"picture"`  // rows and columns of the input
	Result   [2]int   `json:"result"`   // and of the result
	Multiple int      `json:"multiple"` // sides are padded to one of it, by reflection
	Runs     int      `json:"runs"`     // 3 for networks of one channel over pictures with colours
	Output   Output   `json:"output"`
	Warnings []string `json:"warnings,omitempty"`
	DryRun   bool     `json:"dry_run,omitempty"`
}

// TensorReport is what is known about a run on a tensor.
type TensorReport struct {
	Model   Model   `json:"model"`
	Node    string  `json:"node"` // whose value the result is
	Device  Device  `json:"device"`
	Plan    Plan    `json:"plan"`
	Algos   []Algo  `json:"algorithms,omitempty"`
	Seconds Seconds `json:"seconds"`
	Memory  Memory  `json:"memory"`

	Input  [3]int  `json:"input"`  // channels, rows, columns
	Output [3]int  `json:"output"` // likewise, after cropping
	Values *Values `json:"values,omitempty"`
	// Warnings are for the reader, such as that a plan had to be made again.
	Warnings []string `json:"warnings,omitempty"`
	DryRun   bool     `json:"dry_run,omitempty"`
}

// Values sums up the samples of a result. NonFinite ones are left out of the rest.
type Values struct {
	Mean      float64 `json:"mean"`
	Std       float64 `json:"std"` // of the population
	Min       float64 `json:"min"`
	Max       float64 `json:"max"`
	NonFinite int64   `json:"non_finite"`
}

// TuneReport is what the measurement of algorithms found.
type TuneReport struct {
	Model    Model            `json:"model"`
	Device   Device           `json:"device"`
	Packed   [2]int           `json:"packed"` // rows and columns of the network's input
	File     string           `json:"file"`
	Seconds  float64          `json:"seconds"`
	Findings []TunedPrecision `json:"precisions"`
}

// TunedPrecision is the part of a report that is of one precision.
type TunedPrecision struct {
	Precision string        `json:"precision"`
	Hash      string        `json:"hash"` // of the choices, as reports of runs have it
	Outcomes  []Convolution `json:"convolutions"`
}

// Convolution says which algorithm was found for a kind of convolution.
type Convolution struct {
	Name    string      `json:"-"` // Shape, and what follows in the same kernel
	Key     string      `json:"key"`
	Shape   string      `json:"shape"` // C,H,W,k,K
	Choice  Choice      `json:"choice"`
	Rows    int         `json:"rows"` // of the plane that were computed
	Results []Candidate `json:"results"`
	Problem string      `json:"problem,omitempty"` // why nothing could be measured
}

// Candidate says what came of one algorithm that was tried.
type Candidate struct {
	Algo    string  `json:"algo"`
	Problem string  `json:"problem,omitempty"` // why it is out: refused, wrong
	Seconds float64 `json:"seconds,omitempty"`
	GFLOPs  float64 `json:"gflops,omitempty"`
	Error   float64 `json:"rel_error"`
	Score   float64 `json:"score,omitempty"`
}

// Choice is the algorithm for a key and what it rests on. Seconds are of the same
// rows for both algorithms, the best of several launches by the device's clock.
type Choice struct {
	Algo    string  `json:"algo"`
	Default string  `json:"default"`         // what is taken without tuning
	Seconds float64 `json:"seconds"`         // of Algo; 0: nothing was measured, Algo is Default
	Before  float64 `json:"default_seconds"` // of Default; 0 if it could not be measured
	GFLOPs  float64 `json:"gflops"`          // 10^9 operations of the direct sum a second
	Error   float64 `json:"rel_error"`       // root mean square, beside the plain definition's result
	Tried   int     `json:"tried"`           // candidates that gave right results
}

// Measured reports whether candidates were compared.
func (c Choice) Measured() bool { return c.Seconds > 0 }

// Gain is how much faster than the default the choice is; 1 if nothing is known.
func (c Choice) Gain() float64 {
	if c.Seconds <= 0 || c.Before <= 0 {
		return 1
	}
	return c.Before / c.Seconds
}

// Timing is a whole network as measured, input and output transfers included.
type Timing struct {
	Model     string           `json:"model"`
	Device    *clrt.DeviceInfo `json:"device"`
	Precision string           `json:"precision"`
	Input     model.Shape      `json:"input"` // packed, padded
	Output    model.Shape      `json:"output"`
	FLOPs     int64            `json:"flops"`
	Strategy  string           `json:"strategy"`
	Launches  int              `json:"launches"`
	Tuning    Tuning           `json:"tuning"` // where the choice of algorithms came from

	Prepare float64   `json:"prepare_seconds"` // allocate, compile, load weights
	Runs    []float64 `json:"runs"`            // seconds of each by the host's clock
	Seconds float64   `json:"seconds"`         // median
	// CPU is the processor seconds of each run, kernels included where the device is
	// a CPU: they hold still when other programs share the cores. Empty where the
	// system does not tell.
	CPU        []float64 `json:"cpu_runs,omitempty"`
	CPUSeconds float64   `json:"cpu_seconds,omitempty"` // median
	GFLOPs     float64   `json:"gflops"`
	PeakFMA    float64   `json:"peak_fma"` // measured, operations per second
	PeakShare  float64   `json:"peak_share"`

	PeakBytes    int64 `json:"peak_bytes"` // of device memory, measured
	PlannedBytes int64 `json:"planned_bytes"`
	// PeakResident is the most bytes of memory that the process has had so far, 0
	// where the system does not tell.
	PeakResident int64 `json:"peak_resident,omitempty"`
	NonFinite    int64 `json:"non_finite"` // samples of the result

	Algos []Algo `json:"algorithms"`

	// Profile is of one more run, not among Runs.
	Profile *Profile `json:"profile,omitempty"`
}

// Against holds the rate against what the device was measured to do at most, in
// operations per second.
func (t *Timing) Against(peak float64) {
	if t.PeakFMA = peak; peak > 0 {
		t.PeakShare = t.GFLOPs * 1e9 / peak
	}
}

// Median of a list that is not empty; of an even number, the mean of the middle two.
func Median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	n := len(v)
	return (v[(n-1)/2] + v[n/2]) / 2
}

// ClassifyReport is what a classifier says of a picture.
type ClassifyReport struct {
	Input   string        `json:"input"`
	Picture [2]int        `json:"picture"` // rows and columns
	Softmax bool          `json:"softmax"` // the network has none, so probabilities were made here
	Classes []Class       `json:"classes"` // the likeliest first
	Run     *TensorReport `json:"run,omitempty"`
}

// Class is one of a classifier's classes.
type Class struct {
	Index       int     `json:"index"`
	Label       string  `json:"label,omitempty"`
	Probability float64 `json:"probability"`
	Value       float64 `json:"value"` // what the network makes
}
