// Package facts holds the reports of runs: facts that were measured or read. Reports
// are plain data whose JSON scripts read, so their keys stay.
//
// Begin with [Report], which pipeline.Enhance returns. [ApplyReport], [TensorReport] and
// [TuneReport] are of the other runs, [Explanation] and [PlanTable] of plans.
package facts

import (
	"encoding/json"
	"fmt"
	"math"

	"enhance/clrt"
	"enhance/memplan"
	"enhance/raw/defects"
	"enhance/raw/noise"
)

// Report is what is known about the making of a picture. Sizes are pixels and
// bytes, times seconds. Parts that a run did not come to are zero or nil.
type Report struct {
	Input     string     `json:"input"`
	Output    Output     `json:"output"`
	Photo     Photo      `json:"photo"`
	Colour    Colour     `json:"colour,omitzero"`
	Noise     *Noise     `json:"noise,omitempty"`   // nil: the model takes none
	Defects   *Defects   `json:"defects,omitempty"` // nil: the photo has no mosaic
	Model     Model      `json:"model"`
	Device    Device     `json:"device"`
	Plan      Plan       `json:"plan,omitzero"`
	Seconds   Seconds    `json:"seconds"`
	Memory    Memory     `json:"memory"`
	Host      Host       `json:"host,omitzero"`
	Reference *Reference `json:"reference,omitempty"`
	Warnings  []string   `json:"warnings,omitempty"`
	DryRun    bool       `json:"dry_run,omitempty"`
	Server    int        `json:"server_pid,omitempty"` // of the process that made the picture, if it was another
	Seen      *Seen      `json:"-"`                    // nil unless asked for
}

// Output describes the picture.
type Output struct {
	Path   string `json:"path,omitempty"`
	Format string `json:"format"`
	Bits   int    `json:"bits"`
	Width  int    `json:"width"` // upright
	Height int    `json:"height"`
	// Profile is what the samples mean: srgb, p3, ...
	Profile string `json:"profile,omitempty"`
}

