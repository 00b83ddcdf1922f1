package facts

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
