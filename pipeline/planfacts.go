package pipeline

import (
	"enhance/internal/exec"
	"enhance/pipeline/facts"
	"enhance/raw"
)

func photoFacts(m *raw.Meta) facts.Photo {
	cfa, sensor := m.CFA.String(), m.CFA.Kind()
	if m.Linear {
		cfa, sensor = "no filter array", ""
	}
	return facts.Photo{
		Make: m.Make, Model: m.Model, DateTime: m.DateTime, Format: m.Format,
		Width: m.Width, Height: m.Height, Crop: [4]int{m.Crop.X0, m.Crop.Y0, m.Crop.X1, m.Crop.Y1},
		CFA: cfa, Sensor: sensor, Linear: m.Linear, Black: m.Black, White: m.White, Orientation: m.Orientation,
	}
}

// noteBudget notes a budget in the facts of a plan.
func noteBudget(f *facts.Plan, b Budget) {
	if f.Budget, f.BudgetWhy = 0, b.Why(); b.Limited() {
		f.Budget = b.Bytes()
	}
}

// notePlan notes what was planned.
func notePlan(f *facts.Plan, job *exec.Job) {
	p := job.Plan
	noteBudget(f, p.Budget)
	f.Full = p
	f.Precision, f.Tuning = precisionOf(job).String(), job.Tuning()
	f.Upload, f.Download, f.Predicted = p.Cost.UploadBytes, p.Cost.DownloadBytes, p.Cost.Seconds
	f.Work, f.Link, f.Rated = p.Cost.WorkSeconds, p.Cost.LinkSeconds, job.Rated()
	f.Recomputed, f.Rows, f.Strips, f.Table = 0, 0, 0, nil
	for _, s := range p.Table() {
		f.Recomputed += s.Recomputed
	}
	f.Strategy, f.Peak, f.HostBytes = p.Strategy, p.Peak, p.HostBytes
	f.FLOPs, f.Launches, f.Sections = p.Cost.FLOPs, p.Cost.Launches, len(p.Sections)
	for _, s := range p.Sections {
		f.Rows = max(f.Rows, s.Rows)
		f.Strips += s.Strips
	}
}
