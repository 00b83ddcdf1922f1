package facts

import "enhance/internal/sidebyside"

// Seen is what there is to look at of a photo that was developed with pipeline.Show. It takes
// memory: who keeps many reports drops it.
type Seen struct {
	// Pictures has the plain bilinear development, if there is one, as Before.
	Pictures *sidebyside.Result
	// Memory of the process over the run, and how long that was.
	Memory  []MemorySample
	Seconds float64
}

// MemorySample is bytes at a time.
type MemorySample struct {
	Seconds float64 // since the photo's turn began
	Host    int64   // resident bytes of the process; 0 where the system does not tell
	Device  int64   // of the device's buffers
}
