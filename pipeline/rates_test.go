package pipeline

import (
	"context"
	"fmt"
	"testing"

	"enhance/clrt"
)

// TestRates measures the device, finds that in another session, and does not take
// for rates what is none.
func TestRates(t *testing.T) {
	if ds, err := clrt.Devices(); err != nil || len(ds) == 0 {
		t.Skipf("needs an OpenCL device: %v", err)
	}
	t.Setenv("ENHANCE_CACHE_DIR", t.TempDir())
	open := func() *Session {
		s, err := NewSession(Settings{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	a, ctx := open(), context.Background()
	if err := a.useTuning(); err != nil || a.choices.rates != nil {
		t.Fatalf("before any measurement: %v, error %v", a.choices.rates, err)
	}
	if err := a.measureRates(ctx); err != nil {
		t.Fatal(err)
	}
	b := open()
	if err := b.useTuning(); err != nil || b.choices.rates == nil || b.choices.rates.String() != a.choices.rates.String() {
		t.Errorf("kept %v, found %v, error %v", a.choices.rates, b.choices.rates, err)
	}
	if got := b.engineOptions(Budget{}).Rates; got != b.choices.rates {
		t.Errorf("engines are given %v", got)
	}
	store := b.device.findings().Store()
	table, _ := store.Load()
	table.Notes[fmt.Sprintf("rates shared=%v", b.device.shared())] = "launch=soon"
	if err := store.Save(table); err != nil {
		t.Fatal(err)
	}
	told := ""
	c := open()
	c.set.Debug = func(text string) { told = text }
	if err := c.useTuning(); err != nil || c.choices.rates != nil || told == "" {
		t.Errorf("a bad note gives %v, error %v, told %q", c.choices.rates, err, told)
	}
	d := open()
	d.set.NoTune = true
	if err := d.useTuning(); err != nil || d.choices.rates != nil {
		t.Errorf("without tuning: %v, error %v", d.choices.rates, err)
	}
}
