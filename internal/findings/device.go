package findings

import (
	"context"

	"enhance/clrt"
	"enhance/internal/exec"
	"enhance/internal/tune"
)

// Device is a device that is examined. The functions that are told something may be nil.
type Device struct {
	Info *clrt.DeviceInfo
	Open func() (*clrt.Context, error) // makes a context of its own to measure in
	// Tell is told what takes long, Debug what only a study needs to know.
	Tell, Debug func(text string)
	// Progress is called after each of the total measurements.
	Progress func(done, total int)
}

func (d *Device) tell(text string) {
	if d.Tell != nil {
		d.Tell(text)
	}
}

func (d *Device) debug(text string) {
	if d.Debug != nil {
		d.Debug(text)
	}
}

func (d *Device) progress(done, total int) {
	if d.Progress != nil {
		d.Progress(done, total)
	}
}

// Store is where findings are kept.
func (d *Device) Store() tune.Store {
	return tune.In(clrt.CacheDir("tuning"), exec.TuningDevice(d.Info))
}

// table is what is kept.
func (d *Device) table() *tune.Table {
	table, dropped := d.Store().Load()
	if dropped != "" {
		d.debug("tuning results are not used: " + dropped)
	}
	return table
}

// keepNotes changes the notes among what is kept, if there is a place for them.
func (d *Device) keepNotes(ctx context.Context, change func(notes map[string]string)) {
	store := d.Store()
	release, err := store.Lock(ctx, nil)
	if err != nil {
		d.debug(err.Error())
		return
	}
	defer release()
	table, _ := store.Load()
	change(table.Notes)
	if err := store.Save(table); err != nil {
		d.debug(err.Error())
	}
}
