package eval

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"enhance/internal/colour"
	"enhance/internal/imgio"
	"enhance/raw/mosaic"
)

// RawTherapee's demosaicers for Bayer mosaics, as its processing profiles call them.
var ofRawTherapee = []string{"amaze", "rcd", "dcb", "lmmse", "igv"}

// ErrNoRawTherapee says that RawTherapee's program is not there.
var ErrNoRawTherapee = errors.New("rawtherapee-cli, RawTherapee's command-line program, is not installed (Debian and Ubuntu: apt install rawtherapee)")

// rawTherapee restores mosaics with one of RawTherapee's demosaicers.
type rawTherapee struct {
	demosaicer string
	program    string
	dir        string // for its files, removed by close
}

// newRawTherapees gives all demosaicers, or ErrNoRawTherapee. What it gives must be closed, also beside
// another error.
func newRawTherapees(p mosaic.Pattern) ([]method, error) {
	if !p.Bayer() {
		return nil, &OptionError{fmt.Sprintf("only RawTherapee's demosaicers of Bayer mosaics are compared, not of %v", p)}
	}
	program, err := exec.LookPath("rawtherapee-cli")
	if err != nil {
		return nil, ErrNoRawTherapee
	}
	var all []method
	for _, d := range ofRawTherapee {
		dir, err := os.MkdirTemp("", "enhance-eval-")
		if err != nil {
			return all, err
		}
		all = append(all, &rawTherapee{demosaicer: d, program: program, dir: dir})
	}
	return all, nil
}

func (t *rawTherapee) name() string { return "RawTherapee " + strings.ToUpper(t.demosaicer) }

func (t *rawTherapee) close() error { return os.RemoveAll(t.dir) }

// plainDevelopment is a processing profile that demosaics and does nothing else: what it does not
// name is off. Light is taken for that of sRGB and gets sRGB's curve.
const plainDevelopment = `[Color Management]
InputProfile=(none)
WorkingProfile=sRGB
OutputProfile=RTv4_sRGB
OutputProfileIntent=Relative
OutputBPC=false
[White Balance]
Setting=Camera
[Exposure]
Auto=false
Clip=0
Compensation=0
HistogramMatching=false
Black=0
HighlightCompr=0
ShadowCompr=0
[HLRecovery]
Enabled=false
[RAW]
CA=false
HotPixelFilter=false
DeadPixelFilter=false
[RAW Bayer]
Method=%s
Border=0
CcSteps=0
GreenEqThreshold=0
`

// restore implements method.
func (t *rawTherapee) restore(ctx context.Context, s *shot) (*picture, error) {
	file, err := s.dng(true)
	if err != nil {
		return nil, err
	}
	in, profile, out := filepath.Join(t.dir, "mosaic.dng"), filepath.Join(t.dir, "plain.pp3"), filepath.Join(t.dir, "out.tif")
	if err := os.WriteFile(in, file, 0o600); err != nil {
		return nil, err
	}
	if err := os.WriteFile(profile, fmt.Appendf(nil, plainDevelopment, t.demosaicer), 0o600); err != nil {
		return nil, err
	}
	c := exec.CommandContext(ctx, t.program, "-q", "-Y", "-t", "-b16", "-o", out, "-p", profile, "-c", in)
	if text, err := c.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %v: %s", c.String(), err, strings.TrimSpace(string(text)))
	}
	im, err := imgio.ReadRGB16(out)
	if err != nil {
		return nil, err
	}
	p := fromRGB16(im)
	if s.mosaic.Sensor == nil { // the codes were taken for light
		for i, v := range p.rgb {
			p.rgb[i] = float32(colour.SRGBDecode(float64(v)))
		}
	}
	return p, nil
}
