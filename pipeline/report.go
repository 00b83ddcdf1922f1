package pipeline

import (
	"fmt"

	"enhance/clrt"
	"enhance/internal/exec"
	"enhance/memplan"
	"enhance/raw"
	"enhance/raw/mosaic"
)

// Report is what is known about the making of a picture. Sizes are pixels and
// bytes, times seconds. Parts that a run did not come to are zero or nil.
type Report struct {
	Input     string          `json:"input"`
	Output    OutputFacts     `json:"output"`
	Photo     PhotoFacts      `json:"photo"`
	Colour    ColourFacts     `json:"colour,omitzero"`
	Noise     *NoiseFacts     `json:"noise,omitempty"`   // nil: the model takes none
	Defects   *DefectFacts    `json:"defects,omitempty"` // nil: the photo has no mosaic
	Model     ModelFacts      `json:"model"`
	Device    DeviceFacts     `json:"device"`
	Plan      PlanFacts       `json:"plan,omitzero"`
	Seconds   Seconds         `json:"seconds"`
	Memory    MemoryFacts     `json:"memory"`
	Host      HostFacts       `json:"host,omitzero"`
	Reference *ReferenceFacts `json:"reference,omitempty"`
	Warnings  []string        `json:"warnings,omitempty"`
	DryRun    bool            `json:"dry_run,omitempty"`
}

// OutputFacts describe the picture.
type OutputFacts struct {
	Path   string `json:"path,omitempty"`
	Format Format `json:"format"`
	Bits   int    `json:"bits"`
	Width  int    `json:"width"` // upright
	Height int    `json:"height"`
}

// PhotoFacts describe the photo.
type PhotoFacts struct {
	Make        string     `json:"make,omitempty"`
	Model       string     `json:"model,omitempty"`
	DateTime    string     `json:"date_time,omitempty"`
	Format      string     `json:"format"`
	Width       int        `json:"width"` // of the active area
	Height      int        `json:"height"`
	Crop        [4]int     `json:"crop"` // x0, y0, x1, y1
	CFA         string     `json:"cfa"`
	Sensor      string     `json:"sensor,omitempty"` // what kind: Bayer, X-Trans, ...
	Linear      bool       `json:"linear,omitempty"` // demosaiced
	Black       []float32  `json:"black"`
	White       [3]float32 `json:"white"`
	Orientation int        `json:"orientation"`
}

// ColourFacts say what colour treatment was decided.
type ColourFacts struct {
	WhiteBalance string        `json:"white_balance"`
	Gains        [3]float64    `json:"gains"`
	EV           float64       `json:"ev"` // all together
	BaselineEV   float64       `json:"baseline_ev,omitempty"`
	AutoExposure bool          `json:"auto_exposure,omitempty"`
	Temperature  float64       `json:"temperature,omitempty"` // kelvin
	Tint         float64       `json:"tint,omitempty"`        // above 0: greener than the temperature says
	Tone         string        `json:"tone"`                  // natural, linear, or the model's own
	Sharpen      float64       `json:"sharpen,omitempty"`     // the share of fine detail that is added
	Matrix       [3][3]float64 `json:"matrix"`                // camera to sRGB
}

// ModelFacts name the network.
type ModelFacts struct {
	Name   string `json:"name"`
	Arch   string `json:"arch"`
	Output string `json:"output"` // what its samples mean
}

// DeviceFacts name the device and why it was taken.
type DeviceFacts struct {
	Index int    `json:"index"` // -1: the host executor
	Name  string `json:"name"`
	Why   string `json:"why"`
	// Profile is the name of the device profile whose limits hold, if any.
	Profile string           `json:"profile,omitempty"`
	Info    *clrt.DeviceInfo `json:"info,omitempty"`
}

// PlanFacts are what was decided before the run.
type PlanFacts struct {
	Strategy  string `json:"strategy"`
	Precision string `json:"precision"`
	// PrecisionWhy says why, where the choice was the program's.
	PrecisionWhy string `json:"precision_why,omitempty"`
	// Tuning says whether algorithms were measured on the device.
	Tuning    exec.Tuning `json:"tuning"`
	Sections  int         `json:"sections"`
	Rows      int         `json:"rows"`  // of a strip, the highest
	Strips    int         `json:"ticks"` // strips, of all sections
	Launches  int         `json:"launches"`
	FLOPs     int64       `json:"flops"`
	Packed    [2]int      `json:"packed"` // rows and columns of the network's input
	Peak      int64       `json:"predicted_peak"`
	Budget    int64       `json:"budget"` // 0: none
	BudgetWhy string      `json:"budget_why"`
	HostBytes int64       `json:"host_bytes"` // of tensors spilled to the host

	Upload     int64 `json:"upload_bytes"` // to the device, in all
	Download   int64 `json:"download_bytes"`
	Recomputed int64 `json:"recomputed_flops"` // of FLOPs; 0: rows are computed once
	// By the planner's prices: the whole run, its kernels alone, and its bytes alone
	// over the link. Rated says that the device's rates were measured.
	Predicted float64 `json:"predicted_seconds"`
	Work      float64 `json:"work_seconds"`
	Link      float64 `json:"link_seconds"`
	Rated     bool    `json:"rated"`

	// Table has the plan's sections; of dry runs only.
	Table []SectionFacts `json:"table,omitempty"`

	// Full is the plan itself; nil on the host executor.
	Full *memplan.Plan `json:"-"`
}

