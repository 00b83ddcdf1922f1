package bench

import (
	"errors"
	"fmt"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/exec"
	"enhance/internal/peak"
)

// Caps are what algorithms need to know of a device, its matrix units included.
func Caps(dev *clrt.Device) (conv.Caps, error) {
	c := conv.CapsOf(dev.Info())
	cl, err := clrt.NewContext(dev)
	if err != nil {
		return c, err
	}
	c.Units, err = exec.ProbeUnits(cl)
	return c, errors.Join(err, cl.Close())
}

// Units measures what a device's arithmetic units do at most.
func Units(dev *clrt.Device, matrix, warpgroup bool) (peak.Units, error) {
	cl, err := clrt.NewContext(dev)
	if err != nil {
		return peak.Units{}, err
	}
	defer cl.Close()
	return peak.Measure(cl, matrix, warpgroup)
}

// FormatBytes gives a number of bytes in the largest fitting unit.
func FormatBytes(n int64) string {
	switch {
	case n == 0:
		return "0"
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
}
