package pipeline

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"enhance/clrt"
	"enhance/internal/devices"
	"enhance/memplan"
	"enhance/pipeline/look"
	"enhance/raw"
)

// HostDevice selects the host executor: plain Go on all cores, without OpenCL.
const HostDevice = devices.Host

// Options are a whole order: how to compute and what.
type Options struct {
	Settings
	Job
}

// Settings are what photos of a [Session] share. The zero value is ready to use.
type Settings struct {
	// Model is a specification for model.Load; "" is the embedded model.
	Model string
	// Level of a PyNET whose output is wanted, nil for the one the model names.
	Level *int
	// Ensemble, if above 1, has the network answer to the photo in so many orientations and takes the mean: see
	// [model.Model.Ensemble] for the numbers and networks that it takes. It is that many times the work.
	Ensemble int
	// Device selects the device; "" takes a GPU if there is one, else an accelerator, else
	// a CPU device, else the host executor. HostDevice is the latter, "2" the device of that
	// index in clrt.Devices, "nvidia:1" or "0:1" one by its platform (name part or index) and
	// by its index there or part of its name; any other text is part of the name of a device
	// or its platform. A [Batch] takes several with commas between them, or "all".
	Device string
	// Memory bounds the bytes of all device buffers together; the zero Budget leaves it
	// to what the device reports. Neither that nor any other is more than the device's
	// memory, or its profile's.
	Memory Budget
	// HostMemory bounds the bytes of the host's memory that a run is planned to
	// hold, device buffers among them where the device shares it; the default is what
	// is available, where the system tells.
	HostMemory Budget
	// Precision is how activations are stored and multiplied on the device.
	Precision Precision

	DeviceOptions
	PlanOptions
	SessionObserver
}

// DeviceOptions say how the device is used.
type DeviceOptions struct {
	// Cores bounds how many of a CPU device's are used; 0 is no bound. Those of the
	// host's own stages, and of the host executor, are GOMAXPROCS.
	Cores int
	// Profile limits the device to what another device has: a profile of that name, or of a
	// .json file (docs/device-profiles.md); "" for none.
	Profile string
	// PlanOnly plans for the profile itself: no device is looked for, kernels are
	// those of the profile's kind, and only dry runs and explanations work.
	PlanOnly bool
	// Began is when the program began, for what the report of its first photo says (Seconds.Start); zero:
	// it does not matter.
	Began time.Time
	// Early opens the device while the model is loaded and the first photo read, for
	// a session that will run on it.
	Early bool
	// Compiler compiles kernels, see [clrt.Context.CompileWith]; nil is the process
	// itself, as it is where HostMemory bounds what may be held.
	Compiler clrt.Compiler
	// AwaitKernels, if not nil, returns when another process has run the session's network
	// ([Session.WarmUp]), or cannot: what compiles the network's kernels waits for it.
	AwaitKernels func(context.Context)
}

// PlanOptions say how the network is computed. For study: what StripRows and
// WholePlanes choose gives the same result.
type PlanOptions struct {
	// Algo chooses convolution algorithms, see exec.ParseAlgos; "" is automatic.
	Algo string
	// NoTune leaves what [Session.Tune] measured on the device alone: algorithms are
	// the shipped defaults.
	NoTune bool
	// StripRows forces strips of that many rows of the network's output, and
	// WholePlanes one step after another.
	StripRows   int
	WholePlanes bool
}

// SessionObserver is told of what concerns all photos of a session, from any goroutine.
// Each function may be nil.
type SessionObserver struct {
	// Tell is told of measurements that are made once for a device: tuning, checks of
	// precision; Compiling, of compilation that takes long; Debug, of what only a study
	// needs to know.
	Tell, Compiling, Debug func(text string)
	// Tuning is called after each of the total measurements of such work.
	Tuning func(done, total int)
	// Profiler, if not nil, gathers where the time of all runs goes.
	Profiler *Profiler
}

// Budget is a bound on bytes; the zero Budget says that nobody gave one.
type Budget = memplan.Budget

// Limit is a budget of so many bytes.
func Limit(bytes int64) Budget { return memplan.Limit(bytes) }

// Unlimited is the wish for no limit.
func Unlimited() Budget { return memplan.Unlimited() }

// Job is one photo.
type Job struct {
	// Input is the path of the photo. If Reader is not nil the photo is its first
	// Size bytes and Input only names it.
	Input  string
	Reader io.ReaderAt
	Size   int64

	// Raw says what the file does not. Its WB is not used; see Look.
	Raw raw.Options
	Look
	Output Output
	Check

	Show Show // for reports to look at

	// DryRun stops before the first allocation on the device.
	DryRun bool
	// PlanDrawing, if not "", is the path of an SVG drawing of the plan to make. It
	// replaces a file only if Output.Overwrite says so.
	PlanDrawing string

	Observer
}

