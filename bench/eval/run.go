package eval

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"enhance/internal/atomicfile"
	"enhance/internal/imgio"
	"enhance/internal/quality"
	"enhance/pipeline"
	"enhance/pipeline/facts"
	"enhance/pipeline/look"
	"enhance/raw/mosaic"
)

// Options say what to measure.
type Options struct {
	Photos []string // files, see Files
	Mosaic Mosaic
	Border int // pixels left out on every side

	// Models are the networks, each on a device of its own choice.
	// Classical adds the demosaicer of package demosaic, LibRaw and RawTherapee add theirs.
	Models                         []pipeline.Settings
	Classical, LibRaw, RawTherapee bool

	// Noise and Denoise are as in pipeline.Job. Noise counts in the sensor domain
	// only: in the sRGB domain the networks are told the sigma.
	Noise   look.Noise
	Denoise *float64

	// Save is a directory to write every result to, as PHOTO.METHOD.png; "" for none.
	// Files of such names are replaced, unless they are among the photos.
	Save string
	// Done, if set, is told of every photo as it is finished.
	Done func(method string, r PhotoResult)
}

// method is a way to restore mosaics.
type method interface {
	name() string
	restore(ctx context.Context, s *shot) (*picture, error)
	close() error
}

// picture is interleaved RGB in sRGB codes of 0..1, perhaps beyond.
type picture struct {
	w, h int
	rgb  []float32
}

func (p *picture) row(y int) []float32 { return p.rgb[3*p.w*y:][:3*p.w] }

// Files lists the pictures that paths name: files as they are, directories by
// their PNG, JPEG and TIFF files, sorted by name.
func Files(paths []string) ([]string, error) {
	var out []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			out = append(out, path)
			continue
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, err
		}
		found := 0
		for _, e := range entries {
			switch strings.ToLower(filepath.Ext(e.Name())) {
			case ".png", ".jpg", ".jpeg", ".tif", ".tiff":
				if !e.IsDir() {
					out = append(out, filepath.Join(path, e.Name()))
					found++
				}
			}
		}
		if found == 0 {
			return nil, &fs.PathError{Op: "find photos in", Path: path, Err: errors.New("no PNG, JPEG or TIFF file is there")}
		}
	}
	return out, nil
}

// Run restores every photo by every method and compares. It stops at the first
// error; a photo's name is in the message. That a method cannot be had is found
// before the first of them works.
func Run(ctx context.Context, o Options) (rep *Report, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	all, err := o.methods()
	defer func() {
		for _, m := range all {
			err = errors.Join(err, m.close())
		}
		if err != nil {
			rep = nil
		}
	}()
	if err != nil {
		return nil, err
	}
	rep = &Report{Photos: len(o.Photos), Domain: o.Mosaic.Domain(), Sigma: o.Mosaic.Sigma, Sensor: o.Mosaic.Sensor,
		CFA: o.Mosaic.array(), Border: o.Border, Seed: o.Mosaic.Seed, Compared: quality.Domain8.String(), Denoise: o.Denoise}
	for _, m := range all {
		r, err := o.measure(ctx, m)
		if err = errors.Join(err, m.close()); err != nil { // the next one wants the memory
			return nil, err
		}
		if n, ok := m.(*network); ok {
			r.Device, r.Precision = n.device.Name, strings.Join(sortedKeys(n.used), ", ")
		}
		rep.Methods = append(rep.Methods, *r)
	}
	return rep, nil
}

// methods opens what is to be measured. All that it returns must be closed, once
// at least, also if there is an error.
func (o *Options) methods() (all []method, err error) {
	for _, set := range o.Models {
		n, err := newNetwork(set, o)
		if err != nil {
			return all, err
		}
		all = append(all, n)
	}
	if o.Classical {
		if o.Mosaic.FullColour {
			return all, &OptionError{"demosaiced photos have nothing for another demosaicer to do"}
		}
		c, err := newClassical(o.Mosaic.CFA)
		if err != nil {
			return all, err
		}
		all = append(all, c)
	}
	for _, peer := range []struct {
		asked bool
		name  string
		open  func(mosaic.Pattern) ([]method, error)
	}{{o.LibRaw, "LibRaw", newLibRaws}, {o.RawTherapee, "RawTherapee", newRawTherapees}} {
		if !peer.asked {
			continue
		}
		if o.Mosaic.FullColour {
			return all, &OptionError{fmt.Sprintf("demosaiced photos have nothing for %s's demosaicers to do", peer.name)}
		}
		theirs, err := peer.open(o.Mosaic.CFA)
		if all = append(all, theirs...); err != nil {
			return all, err
		}
	}
	return all, nil
}

