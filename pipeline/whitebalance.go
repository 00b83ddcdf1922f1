package pipeline

import (
	"errors"
	"fmt"

	"enhance/internal/colour"
	"enhance/pipeline/look"
	"enhance/raw"
)

// whiteBalance decides the gains.
func (b *balance) whiteBalance(m *raw.Meta, wb look.WhiteBalance, count statistics, rep *Report) (err error) {
	if wb.Mode == look.WBDefault {
		wb.Mode = look.WBAsShot
		if m.AsShot == nil {
			wb.Mode = look.WBAuto
			rep.Warn("the file records no white balance, so it is estimated from the picture; --wb sets it")
		}
	}
	rep.Colour.WhiteBalance = wb.Mode.String()
	switch wb.Mode {
	case look.WBGains:
		b.gains = wb.Gains
	case look.WBAsShot:
		if m.AsShot == nil {
			return optionErrorf("wb", "the file records no white balance: give auto or R,G,B")
		}
		b.gains, err = b.asShot(m)
	case look.WBAuto:
		err = b.estimated(m, count, rep)
	case look.WBLight:
		rep.Colour.WhiteBalance = wb.Light
		err = b.lit(m, colour.Lights[wb.Light])
	case look.WBTemperature:
		err = b.lit(m, colour.WithTemperature(wb.Kelvin, wb.Tint))
	case look.WBSpot:
		err = b.grey(wb.Spot, count)
	}
	if err != nil {
		return err
	}
	least := min(b.gains[0], b.gains[1], b.gains[2])
	for i := range b.gains {
		b.gains[i] /= least
		if !(b.gains[i] >= 1 && b.gains[i] <= 1e6) {
			return &raw.FormatError{Where: "colour", Problem: fmt.Sprintf("white balance gains %v cannot be used: give --wb", b.gains)}
		}
	}
	return nil
}

// asShot are the gains that the camera chose. Where the file tells the light instead, they
// go by the matrices in use.
func (b *balance) asShot(m *raw.Meta) (gains [3]float64, err error) {
	if xy := m.AsShotWhiteXY; xy != nil && b.look != nil {
		if gains, err = colour.GainsFor(b.facts, colour.Chromaticity{X: xy[0], Y: xy[1]}); err != nil {
			return gains, badMatrices(err)
		}
		return gains, nil
	}
	for i, n := range m.AsShot {
		gains[i] = 1 / n
	}
	return gains, nil
}

// estimated takes the gains that the photo's colours ask for.
func (b *balance) estimated(m *raw.Meta, count statistics, rep *Report) error {
	light, err := count.light()
	if err != nil {
		return err
	}
	var asShot [3]float64
	if m.AsShot != nil {
		if asShot, err = b.asShot(m); err != nil {
			return err
		}
	}
	g, err := colour.AutoWB(light.patches(), b.facts, asShot)
	switch {
	case errors.Is(err, colour.ErrNoStatistics):
		rep.Warn("the white balance cannot be estimated (%v), so all gains are 1; --wb sets them", err)
	case err != nil:
		return badMatrices(err)
	default:
		b.gains = g
	}
	return nil
}

// lit takes the gains for a light.
func (b *balance) lit(m *raw.Meta, white colour.Chromaticity) (err error) {
	b.gains, err = colour.GainsFor(b.facts, white)
	switch {
	case errors.Is(err, colour.ErrNoMatrix):
		return optionErrorf("wb", "%v, so that it is unknown how its camera sees a light: give as-shot, auto, spot:X,Y or gains R,G,B", err)
	case err != nil:
		return badMatrices(err)
	}
	return nil
}

// grey takes the gains that make a spot grey.
func (b *balance) grey(at [2]int, count statistics) error {
	light, err := count.spot(at)
	if err != nil {
		return err
	}
	const darkest = 0.002
	if light.clipped || !(min(light.mean[0], light.mean[1], light.mean[2]) > darkest) {
		return optionErrorf("wb", "spot:%d,%d is clipped or black in some colour: choose a grey that is neither", at[0], at[1])
	}
	for c, v := range light.mean {
		b.gains[c] = 1 / float64(v)
	}
	return nil
}
