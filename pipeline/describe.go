package pipeline

import (
	"fmt"
	"slices"

	"enhance/internal/atomicfile"
	"enhance/internal/bytesize"
	"enhance/internal/exec"
	"enhance/pipeline/facts"
)

// errPlanOnly is what a session that only plans says to a run.
var errPlanOnly = optionErrorf("device-profile", "this session plans for a device that is not here: only dry runs can be made")

// describePlan puts the table of sections into the report of a dry run, and
// draws the plan if that is asked for.
func (r *run) describePlan(overwrite bool) error {
	if r.network.plan == nil {
		if r.job.PlanDrawing != "" {
			return optionErrorf("plan-svg", "the host executor has no plan to draw: choose an OpenCL device")
		}
		return nil
	}
	if r.job.DryRun {
		r.report.Plan.Table = sectionTable(r.network.plan)
	}
	if r.job.PlanDrawing == "" {
		return nil
	}
	f, err := atomicfile.Create(r.job.PlanDrawing, atomicfile.Options{Overwrite: overwrite, Keep: r.reads()})
	if err != nil {
		return err
	}
	defer f.Abort() // nothing after Commit
	device := r.report.Device.Name
	if i := r.report.Device.Info; i != nil { // without the platform: a title has one line
		device = i.Name
	}
	title := fmt.Sprintf("%s (%s), %dx%d packed, %s, on %s", r.session.networkName(), r.session.precision(), r.geo.w, r.geo.h, r.budgetTitle(), device)
	if err := r.network.plan.Plan.WriteSVG(f, title); err != nil {
		return err
	}
	return f.Commit()
}

func (r *run) budgetTitle() string {
	b := r.network.plan.Plan.Budget
	if !b.Limited() {
		return "no budget"
	}
	return "budget " + bytesize.Text(b.Bytes())
}

// sectionTable describes the sections of a job's plan.
func sectionTable(job *exec.Job) []facts.Section {
	sections := job.Plan.Table()
	table := make([]facts.Section, len(sections))
	for s := range sections {
		table[s].SectionFacts = sections[s]
		for i := job.Plan.Sections[s].First; i <= job.Plan.Sections[s].Last; i++ {
			if a := job.Algo(i); a != "" && !slices.Contains(table[s].Algos, a) {
				table[s].Algos = append(table[s].Algos, a)
			}
		}
	}
	return table
}