func (o *Options) check() error {
	switch {
	case len(o.Photos) == 0:
		return &OptionError{"no photos to measure"}
	case len(o.Models) == 0 && !o.Classical && !o.LibRaw && !o.RawTherapee:
		return &OptionError{"neither a model nor another demosaicer is to be measured"}
	case len(o.Models) == 0 && (o.Denoise != nil && *o.Denoise > 0 || o.Noise.Mode != look.NoiseDefault):
		return &OptionError{"no network is measured, and demosaicers leave noise as it is: leave --denoise and --noise out"}
	case o.Border < 0:
		return &OptionError{fmt.Sprintf("border %d: want 0 or more pixels", o.Border)}
	case o.Noise.Mode != look.NoiseDefault && o.Mosaic.Sensor == nil:
		return &OptionError{"noise can be given or estimated in the sensor domain only: sRGB mosaics have a known sigma"}
	}
	if err := o.Mosaic.check(); err != nil {
		return &OptionError{err.Error()}
	}
	return nil
}

// OptionError says what is wrong with the options.
type OptionError struct{ Problem string }

func (e *OptionError) Error() string { return e.Problem }

// measure runs one method over all photos.
func (o *Options) measure(ctx context.Context, m method) (*MethodResult, error) {
	r := &MethodResult{Method: m.name()}
	for _, path := range o.Photos {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p, err := o.photo(ctx, m, path)
		if at := new(pipeline.FileError); errors.As(err, &at) { // it names the photo
			return nil, err
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", m.name(), path, err)
		}
		r.Photos = append(r.Photos, *p)
		if o.Done != nil {
			o.Done(r.Method, *p)
		}
	}
	r.sum()
	return r, nil
}

// photo restores one photo and compares.
func (o *Options) photo(ctx context.Context, m method, path string) (*PhotoResult, error) {
	truth, err := readTruth(path)
	if err != nil {
		return nil, err
	}
	if w, h := truth.Width, truth.Height; min(w, h) <= 2*o.Border {
		return nil, &OptionError{fmt.Sprintf("a border of %d leaves nothing of %dx%d pixels", o.Border, w, h)}
	}
	name := filepath.Base(path)
	got, err := m.restore(ctx, o.Mosaic.take(name, truth))
	if err != nil {
		return nil, err
	}
	if o.Save != "" {
		if err := o.save(name, m.name(), got); err != nil {
			return nil, err
		}
	}
	return compare(name, got, truth, o.Border)
}

// readTruth reads a finished picture.
func readTruth(path string) (*imgio.RGB16, error) {
	truth, err := imgio.ReadRGB16(path)
	if err == nil && truth.Gray && truth.Bits == 16 {
		err = fmt.Errorf("%s: %w: 16-bit gray, as mosaics are: give a finished photo", path, imgio.ErrUnsupported)
	}
	if err = pipeline.PictureError(path, err); err != nil {
		return nil, err
	}
	return truth, nil
}

func compare(name string, got *picture, truth *imgio.RGB16, border int) (*PhotoResult, error) {
	if got.w != truth.Width || got.h != truth.Height {
		return nil, fmt.Errorf("the result has %dx%d pixels, the photo %dx%d", got.w, got.h, truth.Width, truth.Height)
	}
	m, err := quality.New(quality.Config{Width: got.w, Height: got.h, Border: border, Domain: quality.Domain8, SSIM: true})
	if err != nil {
		return nil, &OptionError{err.Error()}
	}
	want := make([]float32, 3*got.w)
	for y := range got.h {
		for i, v := range truth.Row(y) {
			want[i] = float32(v) / 65535
		}
		if err := m.AddRowFloat(got.row(y), want); err != nil {
			return nil, err
		}
	}
	q, err := m.Result()
	if err != nil {
		return nil, err
	}
	r := &PhotoResult{Photo: name, Width: got.w, Height: got.h}
	r.CPSNR, r.SSIM, r.SSIMLuma = facts.Decibels(q.CPSNR), q.SSIMMean, q.SSIMLuma
	for c, v := range q.PSNR {
		r.PSNR[c] = facts.Decibels(v)
	}
	return r, nil
}

// SavedAs is the path that Options.Save gives a photo's result by a method.
func SavedAs(dir, photo, method string) string {
	photo, method = filepath.Base(photo), filepath.Base(method)
	return filepath.Join(dir, strings.TrimSuffix(photo, filepath.Ext(photo))+"."+strings.ReplaceAll(method, " ", "-")+".png")
}

// save writes a result as an 8-bit PNG.
func (o *Options) save(photo, method string, p *picture) error {
	f, err := atomicfile.Create(SavedAs(o.Save, photo, method), atomicfile.Options{Overwrite: true, Keep: o.Photos})
	if err != nil {
		return err
	}
	defer f.Abort()
	w, err := imgio.NewPNG(f, imgio.Header{Width: p.w, Height: p.h, Bits: 8})
	if err != nil {
		return err
	}
	codes := make([]uint16, 3*p.w)
	for y := range p.h {
		for i, v := range p.row(y) {
			codes[i] = uint16(math.Floor(float64(min(max(v, 0), 1))*65535 + 0.5))
		}
		if err := w.WriteRow(codes); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return f.Commit()
}

func sortedKeys(m map[string]bool) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