// Seconds are wall-clock times. Decode, Develop and Encode are the busy time of
// their goroutines and lie inside Run, except what Finish holds.
type Seconds struct {
	Plan    float64 `json:"plan"`    // open the photo, decide, plan
	Wait    float64 `json:"wait"`    // for photos of a batch that had the device before
	Prepare float64 `json:"prepare"` // allocate and compile; 0 if kept from the photo before
	Run     float64 `json:"run"`
	Finish  float64 `json:"finish"` // last rows, flush to disk, rename
	Total   float64 `json:"total"`

	Decode  float64 `json:"decode_busy"`
	Pack    float64 `json:"pack_busy"`
	Develop float64 `json:"develop_busy"`
	Encode  float64 `json:"encode_busy"`
}

// MemoryFacts compare what was measured with the plan.
type MemoryFacts struct {
	Measured  bool  `json:"measured"` // false on the host executor and in a dry run
	Peak      int64 `json:"peak"`
	AsPlanned bool  `json:"as_planned"`
}

// ReferenceFacts are the comparison with the reference picture, without border.
type ReferenceFacts struct {
	Path     string      `json:"path"`
	Domain   string      `json:"domain"`
	Tone     string      `json:"tone"`  // of the picture that was compared
	CPSNR    Decibels    `json:"cpsnr"` // null: equal
	PSNR     [3]Decibels `json:"psnr"`
	SSIM     float64     `json:"ssim"` // mean of R, G, B
	SSIMLuma float64     `json:"ssim_luma"`
}

func (r *Report) warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

// WithoutNetwork reports whether the photo is developed without a network.
func (f *PhotoFacts) WithoutNetwork() bool { return f.Linear || f.Sensor != mosaic.RGGB.Kind() }

func photoFacts(m *raw.Meta) PhotoFacts {
	cfa, sensor := m.CFA.String(), m.CFA.Kind()
	if m.Linear {
		cfa, sensor = "no filter array", ""
	}
	return PhotoFacts{
		Make: m.Make, Model: m.Model, DateTime: m.DateTime, Format: m.Format,
		Width: m.Width, Height: m.Height, Crop: [4]int{m.Crop.X0, m.Crop.Y0, m.Crop.X1, m.Crop.Y1},
		CFA: cfa, Sensor: sensor, Linear: m.Linear, Black: m.Black, White: m.White, Orientation: m.Orientation,
	}
}

// SectionFacts describe a section of the plan and what computes it.
type SectionFacts struct {
	memplan.SectionFacts
	Algos []string `json:"algorithms,omitempty"` // of its convolutions, each once
}

// within notes a budget.
func (f *PlanFacts) within(b Budget) {
	if f.Budget, f.BudgetWhy = 0, b.Why(); b.Limited() {
		f.Budget = b.Bytes()
	}
}

func (f *PlanFacts) fill(job *exec.Job) {
	p := job.Plan
	f.within(p.Budget)
	f.Full = p
	f.Precision, f.Tuning = precisionOf(job).String(), job.Tuning()
	f.Upload, f.Download, f.Predicted = p.Cost.UploadBytes, p.Cost.DownloadBytes, p.Cost.Seconds
	f.Work, f.Link, f.Rated = p.Cost.WorkSeconds, p.Cost.LinkSeconds, job.Rated()
	f.Recomputed, f.Rows, f.Strips, f.Table = 0, 0, 0, nil
	for _, s := range p.Table() {
		f.Recomputed += s.Recomputed
	}
	f.Strategy, f.Peak, f.HostBytes = p.Strategy, p.Peak, p.HostBytes
	f.FLOPs, f.Launches, f.Sections = p.Cost.FLOPs, p.Cost.Launches, len(p.Sections)
	for _, s := range p.Sections {
		f.Rows = max(f.Rows, s.Rows)
		f.Strips += s.Strips
	}
}
