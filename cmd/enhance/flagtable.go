package main

import (
	"slices"
	"strings"

	"enhance/conv"
	"enhance/internal/exec"
	"enhance/internal/profile"
	"enhance/model"
	"enhance/pipeline"
	"enhance/pipeline/look"
)

// Commands that take a flag, where several flags have the same ones.
var (
	takePhotos   = []string{develop, "explain", "plan-table"}
	takeNetworks = []string{develop, "apply", "classify", "model info", "model run", "explain", "plan-table", "tune", "selftest", "bench net"}
	runNetworks  = []string{develop, "apply", "classify", "model run", "explain", "plan-table", "bench net", "eval"}
	makeFiles    = []string{develop, "apply", "compare", "model import", "model quantize", "model run", "bench net", "bench conv", "bench gemm"}
	runSuites    = []string{"bench conv", "bench gemm"}
	benchmarks   = []string{"bench net", "bench conv", "bench gemm", "bench ladder"}
)

// flagTable declares every flag, once. Help lists them in this order.
var flagTable = []flag{
	// Photo.
	{name: "input", short: "i", arg: "FILE", group: groupPhoto, commands: []string{develop}, files: true,
		help: "photo to develop, as if named without -i",
		to:   func(o *options) any { return &o.inputs }},
	{name: "recursive", short: "r", group: groupPhoto, commands: []string{develop}, basic: true,
		help: "develop the RAW photos in folders and below",
		more: "Pictures keep the names of folders below those that are named; of several folders, below the deepest that holds all of them. Files that are not RAW photos, hidden files and links to folders are passed over. Of a RAW photo and a JPEG with its name the RAW photo is developed.",
		to:   func(o *options) any { return &o.recursive }},
	{name: "from", arg: "FILE", group: groupPhoto, commands: []string{develop}, basic: true, files: true,
		help: "develop the photos that a file lists; - is stdin",
		more: "A line has a name; if the file holds a NUL byte, NULs end the names, as in find -print0.",
		to:   func(o *options) any { return &o.from }},
	{name: "shard", arg: "I/N", group: groupPhoto, commands: []string{develop},
		help: "develop part I of N, for N machines",
		more: "A photo's part depends on its name alone: below a folder of -r its path there, else its name as it is given.",
		to:   func(o *options) any { return &o.shard }},
	{name: "raw-size", arg: "WxH", group: groupPhoto, commands: takePhotos, basic: true,
		help: "size of a headerless photo, columns x rows",
		more: "The file holds W·H little-endian 16-bit samples and nothing else. It needs --cfa.",
		to:   func(o *options) any { return &o.rawSize }},
	{name: "cfa", arg: "PATTERN", group: groupPhoto, commands: takePhotos, basic: true, words: patternNames,
		help: "colour filters: RGGB, xtrans, mono or others",
		more: "PNG and TIFF mosaics and headerless photos need it. It may replace a pattern that the file states by another phase of the same array, or by mono for a sensor without its filters. " + morePatterns,
		to:   func(o *options) any { return &o.cfa }},
	{name: "black", arg: "LEVEL", group: groupPhoto, commands: takePhotos,
		help: "black level in place of the file's",
		to:   func(o *options) any { return &o.black }},
	{name: "white", arg: "LEVEL", group: groupPhoto, commands: takePhotos,
		help: "white level in place of the file's",
		to:   func(o *options) any { return &o.white }},
	{name: "size", arg: "WxH", group: groupPhoto, commands: []string{"explain", "plan-table"},
		help: "plan for a mosaic of W columns and H rows, without a photo",
		to:   func(o *options) any { return &o.size }},
	{name: "size", arg: "WxH", def: "3968x2880", group: groupPhoto, commands: []string{"model info", "tune", "bench net"},
		help: "columns x rows of the mosaic",
		to:   func(o *options) any { return &o.size }},

	// Output.
	{name: "output", short: "o", arg: "PATH", group: groupOutput, commands: []string{develop}, basic: true, files: true,
		help: "picture, directory, or - for standard output",
		more: "A directory exists or ends in /. Without -o, enhance writes PHOTO.png in the current directory.",
		to:   func(o *options) any { return &o.output }},
	{name: "format", short: "f", arg: "KIND", group: groupOutput, commands: []string{develop}, basic: true, words: words("png", "tiff", "jpeg", "dng"),
		help: "png, tiff, jpeg or dng; else by the output's extension",
		more: "dng is a linear DNG file: the camera's light, demosaiced and denoised, for a RAW converter to finish.",
		to:   func(o *options) any { return &o.format }},
	{name: "format", short: "f", arg: "KIND", group: groupOutput, commands: []string{"apply"}, words: words("png", "tiff", "jpeg"),
		help: "png, tiff or jpeg; else by the output's extension",
		to:   func(o *options) any { return &o.format }},
	{name: "bits", short: "b", arg: "N", def: "8", group: groupOutput, commands: []string{develop, "apply"}, basic: true, words: words("8", "16", "32"),
		help: "bits a sample: 8, 16, or 32 for floats",
		more: "Floats keep what lies below black and above white. --output-profile chooses linear light or a curve for them, and the file's ICC profile says which. A DNG file has 16.",
		to:   func(o *options) any { return &o.bits }},
	{name: "quality", arg: "N", def: "92", group: groupOutput, commands: []string{develop, "apply"},
		help: "JPEG quality, 1 to 100",
		to:   func(o *options) any { return &o.quality }},
	{name: "output-profile", arg: "NAME", group: groupOutput, commands: []string{develop}, words: pipeline.OutputProfiles,
		help: "colour space of the picture and its ICC profile: srgb, p3, rec2020, linear-srgb, linear-p3 or linear-rec2020 (default srgb)",
		more: "p3 is Display P3. Linear light needs --bits 16 and PNG or TIFF.",
		to:   func(o *options) any { return &o.outProfile }},
	{name: "resize", arg: "WxH", group: groupOutput, commands: []string{develop}, basic: true,
		help: "fit the upright picture into WxH or NxN pixels",
		more: "A picture keeps its proportions and never grows. One number stands for both sides.",
		to:   func(o *options) any { return &o.resize }},
	{name: "subsampling", arg: "KIND", group: groupOutput, commands: []string{develop, "apply"}, words: words("444", "422", "420"),
		help: "JPEG chroma: 444, 422 or 420",
		more: "The default is 444 above quality 90 and 420 up to it.",
		to:   func(o *options) any { return &o.subsampling }},
	{name: "strip", group: groupOutput, commands: []string{develop},
		help: "write no metadata but the colour profile",
		more: "Without it, a picture gets the photo's EXIF, GPS and XMP data, with its own size, orientation and colour space.",
		to:   func(o *options) any { return &o.strip }},
	{name: "overwrite", short: "y", group: groupOutput, commands: makeFiles, basic: true,
		help: "replace an output that exists",
		more: "The photo, the reference and the weights are never replaced.",
		to:   func(o *options) any { return &o.overwrite }},
	{name: "skip-existing", group: groupOutput, commands: []string{develop}, basic: true,
		help: "skip photos whose output exists",
		more: "A picture that a farm made of another photo or with other settings, as its receipt says, is not skipped but named.",
		to:   func(o *options) any { return &o.skipExisting }},

	// Colour and noise.
	{name: "wb", arg: "KIND", group: groupColour, commands: []string{develop}, basic: true, words: wbWords,
		help: "white balance: as-shot, auto, kelvin or gains R,G,B",
		more: "KIND is as-shot; auto; daylight, cloudy, shade, tungsten, fluorescent or flash; a light's temperature in kelvin with a tint or without; gains R,G,B; or spot:X,Y, the column and row of a grey place in the picture that the command writes. Without it, enhance takes the file's white balance, or auto if the file has none.",
		to:   func(o *options) any { return &o.wb }},
	{name: "tone", arg: "KIND", group: groupColour, commands: []string{develop}, basic: true, words: words("natural", "linear"),
		help: "natural or linear (default natural)",
		more: "natural renders light for display by a curve that keeps hues. linear keeps light in proportion, cuts it off at white and changes nothing else; its exposure is the file's. Models with display-ready output have a tone of their own.",
		to:   func(o *options) any { return &o.tone }},
	{name: "exposure", arg: "EV", group: groupColour, commands: []string{develop}, basic: true, words: words("auto"),
		help: "stops to add to the file's, auto, or auto+EV",
		more: "The default is auto with --tone natural and 0 with --tone linear. Models with display-ready output apply the stops in linear light and refuse auto.",
		to:   func(o *options) any { return &o.exposure }},
	{name: "dcp", arg: "FILE", group: groupColour, commands: []string{develop}, files: true,
		help: "camera profile (.dcp) whose matrices and map of hue and saturation replace the photo's",
		more: "A profile for another camera is refused.",
		to:   func(o *options) any { return &o.dcp }},
	{name: "look", arg: "WHICH", group: groupColour, commands: []string{develop}, words: words("none", "profile"),
		help: "look of the camera profile: none or profile (default none)",
		more: "profile takes the look table and the tone curve of --dcp, or those of the photo's own profile and its map of hue and saturation. The exposure is then the file's.",
		to:   func(o *options) any { return &o.look }},
	{name: "sharpen", arg: "HOW", group: groupColour, commands: []string{develop}, words: words("off", "low", "default"),
		help: "off, low or default",
		more: "Fine detail that is stronger than the noise is sharpened in pictures of --tone natural, the less the noisier the photo is.",
		to:   func(o *options) any { return &o.sharpen }},
	{name: "lens", arg: "HOW", group: groupColour, commands: []string{develop}, words: words("auto", "none"),
		help: "lens corrections that a DNG file asks for: auto or none",
		more: "The default is auto with --tone natural and none with --tone linear.",
		to:   func(o *options) any { return &o.lens }},
	{name: "denoise", arg: "STRENGTH", group: groupColour, commands: []string{develop, "eval"}, basic: true,
		help: "share of the noise to remove, 0 to 1 (default 1)",
		more: "The rest comes back as grain: the difference between a pixel's sample and the network's answer is added to all three of its colours. So 0.5 leaves half of the noise's standard deviation, and 0 leaves every sample as the camera recorded it. Only models that take the noise level have it.",
		to:   func(o *options) any { return &o.denoise }},
	{name: "noise", arg: "S,O", group: groupColour, commands: []string{develop}, words: words("estimate"),
		help: "noise variance S·v + O of samples v, or estimate",
		more: "Samples range from 0 to 1; with 0,0 they stay as they are, and only what is missing is made; of S more than 0.05 and of O more than 0.01 counts as that. S,O,S,O,S,O gives red, green and blue. Without it, enhance takes the file's noise profile, or an estimate from the photo if the file has none or one of more than twice the variance that the photo shows.",
		to:   func(o *options) any { return &o.noise }},
	{name: "defects", arg: "WHICH", group: groupColour, commands: []string{develop}, files: true, words: words("auto", "off"),
		help: "defective pixels to repair: auto, off, or a file that lists them (default auto)",
		more: "auto finds hot, dead and stuck pixels on the photo. A list has a line for each, with column and row in the active area from 0; # begins a comment. dcraw's .badpixels, which have a time in each line, are read too. What the photo's file lists is always repaired.",
		to:   func(o *options) any { return &o.defects }},

	// Device and memory.
	{name: "model", short: "m", arg: "MODEL", def: "", group: groupDevice, commands: takeNetworks, basic: true, files: true, words: builtinModels,
		help: strings.Join(builtinModels(), "|") + "|FILE (default " + model.Default + ")",
		more: "Weights files end in .safetensors, .pth or .pt, networks of others in .onnx. pynet-random:SEED[,level=N][,norm1=false][,width=W] and pynet-m-random:SEED[,size=tiny|fast|best][,planes=24] have random weights, for tests. classical runs no network: a demosaicer makes the colours, and noise stays.",
		to:   func(o *options) any { return &o.model }},
	{name: "level", arg: "N", group: groupDevice, commands: append([]string{"model import"}, takeNetworks...),
		help: "PyNET level whose output is wanted, 0 to 5",
		more: "Without it, the lowest level that the weights have.",
		to:   func(o *options) any { return &o.level }},
	{name: "ensemble", arg: "N", group: groupDevice, commands: []string{develop, "explain", "plan-table", "bench net", "eval"}, basic: true, words: words("2", "4", "8"),
		help: "mean answer to the photo turned in 2, 4 or 8 ways",
		more: "The photo is mirrored and turned, and the answers back: a better picture for as many times the work, by fast, best, max, any and files of their kind.",
		to:   func(o *options) any { return &o.ensemble }},
	{name: "device", short: "g", arg: "DEVICE", group: groupDevice, commands: []string{develop}, basic: true, words: words("host", "all", "0"),
		help: "index, platform:device, part of a name, or host",
		more: "Several photos share several devices: -g 0,1 or -g all. host computes in Go, without OpenCL. Without -g, enhance takes a GPU, else a CPU device, else host.",
		to:   func(o *options) any { return &o.device }},
	{name: "device", short: "g", arg: "DEVICE", group: groupDevice, commands: []string{"apply", "classify", "model quantize", "model run", "eval", "selftest"}, words: words("host", "0"),
		help: "index, platform:device, part of a name, or host",
		to:   func(o *options) any { return &o.device }},
	{name: "device", short: "g", arg: "DEVICE", group: groupDevice, commands: append([]string{"explain", "plan-table", "tune"}, benchmarks...), words: words("0"),
		help: "index, platform:device, or part of a name",
		to:   func(o *options) any { return &o.device }},
	{name: "list-devices", group: groupDevice, commands: []string{develop}, basic: true,
		help: "list the devices that -g takes",
		more: "With --json, also their profiles for --device-profile.",
		to:   func(o *options) any { return &o.listDevices }},
	{name: "mem", arg: "SIZE", group: groupDevice, commands: []string{develop, "apply", "classify", "model run", "explain", "tune", "bench net", "eval"}, basic: true,
		help: "device memory budget: 256M, 2G; 0 for all there is",
		more: "The default is 80 % of a GPU's memory, or half of the available memory on a CPU device. If the budget is too small, enhance exits with status 6 and prints the smallest that works.",
		to:   func(o *options) any { return &o.mem }},
	{name: "host-mem", arg: "SIZE", group: groupDevice, commands: []string{develop}, basic: true,
		help: "host memory budget; 0 for no limit",
		more: "The default is the available memory. If a photo needs more, enhance exits with status 6 before it begins.",
		to:   func(o *options) any { return &o.hostMem }},
	{name: "host-mem", arg: "SIZE", group: groupDevice, commands: []string{"plan-table"},
		help: "host memory budget; 0 for no limit",
		more: "The default is the available memory, or what the device profile says. The table says which budgets need more.",
		to:   func(o *options) any { return &o.hostMem }},
	{name: "precision", arg: "KIND", def: "fp32", group: groupDevice, commands: runNetworks, basic: true, words: words("fp32", "tf32", "fp16", "bf16", "auto"),
		help: "fp32, tf32, fp16, bf16 or auto",
		more: "tf32 needs matrix units, bf16 a CPU with AMX or AVX512_BF16 under PoCL. auto takes fp32 on CPUs, elsewhere fp16 or tf32 if its PSNR to fp32 is over 50 dB; where that does not fit the budget, one that fits.",
		to:   func(o *options) any { return &o.precision }},
	{name: "precision", arg: "KIND", def: "auto", group: groupDevice, commands: []string{"tune"}, words: words("fp32", "tf32", "fp16", "auto"),
		help: "fp32, tf32 or fp16; auto for all that the device has",
		to:   func(o *options) any { return &o.precision }},
	{name: "precision", arg: "KIND", def: "fp32", group: groupDevice, commands: []string{"bench conv"}, words: words("fp32", "fp16"),
		help: "how the device stores samples, fp32 or fp16",
		to:   func(o *options) any { return &o.precision }},
	{name: "jobs", short: "j", arg: "N", group: groupDevice, commands: append([]string{"bench conv", "bench gemm", "bench ladder"}, runNetworks...), basic: true,
		help: "use at most N cores (default all)",
		to:   func(o *options) any { return &o.jobs }},
	{name: "device-profile", arg: "NAME", group: groupDevice, commands: []string{develop, "apply", "model run"}, files: true, words: profile.Names,
		help: "plan within the limits of another device",
		more: "NAME is " + alternatives(profile.Names()) + ", or a .json file. With --dry-run and without -g, no device is needed.",
		to:   func(o *options) any { return &o.deviceProfile }},
	{name: "device-profile", arg: "NAME", group: groupDevice, commands: []string{"explain", "plan-table"}, files: true, words: profile.Names,
		help: "plan within the limits of another device",
		more: "NAME is " + alternatives(profile.Names()) + ", or a .json file. Without -g, no device is needed.",
		to:   func(o *options) any { return &o.deviceProfile }},

	// Reports and messages.
	{name: "dry-run", group: groupReport, commands: []string{develop, "apply", "model run"}, basic: true,
		help: "print the plan and stop",
		more: "A dry run refuses what the run would refuse before it begins. It computes nothing but, with --precision auto, the patch that decides, and writes nothing but --plan-svg.",
		to:   func(o *options) any { return &o.dryRun }},
	{name: "json", group: groupReport, commands: []string{develop, "apply", "classify", "compare", "inspect", "model info", "model import", "model quantize", "model run", "explain", "plan-table", "tune", "selftest", "bench net", "bench conv", "bench gemm", "bench ladder", "eval"}, basic: true,
		help: "print the report as one JSON object",
		to:   func(o *options) any { return &o.json }},
	{name: "verbose", short: "v", group: groupReport, commands: []string{develop}, basic: true,
		help: "print everything about every photo",
		to:   func(o *options) any { return &o.verbose }},
	{name: "verbose", short: "v", group: groupReport, commands: []string{"tune"},
		help: "print every candidate",
		to:   func(o *options) any { return &o.verbose }},
	{name: "verbose", short: "v", group: groupReport, commands: []string{"eval"},
		help: "print the figures of every photo as they come",
		to:   func(o *options) any { return &o.verbose }},
	{name: "quiet", short: "q", group: groupReport, commands: append([]string{develop, "apply", "classify", "compare", "model run", "tune"}, benchmarks...), basic: true,
		help: "print errors only",
		to:   func(o *options) any { return &o.quiet }},
	{name: "version", group: groupReport, commands: []string{develop}, basic: true,
		help: "print the version",
		to:   func(o *options) any { return &o.version }},
	{name: "help", short: "h", group: groupReport, basic: true, commands: []string{develop, "apply", "classify", "compare", "inspect", "model info", "model import", "model quantize", "model run", "explain", "plan-table", "tune", "selftest", "bench net", "bench conv", "bench gemm", "bench ladder", "eval", "help", "version", "completion", "man"},
		help: "print this help",
		to:   func(o *options) any { return &o.help }},
}

