package archtest

// layers lists every package of the module, lowest layer first. A package
// imports only packages of lower layers. ARCHITECTURE.md has the same list; the
// test compares them.
var layers = [][]string{
	{"internal/farm", "internal/farm/s3", "internal/farm/s3test", "internal/arrivals",
		"internal/atomicfile", "clrt", "internal/colour", "internal/kerneltext", "internal/boundtest", "internal/buffers", "internal/bytesize", "internal/highlights", "internal/hostmemory", "internal/jpegbits", "internal/printable", "internal/regularfile", "internal/serve", "internal/sharpen", "internal/suggest", "internal/tempdir", "internal/usage", "internal/workers", "model/safetensors", "internal/quality", "raw/mosaic", "raw/rawerr", "internal/trace"},
	{"internal/farm/store",
		"internal/icc",
		"internal/compilers", "internal/devices", "internal/drivers", "internal/peak", "model/onnx", "model/pickle", "internal/profile", "raw/defects", "raw/demosaic", "internal/resize", "raw/noise", "raw/opcode", "raw/tiff"},
	{"internal/sidebyside", "pipeline/look",
		"raw/dcp",
		"internal/imgio", "model", "internal/metadata", "model/ncnn", "raw/libraw", "raw/rawjpeg", "raw/warp"},
	{"internal/htmlreport",
		"internal/fuse", "internal/modeltest", "model/ref", "raw/dng", "model/onnximport"},
	{"internal/farm/queue",
		"internal/fusetest", "internal/onnxtest", "memplan", "model/calibrate", "internal/planar", "raw"},
	{"internal/farm/sim", "internal/farm/work",
		"conv", "internal/plantest", "internal/tensorfile", "pipeline/facts"},
	{"bench/gemm", "conv/amx", "internal/convtest", "conv/mma", "internal/ops", "conv/octets", "conv/wgmma", "internal/tune", "winograd"},
	{"bench/im2col", "internal/exec"},
	{"bench", "internal/findings", "internal/kernelcheck"},
	{"pipeline"},
	{"bench/eval", "bench/papers", "pipeline/compare"},
	{"cmd/enhance"},
}

// tools are programs for maintainers. They may import anything, and nothing
// imports them.
var tools = []string{"scripts/before-after", "scripts/colorchecker", "scripts/dist", "scripts/farm-simulation", "scripts/hostile", "scripts/implementations", "scripts/opencl-devices", "scripts/quality-crops", "scripts/whitebalance", "winograd/internal/points"}

// external says which packages may import a module from outside.
var external = map[string][]string{
	"github.com/disintegration/imaging": {"scripts/before-after"},
	"github.com/ebitengine/purego":      {"clrt", "raw/libraw"}, // there in a process of its own: what LibRaw breaks is not this one
	"github.com/fsnotify/fsnotify":      {"internal/arrivals"},
	"github.com/klauspost/compress":     {"internal/imgio"}, // Huffman codes 1.6 times as fast as the standard library's
	"github.com/minio/minio-go/v7":      {"internal/farm/s3"},
	"github.com/nats-io/nats-server":    {"internal/farm/queue", "internal/farm/store"}, // there: tests
	"github.com/nats-io/nats.go":        {"internal/farm/queue", "internal/farm/store", "internal/farm/work"},
	"github.com/nats-io/nkeys":          {"internal/farm/queue"},
	"github.com/rogpeppe/go-internal":   {"cmd/enhance"}, // tests
	"github.com/schollz/progressbar/v3": {"cmd/enhance"},
	"github.com/spf13/pflag":            {"cmd/enhance"},
	"golang.org/x/image":                {"internal/imgio", "scripts/hostile", "scripts/quality-crops"},                       // there: files to damage, letters
	"golang.org/x/sys":                  {"internal/atomicfile", "internal/imgio", "clrt", "conv", "conv/amx", "raw/defects"}, // unnamed files, memory of the system, instructions of the processor
	"google.golang.org/protobuf":        {"model/onnx", "scripts/hostile"},                                                    // the wire format, without generated code
	"golang.org/x/term":                 {"cmd/enhance"},
	"gonum.org/v1/gonum":                {"bench/papers", "model/ref"}, // its product of matrices
}

// hostOnly lists packages that must not reach OpenCL, however indirectly: they
// are pure computation and run where there is no driver.
var hostOnly = []string{
	"internal/farm", "internal/farm/queue", "internal/farm/s3", "internal/farm/s3test", "internal/farm/sim", "internal/farm/store", "internal/farm/work",
	"internal/arrivals", "internal/htmlreport", "internal/sidebyside",
	"internal/icc",
	"raw/dcp",
	"internal/atomicfile", "internal/bytesize", "internal/colour", "internal/fuse", "internal/highlights", "internal/hostmemory", "internal/sharpen", "internal/imgio", "internal/printable", "internal/regularfile", "internal/serve", "internal/suggest", "memplan", "model", "model/ncnn", "model/onnx", "model/onnximport", "model/pickle", "model/ref", "model/safetensors", "internal/quality",
	"internal/jpegbits", "internal/metadata",
	"raw", "raw/defects", "raw/demosaic", "raw/dng", "raw/libraw", "raw/rawjpeg", "raw/mosaic", "internal/resize", "raw/noise", "raw/opcode", "raw/rawerr", "raw/tiff", "raw/warp", "internal/trace",
}

// bannedNames say nothing about what a package holds.
var bannedNames = []string{"util", "utils", "common", "helper", "helpers", "misc", "shared", "base"}
