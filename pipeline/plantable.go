package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"enhance/internal/bytesize"
	"enhance/internal/exec"
	"enhance/memplan"
	"enhance/pipeline/facts"
	"enhance/raw"
	"enhance/raw/mosaic"
)

// tableBudgets are the budgets of a table of plans, the last for all that there is.
var tableBudgets = []int64{64 << 20, 128 << 20, 256 << 20, 512 << 20, 1 << 30, 2 << 30, 4 << 30, math.MaxInt64}

// tableBudget is a budget of so many bytes, as far as the device has them.
func (s *Session) tableBudget(bytes int64) Budget {
	b := Unlimited()
	if most := s.device.info.GlobalMem; most > 0 {
		bytes = min(bytes, most)
	}
	if bytes < math.MaxInt64 {
		b = Limit(bytes)
	}
	return b.Because("of the table")
}

// PlanTable plans the photo of j for each of tableBudgets and for the smallest
// budget that works. If measure is set it develops the photo within each, to
// nowhere.
func (s *Session) PlanTable(ctx context.Context, j Job, measure bool) (*facts.PlanTable, error) {
	photo, err := openPhoto(&j)
	if err != nil {
		return nil, &FileError{Path: j.Input, Err: err}
	}
	defer photo.Close()
	if s, err = s.planned(photo.Meta(), &j.Look); err != nil {
		return nil, &FileError{Path: j.Input, Err: err}
	}
	if err := forRAW(s.model, s.modelName); err != nil {
		return nil, err
	}
	if err := s.ready(ctx, nil); err != nil {
		return nil, err
	}
	t, err := s.planTable(j.Input, s.imagine(ctx, &j, photo, photo.Meta()))
	if err != nil || !measure {
		return t, err
	}
	return t, s.measure(ctx, j, t)
}

// PlanTableSize is PlanTable for a mosaic of so many rows and columns whose red
// sample is at (0,0), without measurement.
func (s *Session) PlanTableSize(rows, cols int) (*facts.PlanTable, error) {
	if err := s.ready(context.Background(), nil); err != nil {
		return nil, err
	}
	m := mosaicOf(rows, cols)
	input := fmt.Sprintf("mosaic %dx%d", cols, rows)
	h, w, picture, err := s.fitPicture(rows, cols)
	if err != nil {
		return nil, err
	}
	r := s.imagine(context.Background(), &Job{}, nil, m)
	if picture {
		input = fmt.Sprintf("picture %dx%d", cols, rows)
		r.geo.h, r.geo.w = h, w
		s.choices.samples, s.choices.picture = false, nil
	}
	t, err := s.planTable(input, r)
	return t, withoutPhoto(err, r.geo.h, r.geo.w)
}

// mosaicOf is a photo of so many rows and columns whose red sample is at (0,0).
func mosaicOf(rows, cols int) *raw.Meta {
	return &raw.Meta{Width: cols, Height: rows, Crop: raw.Rect{X1: cols, Y1: rows}, CFA: mosaic.RGGB}
}

// imagine makes a run that is planned and no more. photo is nil if a size is asked about.
func (s *Session) imagine(ctx context.Context, j *Job, photo *raw.Photo, m *raw.Meta) *run {
	r := &run{session: s, job: j, input: input{photo: photo, meta: m, geo: layout(m, &s.model.Convention)}, holds: runHolds{batches: outBatches}}
	r.report = s.newReport(j, m)
	r.network = s.computation(ctx, s.model, r.geo.h, r.geo.w, &r.report.Plan, &r.report.Memory, &r.report.Seconds)
	r.network.samples = r.input.samplesServe(&s.model.Convention)
	r.network.picture = r.devicePicture(&s.model.Convention, j)
	s.choices.samples, s.choices.picture = r.network.samples, r.network.picture
	return r
}

