package findings

import (
	"context"
	"fmt"
	"time"

	"enhance/internal/exec"
	"enhance/internal/tune"
)

// MeasureAlgorithms measures tasks with those options, within their budget, and adds what it
// finds to what is kept, which it returns too. If ctx ends first, what was measured
// until then is kept for later all the same.
func (d *Device) MeasureAlgorithms(ctx context.Context, tasks []tune.Task, opt exec.Options, until time.Time) ([]tune.Outcome, *tune.Table, error) {
	store := d.Store()
	release, err := store.Lock(ctx, func() { d.tell("waiting for another process that measures the device") })
	if err != nil {
		return nil, nil, err
	}
	defer release()
	before, _ := store.Load() // another process may have been here
	start := time.Now()
	s := newSaver(store, before)
	found, err := d.measureTasks(ctx, tasks, opt, until, s)
	if kept := s.flush(); err == nil {
		err = kept
	}
	if err != nil {
		return found, nil, err
	}
	d.tell(fmt.Sprintf("%s, %.1f s; kept in %s", summary(found), time.Since(start).Seconds(), store.Path()))
	return found, s.table, nil
}

// measureTasks measures in a context of its own. What it finds is kept as it comes.
func (d *Device) measureTasks(ctx context.Context, tasks []tune.Task, opt exec.Options, until time.Time, s *saver) (found []tune.Outcome, err error) {
	cl, err := d.Open()
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	m, err := tune.NewMeter(cl, opt.Caps(d.Info), opt.Precision, tune.Defaults(d.Info, opt.Budget.Bytes()))
	if err != nil {
		return nil, err
	}
	defer m.Close()
	defer s.guard(ctx, len(tasks), d.tell)()
	done := 0
	o := tune.Options{Until: until, Groups: tune.Groups, Done: func(out *tune.Outcome) {
		done++
		d.debug(outcomeText(out))
		s.add(out)
		d.progress(done, len(tasks))
	}}
	return m.Run(ctx, tasks, o)
}

// summary counts what came of tasks.
func summary(found []tune.Outcome) string {
	measured, faster, most := 0, 0, 1.0
	for i := range found {
		c := &found[i].Choice
		if c.Measured() {
			measured++
		}
		if c.Algo != c.Default {
			faster++
			most = max(most, c.Gain())
		}
	}
	s := fmt.Sprintf("measured %d of %d", measured, len(found))
	if faster > 0 {
		s += fmt.Sprintf(", %d faster than the default (by up to %.2f times)", faster, most)
	}
	return s
}

func outcomeText(o *tune.Outcome) string {
	c, name := &o.Choice, o.Name()
	if !c.Measured() {
		return fmt.Sprintf("%-26s %s, not measured: %s", name, c.Algo, o.Problem)
	}
	text := fmt.Sprintf("%-26s %s, %.1f GFLOP/s", name, c.Algo, c.GFLOPs)
	if c.Algo != c.Default {
		text += fmt.Sprintf(", %.2f times as fast as %s", c.Gain(), c.Default)
	}
	return text
}
