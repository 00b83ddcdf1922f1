package main

// options are the values of flags as given on the command line; flagTable says which
// flag sets which. A command reads those that it takes, the others stay zero.
type options struct {
	// the photo
	inputs                     []string
	recursive                  bool
	from, shard                string
	rawSize, cfa, black, white string
	size                       string // of a mosaic in place of a photo

	// the output
	output, format, outProfile, subsampling string
	bits, quality                           int
	overwrite, skipExisting, strip          bool
	reference                               string
	minPSNR                                 float64
	planSVG                                 string
	dryRun, measure                         bool
	profiling                               []string
	json, verbose, quiet                    bool
	help, version                           bool
	listDevices, brief                      bool

	// pages to look at
	pageFile string

	// watch
	poll float64

	// a server
	socket   string
	noServer bool

	// colour and noise
	resize, lens, wb, tone, dcp, look, exposure, sharpen, denoise, noise, defects string

	// the device, memory, and how the network runs
	model, level, ensemble, device, mem, hostMem, deviceProfile, precision, algo string
	jobs, stripRows                                                              int
	noTune, wholePlanes                                                          bool

	// model run
	tensors        []string
	shape, samples string // samples is of apply
	labels, view   string // of classify
	top, shortSide int    // of classify
	dumps          []string

	// bench and tune
	suite, svg    string
	scale, repeat int
	limit         float64
	transfers     bool

	// eval
	models                   []string
	sensor, compare, saveDir string
	sigma, maxLoss           float64
	seed                     uint64
	border                   int

	farmOptions
}
