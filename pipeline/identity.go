package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"enhance/internal/exec"
)

// pictureGeneration is that of everything between a photo and its picture that is no
// kernel of a convolution: decoding, levels, colour, tone (and their kernels), encoding. Raise it when pictures change, so
// that results of other builds are not taken for this one's. A test holds it against
// pictures.
const pictureGeneration = "8"

// generation names what of this build decides the bytes of pictures: the kernels, and the
// code around them.
var generation = sync.OnceValue(func() string { return exec.KernelHash() + "-" + pictureGeneration })

// Identity is what decides the bytes of a session's pictures, besides photo and settings.
type Identity struct {
	Model      string // SHA-256 of the network: its form, its conventions and its weights; no other is used but built-in ones
	Generation string
	// Class is of the device: two of one class make the same bytes.
	Class  string
	Device string // as reports name it
}

// Identity says what the session's pictures depend on.
func (s *Session) Identity() Identity {
	network := sha256.Sum256(fmt.Appendf(nil, "%s %+v %v", s.model.Hash(), s.model.Convention, s.set.Model == Classical))
	id := Identity{Model: hex.EncodeToString(network[:]), Generation: generation(), Class: "host/" + runtime.GOARCH}
	_, d := s.facts()
	id.Device = d.Name
	if i := s.device.info; i != nil {
		id.Class = fmt.Sprintf("%s/%s/%s", i.Platform, i.Name, i.DriverVersion)
	}
	return id
}

// Identity is that of the batch's first session.
func (b *Batch) Identity() Identity { return b.sessions[0].Identity() }

// Room says for each of sides, which ascend, whether the session's budgets have room for a photo of
// so many rows and columns: nil if they have, otherwise an error of class ClassBudget, for which
// [Least] says how much would do. Sides above 65536 are not planned, which would take 20 s: what
// is said of the side before is said of them, and the photo itself shows.
func (s *Session) Room(ctx context.Context, sides []int) ([]error, error) {
	if err := forRAW(s.model, s.modelName); err != nil {
		return nil, err
	}
	room := make([]error, len(sides))
	planned := len(sides)
	for planned > 1 && sides[planned-1] > largestPlanned {
		planned--
	}
	n := 0 // sides[:n] have room
	for hi := planned; n < hi; {
		mid := (n + hi) / 2
		switch err := s.holds(ctx, sides[mid]); {
		case err == nil:
			n = mid + 1
		case Classify(err) == ClassBudget:
			room[mid], hi = err, mid
		default:
			return nil, err
		}
	}
	for i := n; i < planned; i++ {
		if room[i] != nil {
			continue
		}
		if room[i] = s.holds(ctx, sides[i]); room[i] != nil && Classify(room[i]) != ClassBudget {
			return nil, room[i]
		}
	}
	for i := planned; i < len(sides); i++ {
		room[i] = room[i-1]
	}
	return room, nil
}

// largestPlanned is the longest side that Room plans for.
const largestPlanned = 1 << 16

// Least is how much memory would do, in bytes, where an error says that there is too little;
// 0 for other errors.
func Least(err error) int64 {
	var device *BudgetError
	var host *HostMemoryError
	switch {
	case errors.As(err, &device):
		return device.Minimum
	case errors.As(err, &host):
		return host.Need
	}
	return 0
}

// holds plans for a photo that does not exist.
func (s *Session) holds(ctx context.Context, side int) error {
	r := s.imagine(ctx, &Job{}, nil, mosaicOf(side, side))
	if err := r.network.makePlan(r.geo.out.Y1); err != nil {
		return withoutPhoto(err, r.geo.h, r.geo.w)
	}
	err := r.hostNeeds()
	var host *HostMemoryError
	if errors.As(err, &host) && s.device.info != nil { // a plan with less on a device that shares it
		err = r.fitDevice(host, 0, func(b Budget) (*exec.Job, error) {
			return s.prepare(s.model, r.geo.h, r.geo.w, s.engineOptions(b))
		})
	}
	return err
}

// Room is Session.Room of the batch's first session.
func (b *Batch) Room(ctx context.Context, sides []int) ([]error, error) {
	return b.sessions[0].Room(ctx, sides)
}
