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
	"enhance/raw"
	"enhance/raw/mosaic"
)

// pictureGeneration is that of everything between a photo and its picture that is no
// kernel: decoding, levels, colour, tone, encoding. Raise it when pictures change, so
// that results of other builds are not taken for this one's. A test holds it against
// pictures.
const pictureGeneration = "2"

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
	network := sha256.Sum256(fmt.Appendf(nil, "%s %+v %v", modelHash(s.model), s.model.Convention, s.set.Model == Classical))
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

// Largest is the largest of sides, which ascend, for which the session's budgets have room for a photo of
// so many rows and columns; 0 if for none, with why.
func (s *Session) Largest(ctx context.Context, sides []int) (int, error) {
	if err := forRAW(s.model, s.modelName); err != nil {
		return 0, err
	}
	var why error
	n := 0
	for lo, hi := 0, len(sides); lo < hi; { // sides[:lo] have room, sides[hi:] have not
		mid := (lo + hi) / 2
		err := s.holds(ctx, sides[mid])
		switch {
		case err == nil:
			lo = mid + 1
			n = lo
		case Classify(err) == ClassBudget:
			hi, why = mid, err
		default:
			return 0, err
		}
	}
	if n == 0 {
		return 0, why
	}
	return sides[n-1], nil
}

// holds plans for a photo that does not exist.
func (s *Session) holds(ctx context.Context, side int) error {
	m := &raw.Meta{Width: side, Height: side, Crop: raw.Rect{X1: side, Y1: side}, CFA: mosaic.RGGB}
	r := s.imagine(ctx, &Job{}, nil, m)
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

// Largest is Session.Largest of the batch's first session.
func (b *Batch) Largest(ctx context.Context, sides []int) (int, error) {
	return b.sessions[0].Largest(ctx, sides)
}