func (s *Session) planTable(input string, r *run) (*facts.PlanTable, error) {
	h, w := r.geo.h, r.geo.w
	if s.device.info == nil {
		return nil, optionErrorf("device", "the host executor has one plan: choose an OpenCL device")
	}
	t := &facts.PlanTable{Input: input, Packed: [2]int{h, w}}
	t.Model, t.Device = s.facts()
	budgets := slices.Clone(tableBudgets)
	least, err := s.minimum(s.model, h, w)
	if err != nil {
		return nil, s.explainBudget(err, s.model, h, w)
	}
	if most := s.device.info.GlobalMem; most > 0 && least > most {
		_, err := s.prepare(s.model, h, w, s.engineOptions(s.budget))
		return nil, s.explainBudget(err, s.model, h, w)
	}
	budgets = append(budgets, least)
	slices.Sort(budgets)
	for _, b := range slices.Compact(budgets) {
		row := facts.TableRow{Smallest: b == least}
		if b < math.MaxInt64 {
			row.Budget = b
		}
		job, err := s.prepare(s.model, h, w, s.engineOptions(s.tableBudget(b)))
		switch {
		case errors.As(err, new(*memplan.BudgetError)):
			row.TooSmall = true
		case err != nil:
			return nil, s.explainBudget(err, s.model, h, w)
		default:
			var last *facts.TableRow
			if n := len(t.Rows); n > 0 {
				last = &t.Rows[n-1]
			}
			if err := r.fitRow(&row, job, last); err != nil {
				return nil, err
			}
			row.Plan = facts.Plan{PrecisionWhy: s.precisionWhy(), Packed: [2]int{h, w}}
			notePlan(&row.Plan, r.network.plan)
		}
		t.Rows = append(t.Rows, row)
	}
	return t, nil
}

// fitRow holds a row's plan against the host's memory. As a run would, it takes one with
// less device memory where that makes room.
// last is the row before, nil for none: plans smaller than its were tried.
func (r *run) fitRow(row *facts.TableRow, job *exec.Job, last *facts.TableRow) error {
	var tried, need int64 = 0, math.MaxInt64
	if last != nil && last.HostTooSmall {
		tried, need = last.Full.Held(), last.HostNeed
	}
	r.network.plan = job
	err := r.hostNeeds()
	var host *HostMemoryError
	if errors.As(err, &host) {
		err = r.fitDevice(host, tried, func(b Budget) (*exec.Job, error) {
			return r.session.prepare(r.session.model, r.geo.h, r.geo.w, r.session.engineOptions(b))
		})
	}
	row.HostNeed = r.report.Host.Need
	if row.HostTooSmall = errors.As(err, &host); row.HostTooSmall {
		row.HostNeed = min(row.HostNeed, need)
		r.network.plan = job
		return nil
	}
	return err
}

// measure develops the photo within each row's budget, after one run that does not
// count. Rows of one plan are measured once.
func (s *Session) measure(ctx context.Context, j Job, t *facts.PlanTable) error {
	j.Output = Output{Writer: io.Discard, Format: PNG}
	// Drivers of CPUs compile a kernel when it first runs, inside of what is measured.
	// Every plan has the same kernels, so any of them will do: the last is the fastest.
	for i := len(t.Rows) - 1; i >= 0; i-- {
		if t.Rows[i].Works() {
			if _, err := s.measureRow(ctx, j, &t.Rows[i]); err != nil {
				return err
			}
			break
		}
	}
	for i := range t.Rows {
		row := &t.Rows[i]
		if !row.Works() {
			continue
		}
		if i > 0 && row.SamePlan(&t.Rows[i-1]) {
			row.Measured = t.Rows[i-1].Measured
			continue
		}
		var err error
		if row.Measured, err = s.measureRow(ctx, j, row); err != nil {
			return err
		}
	}
	return s.runner.closeEngine()
}

// measureRow develops the photo within a row's budget, with an engine of its own.
func (s *Session) measureRow(ctx context.Context, j Job, row *facts.TableRow) (seconds float64, err error) {
	if err := s.runner.closeEngine(); err != nil {
		return 0, err
	}
	r, err := s.begin(ctx, j)
	if err != nil {
		return 0, err
	}
	r.network.within = row.Plan.Full.Budget
	rep, err := r.finish()
	if err != nil {
		return 0, err
	}
	if !rep.Memory.AsPlanned || rep.Plan.Peak != row.Peak {
		return 0, fmt.Errorf("within %s the device held %d bytes where %d were planned: please report this", bytesize.Text(row.Budget), rep.Memory.Peak, row.Peak)
	}
	return rep.Seconds.Run + rep.Seconds.Finish, nil
}
