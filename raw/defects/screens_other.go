//go:build !amd64

package defects

// No screens: all extreme samples are candidates.
var hasScreens = false

type rooted struct{}

func (*rooted) begin(*finder, *window, int) {}

func (*rooted) release() {}

func (e *extremes) screenedRow(*rooted, int, bool) {}

func countPeers(*int16, uintptr, int16) int { return 0 }

func largePeers(*int16, uintptr, int16, int16, *[peerRows]uint32) {}

func fitUnits(*fitting, *uint16, uintptr) {}

func solveUnits(*[features]fitRow, *[features]float64) bool { return false }