func init() {
	flagTable = withServer(withWatch(withFarm(slices.Concat(flagTable, studyFlags, reportFlags, serverFlags))))
}

// words makes a completion of fixed words.
func words(all ...string) func() []string { return func() []string { return all } }

// wbWords are the words that --wb takes.
func wbWords() []string { return append([]string{"as-shot", "auto"}, look.WBLights()...) }

// builtinModels are the models that come with the program.
func builtinModels() (names []string) {
	for _, b := range model.Builtins() {
		names = append(names, b.Name)
	}
	return names
}

// algorithmNames are the convolution algorithms of all devices.
func algorithmNames() []string {
	names := []string{exec.Auto}
	for _, a := range exec.Algorithms(conv.Caps{}) {
		names = append(names, a.Name())
	}
	return names
}

// patternNames are filter arrays by name.
func patternNames() []string {
	return strings.Fields("RGGB BGGR GBRG GRBG quad-RGGB quad-BGGR quad-GBRG quad-GRBG xtrans mono")
}

// morePatterns says how arrays without a name are given.
const morePatterns = "Another array, or another phase, is given by rows, columns and filters row by row from the first sample: 4x4:RRGGRRGGGGBBGGBB. xtrans is one of X-Trans's 18 phases, 6x6:GBGGRGRGRBGBGBGGRGGRGGBGBGBRGRGRGGBG."
