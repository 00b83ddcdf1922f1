package findings

import (
	"context"
	"errors"
	"fmt"

	"enhance/internal/exec"
	"enhance/internal/tune"
)

// ratesNote is the key of a device's rates among its notes. Shared says whether it is taken to
// share the host's memory.
func ratesNote(shared bool) string { return fmt.Sprintf("rates shared=%v", shared) }

// Measured is what was measured of the device: algorithms, and rates for the prices of plans, nil if these
// were not. It reads the file once.
func (d *Device) Measured(shared bool) (*tune.Table, *exec.Rates) {
	table := d.table()
	text := table.Notes[ratesNote(shared)]
	if text == "" {
		return table, nil
	}
	r, err := exec.ParseRates(text)
	if err != nil {
		d.debug(err.Error())
	}
	return table, r
}

// MeasureRates measures rates, holding at most budget bytes on the device, and keeps them. They are not nil
// if they were measured and could not be kept.
func (d *Device) MeasureRates(ctx context.Context, shared bool, budget int64) (*exec.Rates, error) {
	cl, err := d.Open()
	if err != nil {
		return nil, err
	}
	r, err := exec.MeasureRates(cl, shared, budget)
	if err = errors.Join(err, cl.Close()); err != nil {
		return nil, err
	}
	store := d.Store()
	release, err := store.Lock(ctx, nil)
	if err != nil {
		return r, err
	}
	defer release()
	table, _ := store.Load()
	table.Notes[ratesNote(shared)] = r.String()
	return r, store.Save(table)
}
