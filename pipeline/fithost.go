package pipeline

import (
	"errors"

	"enhance/internal/exec"
	"enhance/memplan"
	"enhance/model"
)

// hostPlans is how many limits are tried at most for a run that the host's memory has no
// room for.
const hostPlans = 8

// planner plans a network within a budget for the device.
type planner func(Budget) (*exec.Job, error)

// fitHost holds the plan against the budget of the host's memory, or what there is. Where device
// buffers lie in that memory a plan with less of them may do what the first cannot.
func (r *run) fitHost() error {
	if r.network.plan == nil {
		return r.hostNeeds()
	}
	defer func() { r.holds.limiter.setFixed(r.session.fixedBytes(r.network.plan)) }()
	first := r.network.plan
	err := r.hostNeeds()
	var host *HostMemoryError
	if !errors.As(err, &host) || r.session.runner.engine != nil && r.session.runner.engine.Job == r.network.plan {
		return err
	}
	err = r.fitDevice(host, 0, func(b Budget) (*exec.Job, error) {
		return r.session.prepare(r.session.model, r.geo.h, r.geo.w, r.session.engineOptions(b))
	})
	if r.network.plan != first {
		notePlan(&r.report.Plan, r.network.plan)
	}
	if errors.As(err, &host) {
		host.Lower = r.hostRemedies()
	}
	return err
}

// fitDevice looks for a plan with less device memory than r.plan that the host's memory has room
// for, and keeps the one that needs least if there is none; host is what the first one's
// problem is. Less for the device may be more for what waits with the host, so that the need
// has several minima: halves of the first plan are tried, down to the smallest that works, or to
// plans of so many bytes that were tried before.
func (r *run) fitDevice(host *HostMemoryError, tried int64, plan planner) error {
	if !r.session.device.sharesHost() {
		return host
	}
	best, need := r.network.plan, host.Need
	// try keeps a plan within so many bytes; planned is why there is none, host what it lacks.
	try := func(bytes int64) (planned, host error) {
		job, err := plan(r.session.budget.Lowered(bytes, "what the host's memory leaves"))
		if err != nil {
			return err, nil
		}
		r.network.plan = job
		err = r.hostNeeds()
		var more *HostMemoryError
		if errors.As(err, &more) && more.Need < need {
			best, need = job, more.Need
		}
		return nil, err
	}
	held := best.Plan.Held()
	limits := []int64{held - (host.Need - host.Budget)}
	for n := held / 2; n > 0 && len(limits) < hostPlans; n /= 2 {
		limits = append(limits, n)
	}
	least := tried // or the smallest budget that works, once it is known: then it was tried
	for _, n := range limits {
		if least > 0 && n <= least {
			continue
		}
		planned, lacks := try(n)
		var small *memplan.BudgetError
		if errors.As(planned, &small) {
			if least = small.Minimum; least < held { // its rows on their way are fewer, too
				planned, lacks = try(least)
			}
		}
		if planned == nil && !errors.As(lacks, new(*HostMemoryError)) {
			return lacks
		}
	}
	r.network.plan = best
	return r.hostNeeds()
}

// hostRemedies lists what the host's memory has room for where the plan is too large for it.
func (r *run) hostRemedies() (lower []Remedy) {
	plan := r.network.plan
	defer func() {
		r.network.plan = plan
		r.hostNeeds() // the report is of the plan that was asked for
	}()
	r.session.eachRemedy(r.session.model, func(change string, m *model.Model, opt exec.Options) {
		prepare := func(b Budget) (*exec.Job, error) {
			opt.Budget = b
			return exec.Prepare(m, r.geo.h, r.geo.w, r.session.device.info, opt)
		}
		var err error
		if r.network.plan, err = prepare(r.network.within); err != nil {
			return
		}
		err = r.hostNeeds()
		if host := (*HostMemoryError)(nil); errors.As(err, &host) {
			err = r.fitDevice(host, 0, prepare)
		}
		if err == nil {
			lower = append(lower, Remedy{change, r.report.Host.Need})
		}
	})
	return lower
}
