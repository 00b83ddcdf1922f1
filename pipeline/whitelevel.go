package pipeline

import (
	"fmt"
	"math/bits"
	"time"

	"enhance/internal/workers"
)

// A white level that is not the file's word is held against the samples. One that nobody
// gave is that of 16 bits; samples of fewer are below a quarter of it. One that was given
// may be meant to clip, or the photo may be dark: only what is far off is noted.
const (
	farBelowAssumed = 4
	farBelowGiven   = 16
	farAboveGiven   = 2
)

// whiteNote says what is wrong with a white level if the largest sample is so large, ""
// for nothing. Photos of one camera have the same text, which is printed once for all.
func whiteNote(largest uint16, white float64, given bool) string {
	l := float64(largest)
	switch {
	case largest == 0:
	case !given && l*farBelowAssumed < white:
		n := bits.Len16(largest)
		return fmt.Sprintf("no sample is above %d, and the white level is taken to be %g, so the picture is dark: if the samples have %d bits, give --white %[1]d", 1<<n-1, white, n)
	case given && l*farBelowGiven < white:
		return fmt.Sprintf("no sample comes near --white %g: the picture is dark", white)
	case given && l > white*farAboveGiven:
		return fmt.Sprintf("samples are more than %d times --white %g: whatever is above it is white", farAboveGiven, white)
	}
	return ""
}

// noteWhite tells of a white level that does not suit the samples, once, when all of them
// have been decoded.
func (r *run) noteWhite(tell func(text string)) {
	if r.ahead == nil {
		return
	}
	largest, ok := r.ahead.takeLargest()
	if !ok {
		return
	}
	if text := whiteNote(largest, float64(r.meta.White[1]), r.job.Raw.White != nil); text != "" {
		tell(text)
	}
}

// seenBlocks are the blocks of a photo, from the first on, that were decoded once.
type seenBlocks struct {
	count   int
	largest uint16 // of their samples
	taken   bool   // by takeLargest
}

// watch looks for the largest sample of the next blocks.
func (s *seenBlocks) watch(samples []uint16) {
	const together = 1 << 16
	n := (len(samples) + together - 1) / together
	found := make([]uint16, n)
	workers.Each(workers.Count(n, together/4*time.Nanosecond), n, func(_, i int) {
		found[i] = largestOf(samples[i*together : min((i+1)*together, len(samples))])
	})
	for _, v := range found {
		s.largest = max(s.largest, v)
	}
}

// largestUnit is how many samples largestUnits takes at a time.
const largestUnit = 16

// largestOf is the largest of samples.
func largestOf(samples []uint16) (largest uint16) {
	if n := len(samples) / largestUnit * largestUnit; hasLargestUnits && n > 0 {
		largest, samples = largestUnits(&samples[0], n), samples[n:]
	}
	for _, v := range samples {
		largest = max(largest, v)
	}
	return largest
}

// takeLargest is the largest sample of a photo that has been decoded to its end; false if
// it has not been, or nobody asks, or it was taken before.
func (a *readAhead) takeLargest() (largest uint16, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.photo.Meta().WhiteUnsure || a.seen.count < a.total() || a.seen.taken {
		return 0, false
	}
	a.seen.taken = true
	return a.seen.largest, true
}
