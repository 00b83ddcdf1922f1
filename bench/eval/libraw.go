package eval

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"enhance/internal/colour"
	"enhance/internal/imgio"
	"enhance/raw/mosaic"
)

// numbered is one of LibRaw's demosaicers, by the number that dcraw_emu -q takes.
type numbered struct {
	name string
	q    int
}

// Those of LibRaw for the two arrays that it knows. The second is Frank Markesteijn's.
var (
	forBayer  = []numbered{{"bilinear", 0}, {"VNG", 1}, {"PPG", 2}, {"AHD", 3}, {"DCB", 4}, {"DHT", 11}, {"AAHD", 12}}
	forXTrans = []numbered{{"bilinear", 0}, {"Markesteijn 1 pass", 2}, {"Markesteijn 3 passes", 3}}
)

// ErrNoLibRaw says that LibRaw's program is not there.
var ErrNoLibRaw = errors.New("dcraw_emu, LibRaw's command-line program, is not installed (Debian and Ubuntu: apt install libraw-bin)")

// libraw restores mosaics with one of LibRaw's demosaicers, which know nothing of
// noise.
type libraw struct {
	label   string
	q       int
	program string
	dir     string // for its files, removed by close
}

// newLibRaws gives all demosaicers, or ErrNoLibRaw. What it gives must be closed, also
// beside another error.
func newLibRaws(p mosaic.Pattern) ([]method, error) {
	demosaicers := forBayer
	switch {
	case p.XTrans():
		demosaicers = forXTrans
	case !p.Bayer():
		return nil, &OptionError{fmt.Sprintf("LibRaw does not know the filter array %v", p)}
	}
	program, err := exec.LookPath("dcraw_emu")
	if err != nil {
		return nil, ErrNoLibRaw
	}
	var all []method
	for _, d := range demosaicers {
		dir, err := os.MkdirTemp("", "enhance-eval-")
		if err != nil {
			return all, err
		}
		all = append(all, &libraw{label: "LibRaw " + d.name, q: d.q, program: program, dir: dir})
	}
	return all, nil
}

func (l *libraw) name() string { return l.label }

func (l *libraw) close() error { return os.RemoveAll(l.dir) }

// restore implements method. dcraw_emu gives camera colours (-o 0) after the white
// balance that is asked for (-r), linear, 16 bits and without brightening (-4), up
// to the white level that the file states (-c 0), not turned (-t 0).
func (l *libraw) restore(ctx context.Context, s *shot) (*picture, error) {
	file, err := s.dng(true)
	if err != nil {
		return nil, err
	}
	in := filepath.Join(l.dir, "mosaic.dng")
	if err := os.WriteFile(in, file, 0o600); err != nil {
		return nil, err
	}
	gains := [3]float64{1, 1, 1}
	if s.mosaic.Sensor != nil {
		gains = s.mosaic.Sensor.Gains
	}
	num := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	c := exec.CommandContext(ctx, l.program, "-q", strconv.Itoa(l.q), "-o", "0", "-t", "0", "-c", "0", "-4", "-T",
		"-r", num(gains[0]), num(gains[1]), num(gains[2]), num(gains[1]), in)
	if text, err := c.CombinedOutput(); err != nil || len(text) > 0 {
		return nil, fmt.Errorf("%s: %v: %s", c.String(), err, strings.TrimSpace(string(text)))
	}
	im, err := imgio.ReadRGB16(in + ".tiff")
	if err != nil {
		return nil, err
	}
	p := fromRGB16(im)
	if s.mosaic.Sensor != nil {
		for i, v := range p.rgb {
			p.rgb[i] = float32(colour.SRGBEncode(float64(v)))
		}
	}
	return p, nil
}