// Look is how a photo's samples are read as light and colour.
type Look struct {
	Tone     look.Tone
	Sharpen  look.Sharpen
	Lens     look.LensCorrections
	WB       look.WhiteBalance
	Exposure look.Exposure
	// Noise is where the noise level comes from and Denoise how much of it is
	// removed, 0 to 1, nil for 1. For models that take the noise level only.
	Noise   look.Noise
	Denoise *float64
	Defects look.Defects
	// CameraProfile, if not nil, calibrates colours in place of the photo's own facts.
	CameraProfile *CameraProfile
	ProfileLook   look.ProfileLook
}

// Check holds the picture against another.
type Check struct {
	// Reference is the path of a picture to compare the result with; "" for none.
	Reference string
	// MinPSNR, if above 0, makes a result below so many dB an error
	// ([*QualityError]). The picture is kept: it is what the error speaks of.
	MinPSNR float64
}

// Observer is told of the making of one picture. Each function may be nil.
type Observer struct {
	// Planned is called once when all is decided and nothing begun.
	Planned func(*Report)
	// Progress is called now and then with floating-point operations done
	// and to be done. done never falls.
	Progress func(done, total int64)
	// Say is told of warnings that come up during the run. They are in
	// the report too.
	Say func(text string)
}

// Output is where and how the picture is written.
type Output struct {
	// Path is the file to make; never the photo, the reference or the weights
	// themselves, whatever Overwrite says. If Writer is not nil the picture goes there
	// instead, as it comes: a failed run leaves part of it.
	Path      string
	Writer    io.Writer
	Overwrite bool
	// File, if not nil and without a Writer, is an empty file that is open and gets the
	// picture. The caller gives it its name once the run has succeeded, which Path only says.
	File io.WriteSeeker
	// DirToCome says of a dry run that Path's directory is not there and would be made
	// first; otherwise a Path that cannot be made fails as in a run.
	DirToCome bool

	Resize Resize // the zero value is the photo's size

	Format  Format // AnyFormat takes it from Path's extension
	Bits    int    // 8 or 16 a sample, or 32 of a TIFF's floats; 0 is 16 of a DNG file, else 8
	Strip   bool   // leave out all that is said of the photo but colours
	Quality int    // of JPEG, 1 to 100; 0 is 92
	// Subsampling is of JPEG's chroma; "" is 4:4:4 above a quality of 90, else 4:2:0.
	Subsampling Subsampling

	Profile OutputProfile // what the samples mean; "" is sRGB
}

// Format is a picture file format.
type Format string

// The formats that can be written.
const (
	AnyFormat Format = ""
	PNG       Format = "png"
	TIFF      Format = "tiff"
	JPEG      Format = "jpeg"
	DNG       Format = "dng" // the camera's light, demosaiced (docs/dng.md)
)

// UnmarshalText reads a format's name or file extension.
func (f *Format) UnmarshalText(text []byte) (err error) {
	*f, err = parseFormat(string(text))
	return err
}

func parseFormat(s string) (Format, error) {
	switch strings.ToLower(strings.TrimPrefix(s, ".")) {
	case "png":
		return PNG, nil
	case "tif", "tiff":
		return TIFF, nil
	case "jpg", "jpeg":
		return JPEG, nil
	case "dng":
		return DNG, nil
	}
	return AnyFormat, optionErrorf("format", "%q is not png, tiff, jpeg or dng", s)
}

// Extension is what names of files of the format end in.
func (f Format) Extension() string {
	switch f {
	case TIFF:
		return ".tif"
	case JPEG:
		return ".jpg"
	case DNG:
		return ".dng"
	}
	return ".png"
}

// complete checks the output and fills in what was left open.
func (o *Output) complete() error {
	if o.Format == AnyFormat {
		if o.Writer != nil {
			o.Format = PNG
		} else {
			f, err := parseFormat(filepath.Ext(o.Path))
			if err != nil {
				return optionErrorf("output", "%s: the name should end in .png, .jpg, .tif or .dng, or --format say what it is", o.Path)
			}
			o.Format = f
		}
	}
	if o.Bits == 0 {
		o.Bits = 8
		if o.Format == DNG {
			o.Bits = 16
		}
	}
	if o.Quality == 0 {
		o.Quality = 92
	}
	switch {
	case o.Bits != 8 && o.Bits != 16 && o.Bits != 32:
		return optionErrorf("bits", "%d: want 8, 16 or 32", o.Bits)
	case o.Format == DNG && o.Bits != 16:
		return optionErrorf("bits", "a DNG file has 16 bits: leave it out")
	case o.Bits == 32 && o.Format != TIFF:
		return optionErrorf("bits", "only TIFF holds floats of 32 bits: choose tiff, or 16 bits")
	case o.Format == JPEG && o.Bits == 16:
		return optionErrorf("bits", "JPEG holds 8 bits: choose png or tiff for 16")
	case o.Quality < 1 || o.Quality > 100:
		return optionErrorf("quality", "%d: want 1 to 100", o.Quality)
	}
	if err := o.Subsampling.check(o.Format); err != nil {
		return err
	}
	return o.checkProfile()
}

func optionErrorf(option, format string, args ...any) error {
	return &raw.OptionError{Option: option, Problem: fmt.Sprintf(format, args...)}
}