// Photo describes the photo.
type Photo struct {
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

// Colour says what colour treatment was decided.
type Colour struct {
	WhiteBalance string     `json:"white_balance"`
	Gains        [3]float64 `json:"gains"`
	EV           float64    `json:"ev"` // all together
	BaselineEV   float64    `json:"baseline_ev,omitempty"`
	AutoExposure bool       `json:"auto_exposure,omitempty"`
	Temperature  float64    `json:"temperature,omitempty"` // kelvin
	Tint         float64    `json:"tint,omitempty"`        // above 0: greener than the temperature says
	Tone         string     `json:"tone"`                  // natural, linear, profile (the camera profile's curve), or the model's own
	// CameraProfile is the profile whose colours were taken, and what it has.
	CameraProfile string        `json:"camera_profile,omitempty"`
	Look          string        `json:"look,omitempty"`    // profile, or nothing
	Sharpen       float64       `json:"sharpen,omitempty"` // the share of fine detail that is added
	Matrix        [3][3]float64 `json:"matrix"`            // white-balanced camera RGB to the picture's linear space
}

// Model names the network.
type Model struct {
	Name string `json:"name"`
	Arch string `json:"arch"`
	// Ensemble is the number of its answers that a result is the mean of; 0 without an ensemble.
	Ensemble int    `json:"ensemble,omitempty"`
	Output   string `json:"output"` // what its samples mean
}

// String is how people read it.
func (m *Model) String() string {
	if m.Ensemble == 0 {
		return m.Name
	}
	return fmt.Sprintf("%s, ensemble of %d", m.Name, m.Ensemble)
}

// Device names the device and why it was taken.
type Device struct {
	Index int    `json:"index"` // -1: the host executor
	Name  string `json:"name"`
	Why   string `json:"why"`
	// Profile is the name of the device profile whose limits hold, if any.
	Profile string           `json:"profile,omitempty"`
	Info    *clrt.DeviceInfo `json:"info,omitempty"`
}

// Plan says what was decided before the run.
type Plan struct {
	Strategy  string `json:"strategy"`
	Precision string `json:"precision"`
	// PrecisionWhy says why, where the choice was the program's.
	PrecisionWhy string `json:"precision_why,omitempty"`
	// Tuning says whether algorithms were measured on the device.
	Tuning    Tuning `json:"tuning"`
	Sections  int    `json:"sections"`
	Rows      int    `json:"rows"`  // of a strip, the highest
	Strips    int    `json:"ticks"` // strips, of all sections
	Launches  int    `json:"launches"`
	FLOPs     int64  `json:"flops"`
	Packed    [2]int `json:"packed"` // rows and columns of the network's input
	Peak      int64  `json:"predicted_peak"`
	Budget    int64  `json:"budget"` // 0: none
	BudgetWhy string `json:"budget_why"`
	HostBytes int64  `json:"host_bytes"` // of tensors spilled to the host

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
	Table []Section `json:"table,omitempty"`

	// Full is the plan itself; nil on the host executor.
	Full *memplan.Plan `json:"-"`
}

// Seconds are wall-clock times. Decode, Develop and Encode are the busy time of
// their goroutines and lie inside Run, except what Finish holds.
type Seconds struct {
	Start   float64 `json:"start,omitempty"` // before, of a process's first photo: from the start of the program; not in Total
	Plan    float64 `json:"plan"`            // open the photo, decide, plan
	Wait    float64 `json:"wait"`            // for photos of a batch that had the device before
	Prepare float64 `json:"prepare"`         // allocate and compile; 0 if kept from the photo before
	Run     float64 `json:"run"`
	Finish  float64 `json:"finish"` // last rows, flush to disk, rename
	Total   float64 `json:"total"`

	Decode  float64 `json:"decode_busy"`
	Pack    float64 `json:"pack_busy"`
	Develop float64 `json:"develop_busy"`
	Encode  float64 `json:"encode_busy"`
}

// Memory compares what was measured with the plan.
type Memory struct {
	Measured  bool  `json:"measured"` // false on the host executor and in a dry run
	Peak      int64 `json:"peak"`
	AsPlanned bool  `json:"as_planned"`
}

// Reference is the comparison with the reference picture, without border.
type Reference struct {
	Path     string      `json:"path"`
	Domain   string      `json:"domain"`
	Tone     string      `json:"tone"`  // of the picture that was compared
	CPSNR    Decibels    `json:"cpsnr"` // null: equal
	PSNR     [3]Decibels `json:"psnr"`
	SSIM     float64     `json:"ssim"` // mean of R, G, B
	SSIMLuma float64     `json:"ssim_luma"`
}

// Warn adds a warning.
func (r *Report) Warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

// NoNetwork is the strategy of a photo that no network develops.
const NoNetwork = "no network"

// WithoutNetwork reports whether the photo is developed without a network.
func (r *Report) WithoutNetwork() bool { return r.Plan.Strategy == NoNetwork }

// Section describes a section of the plan and what computes it.
type Section struct {
	memplan.SectionFacts
	Algos []string `json:"algorithms,omitempty"` // of its convolutions, each once
}

// Noise says what noise the network was told of.
type Noise struct {
	Source  string       `json:"source"` // none, given, file or estimated
	Levels  noise.Levels `json:"levels"` // of red, green, blue, before gain maps
	Denoise float64      `json:"denoise"`
	// Left is the share of the noise's deviation that is left on smooth surfaces; nil if nobody measured
	// what the network leaves.
	Left *float64 `json:"left,omitempty"`
	// ProfileRatio is how many times the variance of the file's profile is the
	// estimate's; 0 if they were not compared.
	ProfileRatio float64 `json:"profile_ratio,omitempty"`
	// Blocks is how many flat blocks an estimate rests on.
	Blocks int64 `json:"blocks,omitempty"`
}

// Defects says which defective samples were repaired.
type Defects struct {
	Mode  string `json:"mode"` // auto, off or list
	Count int64  `json:"count"`
	// Left is how many of a list stay as they are, since too few good samples are near them.
	Left int64 `json:"left,omitempty"`
	// Places are those repaired, in the active area: the first [defects.MaxListed].
	Places []defects.Place `json:"places,omitempty"`
}

// Host says what a run holds in the host's memory. Planned is what the
// program itself knows that it will hold, and what the driver's compiler is reckoned to
// take where kernels are not in the cache yet; what else the OpenCL driver takes comes on top
// and shows in PeakRSS.
type Host struct {
	Budget int64 `json:"budget"` // 0: none
	// Available is what could be had beside what the process held when the run was
	// planned; 0: not asked, since there was a budget or the plan is for a device that is
	// not here, or the system does not tell.
	Available int64     `json:"available,omitempty"`
	Need      int64     `json:"need"` // all of Planned
	Planned   []HostUse `json:"planned,omitempty"`
	// StartRSS and PeakRSS are resident bytes of the process: when the session's
	// first run was planned, and the most since the process began, that of a process that
	// reads the photo through LibRaw included; 0 where the system does not tell (it does on
	// Linux).
	StartRSS int64 `json:"start_rss"`
	PeakRSS  int64 `json:"peak_rss"`
}

// HostUse is one thing held in the host's memory.
type HostUse struct {
	Purpose string `json:"purpose"`
	Bytes   int64  `json:"bytes"`
}

// Decibels is a PSNR; JSON has null for the infinity of equal pictures.
type Decibels float64

// MarshalJSON implements json.Marshaler.
func (d Decibels) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(d), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(d))
}
